#include "games/rts/tower_defense/observe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "games/rts/engine/cells.hpp"
#include "games/rts/engine/map.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/tensors.hpp"
#include "games/rts/tower_defense/strategy.hpp"

namespace ludus::rts {

namespace {

constexpr int kCells = kMazeSide * kMazeSide;
using CellBytes = std::array<std::uint8_t, kCells>;  // by y * kMazeSide + x

enum Map { kFree, kRoute, kAhead, kNotices, kReaches, kGuards, kTowers, kAttackers };

int at(int x, int y) { return y * kMazeSide + x; }

// Steps along the corridors to the base; kFar where there is no way.
constexpr std::uint16_t kFar = 0xffff;
std::array<std::uint16_t, kCells> steps_to_base(const State& s) {
  constexpr std::array<int, 4> kDx = {1, 0, -1, 0};
  constexpr std::array<int, 4> kDy = {0, 1, 0, -1};
  std::array<std::uint16_t, kCells> steps;
  steps.fill(kFar);
  std::array<std::int16_t, kCells> queue;
  int head = 0;
  int tail = 0;
  steps[0] = 0;
  queue[tail++] = 0;
  while (head < tail) {
    const int cell = queue[head++];
    for (std::size_t d = 0; d < 4; ++d) {
      const int x = cell % kMazeSide + kDx[d];
      const int y = cell / kMazeSide + kDy[d];
      if (x < 0 || x >= kMazeSide || y < 0 || y >= kMazeSide || walled(s, x, y)) continue;
      if (steps[at(x, y)] != kFar) continue;
      steps[at(x, y)] = static_cast<std::uint16_t>(steps[cell] + 1);
      queue[tail++] = static_cast<std::int16_t>(at(x, y));
    }
  }
  return steps;
}

// The cells that a wave walks through, nearest to the base first: from where the open square and
// the corridors meet on the shortest way.
int find_route(const std::array<std::uint16_t, kCells>& steps,
               std::array<std::int16_t, kCells>& route) {
  int cell = at(15, 15);
  int n = 0;
  while (steps[cell] != kFar && steps[cell] != 0) {
    route[n++] = static_cast<std::int16_t>(cell);
    const int x = cell % kMazeSide;
    const int y = cell / kMazeSide;
    int next = cell;
    const auto look = [&](int nx, int ny) {
      if (nx < 0 || nx >= kMazeSide || ny < 0 || ny >= kMazeSide) return;
      if (steps[at(nx, ny)] < steps[next]) next = at(nx, ny);
    };
    look(x - 1, y);
    look(x, y - 1);
    look(x + 1, y);
    look(x, y + 1);
    cell = next;
  }
  return n;
}

std::uint8_t count_byte(int n, int most) {
  return static_cast<std::uint8_t>(std::min(n, most) * 255 / most);
}

struct Surroundings {
  std::array<CellBytes, kTowerMaps> map{};
  int route_length = 0;
  int guarded = 0;  // cells of the route that some tower notices
  int places = 0;
};

// The cells within a distance of a place: of each row from `reach` above it to `reach` below, the
// bits from kMazeSide to its left to as far to its right.
struct Circle {
  int reach = 0;
  std::array<std::uint64_t, 2 * kMazeSide + 1> row{};

  explicit Circle(float d2) {
    for (int dy = -kMazeSide; dy <= kMazeSide; ++dy) {
      for (int dx = -kMazeSide; dx <= kMazeSide; ++dx) {
        if (static_cast<float>(dx * dx + dy * dy) > d2) continue;
        row[kMazeSide + dy] |= std::uint64_t{1} << (kMazeSide + dx);
        reach = std::max(reach, dy);
      }
    }
  }
};

// The route as bits, with as much room around it.
class RouteBits {
 public:
  RouteBits(const std::array<std::int16_t, kCells>& route, int n) {
    for (int i = 0; i < n; ++i) {
      row_[kMazeSide + route[i] / kMazeSide] |= std::uint64_t{1}
                                                << (kMazeSide + route[i] % kMazeSide);
    }
  }

  // How many cells of the route are in the circle around (x, y).
  [[nodiscard]] int near(const Circle& circle, int x, int y) const {
    int count = 0;
    for (int dy = -circle.reach; dy <= circle.reach; ++dy) {
      count += std::popcount(row_[kMazeSide + y + dy] & circle.row[kMazeSide + dy] << x);
    }
    return count;
  }

 private:
  std::array<std::uint64_t, 3 * kMazeSide> row_{};
};

Surroundings look_around(const TdRules& rules, const State& s) {
  const EngineRules& engine = rules.engine;
  Surroundings look;
  std::array<std::int16_t, kCells> route;
  const auto steps = steps_to_base(s);
  const int n = find_route(steps, route);
  look.route_length = n;
  const int range = engine.type[kTower].attack_range;
  const Circle notice(rules.notice2);
  const Circle reach(static_cast<float>(range * range));
  const RouteBits bits(route, n);
  for (int i = 0; i < n; ++i) {
    look.map[kRoute][route[i]] = 255;
    int guards = 0;
    for_units(engine, s, kDefender, [&](int u) {
      if (s.type[u] != kTower) return;
      const auto x = static_cast<float>(route[i] % kMazeSide);
      const auto y = static_cast<float>(route[i] / kMazeSide);
      if (distance2(s.x[u], s.y[u], x, y) <= rules.notice2) ++guards;
    });
    look.map[kGuards][route[i]] = count_byte(guards, 8);
    look.guarded += guards > 0 ? 1 : 0;
  }
  for (int y = 0; y < kMazeSide; ++y) {
    for (int x = 0; x < kMazeSide; ++x) {
      const int cell = at(x, y);
      if (steps[cell] != kFar) look.map[kAhead][cell] = count_byte(steps[cell], 255);
      if (!can_place(engine, s, engine.type[kTower], static_cast<float>(x),
                     static_cast<float>(y))) {
        continue;
      }
      ++look.places;
      look.map[kFree][cell] = 255;
      look.map[kNotices][cell] = count_byte(bits.near(notice, x, y), 8);
      look.map[kReaches][cell] = count_byte(bits.near(reach, x, y), 25);
    }
  }
  const auto count = [&](Map plane, int i, int most) {
    const int x = std::clamp(cell_coord(s.x[i]), 0, kMazeSide - 1);
    const int y = std::clamp(cell_coord(s.y[i]), 0, kMazeSide - 1);
    std::uint8_t& b = look.map[plane][at(x, y)];
    b = static_cast<std::uint8_t>(std::min(255, b + 255 / most));
  };
  for_units(engine, s, kDefender, [&](int i) {
    if (s.type[i] == kTower) count(kTowers, i, 1);
  });
  for_units(engine, s, kInvader, [&](int i) {
    if (s.type[i] == kAttacker) count(kAttackers, i, 5);
  });
  return look;
}

// In the order of SeenRows: the base and the towers, then the other side.
void write_units(const TdRules& rules, const State& s, const Surroundings& look,
                 std::uint8_t* out) {
  const EngineRules& engine = rules.engine;
  constexpr auto kSide = static_cast<float>(kMazeSide);
  std::fill_n(out, kSlots * kTowerUnitCols, std::uint8_t{0});
  for (const int owner : {kDefender, kInvader}) {
    for_units(engine, s, owner, [&](int i) {
      const bool own = owner == kDefender;
      out[own ? 0 : 1] = 255;
      out[2 + s.type[i]] = 255;
      out[5] = unit_byte((s.x[i] + 0.5F) / kSide);
      out[6] = unit_byte((s.y[i] + 0.5F) / kSide);
      out[7] = unit_byte(hp_ratio(s.hp[i], engine.type[s.type[i]].hp));
      out[8] = s.cmd[i] == Cmd::attack ? 255 : 0;
      out[9] = unit_byte(waiting(engine, s, i, kCdAttack));
      out[10] = look.map[kAhead][at(std::clamp(cell_coord(s.x[i]), 0, kMazeSide - 1),
                                    std::clamp(cell_coord(s.y[i]), 0, kMazeSide - 1))];
      if (!own) {
        int reached = 0;
        int attacked = 0;
        int flying = 0;
        for_units(engine, s, kDefender, [&](int t) {
          reached += reaches(rules, s, t, i) ? 1 : 0;
          attacked += s.cmd[t] == Cmd::attack && s.target[t] == i ? 1 : 0;
        });
        for (int b = 0; b < s.bullets; ++b) {
          flying += s.bullet_target[b] == i && s.bullet_state[b] == BulletState::ready ? 1 : 0;
        }
        out[11] = count_byte(reached, 8);
        out[12] = count_byte(attacked, 8);
        out[13] = count_byte(flying, 8);
      }
      out += kTowerUnitCols;
    });
  }
}

void write_planes(const State& s, const EngineRules& engine, std::uint8_t* out) {
  std::memset(out, 0, kTowerPlanes * kCells / 8);
  const auto set = [&](int bit) {
    out[bit / 8] = static_cast<std::uint8_t>(out[bit / 8] | 1U << bit % 8);
  };
  for (int y = 0; y < kMazeSide; ++y) {
    for (int x = 0; x < kMazeSide; ++x) {
      if (walled(s, x, y)) set(at(x, y));
    }
  }
  for (int owner = 0; owner < 2; ++owner) {
    for_units(engine, s, owner, [&](int i) {
      const int x = std::clamp(static_cast<int>(s.x[i]), 0, kMazeSide - 1);
      const int y = std::clamp(static_cast<int>(s.y[i]), 0, kMazeSide - 1);
      set(kCells + at(x, y));
    });
  }
}

void write_globals(const TdRules& rules, const State& s, const Surroundings& look, float* out) {
  const EngineRules& engine = rules.engine;
  int attackers = 0;
  for_units(engine, s, kInvader, [&](int i) { attackers += s.type[i] == kAttacker ? 1 : 0; });
  int towers = 0;
  for_units(engine, s, kDefender, [&](int i) { towers += s.type[i] == kTower ? 1 : 0; });
  const auto tick = static_cast<int>(s.tick);
  const auto route = static_cast<float>(std::max(1, look.route_length));
  out[0] = static_cast<float>(s.money[kDefender]) / 500.0F;
  out[1] = affords_tower(rules, s) ? 1.0F : 0.0F;
  out[2] = static_cast<float>(tick) / static_cast<float>(std::max(1U, engine.tick_limit));
  out[3] = s.bases[kDefender] == 0 ? 0.0F : hp_ratio(s.hp[0], engine.type[kTowerBase].hp);
  out[4] = static_cast<float>(towers) / 25.0F;
  out[5] = static_cast<float>(attackers) / 25.0F;
  out[6] = static_cast<float>(tick / rules.wave_ticks * rules.wave_growth) / 15.0F;
  out[7] = static_cast<float>(tick % rules.wave_ticks) / static_cast<float>(rules.wave_ticks);
  out[8] = static_cast<float>(look.route_length) / 100.0F;
  out[9] = static_cast<float>(look.guarded) / route;
  out[10] = static_cast<float>(look.places) / static_cast<float>(kCells);
  out[11] = static_cast<float>(s.bullets) / 25.0F;
}

}  // namespace

std::vector<TensorSpec> td_tensors(const TdRules& rules) {
  TensorSpec planes;
  planes.name = "planes";
  planes.dtype = DType::bits;
  planes.shape = {kTowerPlanes, kMazeSide, kMazeSide};
  planes.high = 1;
  planes.meaning = "the two planes of the ELF paper: impassable cells, and cells with a unit";
  planes.labels = {"wall", "unit"};
  TensorSpec map;
  map.name = "map";
  map.dtype = DType::u8;
  map.shape = {kTowerMaps, kMazeSide, kMazeSide};
  map.high = 255;
  map.scale = 1.0 / 255.0;
  map.meaning = "every cell as a builder of towers sees it";
  map.labels = {"may_build",      "route",  "steps_to_base", "route_noticed",
                "route_in_reach", "guards", "tower",         "attackers"};
  const TensorSpec globals = globals_tensor(
      kTowerGlobals, 1000, "money, time, the base and the waves, in numbers",
      {"money_500", "affords_tower", "tick_of_limit", "base_hp_ratio", "towers_25", "attackers_25",
       "wave_15", "wave_phase", "route_100", "route_guarded", "places_of_cells", "bullets_25"});
  std::vector<TensorSpec> tensors = {planes, map, globals};
  if (rules.commands != Commands::strategic) {
    tensors.push_back(units_tensor(
        kSlots, kTowerUnitCols,
        {"own", "enemy", "base", "attacker", "tower", "x", "y", "hp_ratio", "attacks",
         "attack_cooldown", "steps_to_base", "reached_by_8", "attacked_by_8", "bullets_8"}));
  }
  if (rules.pixels > 0) tensors.push_back(pixels_tensor(rules.engine, rules.pixels));
  return tensors;
}

std::uint64_t all_units(const EngineRules& engine, const State& state) {
  std::uint64_t set = 0;
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    for_units(engine, state, owner, [&](int i) { set |= std::uint64_t{1} << i; });
  }
  return set;
}

void observe_td(const TdRules& rules, const State& state, std::span<std::byte* const> tensors) {
  const Surroundings look = look_around(rules, state);
  write_planes(state, rules.engine, reinterpret_cast<std::uint8_t*>(tensors[0]));
  std::memcpy(tensors[1], look.map.data(), sizeof look.map);
  std::array<float, kTowerGlobals> globals;
  write_globals(rules, state, look, globals.data());
  std::memcpy(tensors[2], globals.data(), sizeof globals);
  std::size_t next = 3;
  if (rules.commands != Commands::strategic) {
    write_units(rules, state, look, reinterpret_cast<std::uint8_t*>(tensors[next++]));
  }
  if (rules.pixels == 0) return;
  Sight all;  // nothing is hidden here
  all.row.fill(~std::uint32_t{0});
  write_pixels(rules.engine, state, 0, all, all_units(rules.engine, state), -1, rules.pixels,
               reinterpret_cast<std::uint8_t*>(tensors[next]));
}

}  // namespace ludus::rts
