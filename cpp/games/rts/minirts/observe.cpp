#include "games/rts/minirts/observe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "games/rts/engine/cells.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/tensors.hpp"
#include "games/rts/minirts/strategy.hpp"

namespace ludus::rts {

namespace {

constexpr std::array<int, 6> kAgeBins = {200, 500, 1000, 2000, 5000, 10000};
constexpr int kEnemy = 8;  // added to the type in `cells`
constexpr int kMoneyBins = 5;
constexpr int kMoneyBin = 50;

// Shared by both compact tensors.
struct Scene {
  const MiniRules& rules;
  const State& state;
  int seat;
  Sight sight;
  std::uint64_t seen;
  int base = kNone;      // own, first
  int resource = kNone;  // own, first

  Scene(const MiniRules& r, const State& s, int who)
      : rules(r),
        state(s),
        seat(who),
        sight(r.fog ? sight_of(r.engine, s, who) : sight_of_everything(r.engine)),
        seen(visible_units(r.engine, s, sight)) {
    for_units(r.engine, s, who, [&](int i) {
      if (s.type[i] == kBase && base == kNone) base = i;
      if (s.type[i] == kResource && resource == kNone) resource = i;
    });
  }
  [[nodiscard]] bool own(int i) const { return rules.engine.owner_of(i) == seat; }
};

void write_units(const Scene& scene, std::uint8_t* out) {
  const EngineRules& engine = scene.rules.engine;
  const State& s = scene.state;
  const auto side = static_cast<float>(engine.side);
  std::fill_n(out, kUnitRows * kUnitCols, std::uint8_t{0});
  const auto away = [&](int i, int from) {
    if (from == kNone) return std::uint8_t{255};
    return unit_byte(std::sqrt(distance2(s.x[i], s.y[i], s.x[from], s.y[from])) / (1.5F * side));
  };
  const auto write = [&](int i, bool own) {
    const int type = s.type[i];
    out[0] = own ? 255 : 0;
    out[1] = own ? 0 : 255;
    out[2 + type] = 255;
    out[8] = unit_byte((s.x[i] + 0.5F) / side);
    out[9] = unit_byte((s.y[i] + 0.5F) / side);
    out[10] = unit_byte(hp_ratio(s.hp[i], engine.type[type].hp));
    out[20] = unit_byte(static_cast<float>(age_of(s, i)) / 2000.0F);
    out[21] = away(i, scene.base);
    out[22] = away(i, scene.resource);
    if (own) {  // what an enemy is up to is not for others to see
      out[11 + static_cast<int>(s.cmd[i])] = 255;
      out[16] = unit_byte(static_cast<float>(s.phase[i]) / 2.0F);
      out[17] = unit_byte(waiting(engine, s, i, kCdAttack));
      out[18] = unit_byte(waiting(engine, s, i, kCdGather));
      out[19] = unit_byte(waiting(engine, s, i, kCdBuild));
      out[23] = s.damaged_by[i] != kNone ? 255 : 0;
    }
    out += kUnitCols;
  };
  for_bits(scene.seen, [&](int i) {
    if (scene.own(i)) write(i, true);
  });
  for_bits(scene.seen, [&](int i) {
    if (!scene.own(i)) write(i, false);
  });
}

// Distances between units, on which a decision to fight, to flee or to come home depends.
// Distances are parts of the map's diagonal, 1 where there is no unit to measure to.
void write_geometry(const Scene& scene, float* out) {
  const EngineRules& engine = scene.rules.engine;
  const State& s = scene.state;
  const auto side = static_cast<float>(engine.side);
  std::array<std::uint64_t, 2> troops{};  // own, enemy
  std::uint64_t own_range = 0;
  std::uint64_t enemy_melee = 0;
  std::uint64_t enemies = 0;
  for_bits(scene.seen, [&](int i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const int type = s.type[i];
    const bool own = scene.own(i);
    if (type == kMelee || type == kRange) {
      troops[own ? 0 : 1] |= bit;
      out[(own ? 0 : 2) + (type == kRange ? 1 : 0)] += static_cast<float>(s.hp[i]) / 500.0F;
      if (own && type == kRange) own_range |= bit;
      if (own && s.cmd[i] == Cmd::move) out[4] += 0.125F;
      if (!own && type == kMelee) enemy_melee |= bit;
    }
    if (!own && type != kResource) enemies |= bit;
    if (own && type == kWorker && s.damaged_by[i] != kNone) out[5] += 0.25F;
  });
  const auto gap = [&](std::uint64_t from, std::uint64_t to) {
    float least = 2.0F * side * side;
    for_bits(from, [&](int i) {
      for_bits(to,
               [&](int j) { least = std::min(least, distance2(s.x[i], s.y[i], s.x[j], s.y[j])); });
    });
    return std::sqrt(least / (2.0F * side * side));
  };
  const std::uint64_t base = scene.base == kNone ? 0 : std::uint64_t{1} << scene.base;
  const std::uint64_t resource = scene.resource == kNone ? 0 : std::uint64_t{1} << scene.resource;
  out[6] = gap(base, enemies);
  out[7] = gap(resource, enemies);
  out[8] = gap(base, troops[1]);
  out[9] = gap(own_range, enemy_melee);
  out[10] = gap(own_range, enemies);
  out[11] = gap(troops[0], troops[1]);
  out[12] = gap(base, resource);
  float farthest = 0.0F;
  float total = 0.0F;
  for_bits(base == 0 ? 0 : troops[0], [&](int i) {
    const float d = std::sqrt(distance2(s.x[i], s.y[i], s.x[scene.base], s.y[scene.base])) / side;
    farthest = std::max(farthest, d);
    total += d;
  });
  out[13] = farthest;
  out[14] = troops[0] == 0 ? 0.0F : total / static_cast<float>(std::popcount(troops[0]));
  for_bits(troops[1], [&](int i) {
    if (base != 0 && distance2(s.x[i], s.y[i], s.x[scene.base], s.y[scene.base]) < 36.0F) {
      out[15] += 0.125F;
    }
  });
  if (base != 0) {
    out[16] = s.x[scene.base] / side;
    out[17] = s.y[scene.base] / side;
  }
}

void write_globals(const Scene& scene, float* out) {
  const EngineRules& engine = scene.rules.engine;
  const State& s = scene.state;
  std::fill_n(out, kGlobals, 0.0F);
  const int money = s.money[scene.seat];
  out[0] = static_cast<float>(money) / 500.0F;
  out[1] = static_cast<float>(s.tick) / static_cast<float>(std::max(1U, engine.tick_limit));
  out[2] = std::min(1.0F, static_cast<float>(s.tick) / 5000.0F);
  constexpr int kPrices[] = {kWorker, kMelee, kBarracks};
  for (int k = 0; k < 3; ++k) out[3 + k] = money >= engine.type[kPrices[k]].cost ? 1.0F : 0.0F;
  float* own = out + 6;     // counts by type
  float* enemy = out + 12;  // visible ones
  float* under = out + 18;  // being built, by type
  for_bits(scene.seen, [&](int i) {
    const int type = s.type[i];
    (scene.own(i) ? own : enemy)[type] += 0.125F;
    if (!scene.own(i)) return;
    const bool idle = s.cmd[i] == Cmd::idle;
    if (s.cmd[i] == Cmd::build) under[s.target[i]] += 0.5F;
    if (type == kWorker) {
      if (idle) out[24] += 0.25F;
      if (s.cmd[i] == Cmd::gather) out[25] += 0.25F;
      if (s.cmd[i] == Cmd::attack) out[26] += 0.25F;
    } else if (type == kMelee || type == kRange) {
      if (idle) out[27] += 0.125F;
      if (s.cmd[i] == Cmd::attack) out[28] += 0.125F;
    } else if (type == kBarracks && idle) {
      out[29] += 0.5F;
    }
  });
  if (scene.base != kNone) {
    out[30] = s.cmd[scene.base] == Cmd::idle ? 1.0F : 0.0F;
    out[31] = hp_ratio(s.hp[scene.base], engine.type[kBase].hp);
  }
  if (scene.resource != kNone) {
    out[32] = hp_ratio(s.hp[scene.resource], engine.type[kResource].hp);
  }
  // Legal orders never depend on whether the observation has fog.
  const ActionSet useful = scene.rules.fog ? useful_actions(scene.rules, s, scene.seat, scene.seen)
                                           : useful_actions(scene.rules, s, scene.seat);
  out[33] = (useful & action_bit(kDefend)) != 0 ? 1.0F : 0.0F;
  for_bits(scene.seen, [&](int i) {  // the enemy's base, where it can be seen
    if (!scene.own(i) && s.type[i] == kBase) {
      out[34] = 1.0F;
      out[35] = hp_ratio(s.hp[i], engine.type[kBase].hp);
    }
  });
  write_geometry(scene, out + 36);
}

std::vector<std::string> plane_labels() {
  std::vector<std::string> v(kMiniTypeNames.begin(), kMiniTypeNames.end());
  for (const char* name : {"affiliation", "hp_ratio", "base_hp_ratio", "history_decay"}) {
    v.emplace_back(name);
  }
  for (const int bin : kAgeBins) v.push_back("age_below_" + std::to_string(bin));
  v.emplace_back("age_older");
  for (int i = 0; i < kMoneyBins - 1; ++i) {
    v.push_back("money_below_" + std::to_string((i + 1) * kMoneyBin));
  }
  v.emplace_back("money_more");
  return v;
}

std::vector<std::string> unit_labels() {
  std::vector<std::string> v = {"own", "enemy"};
  for (const char* name : kMiniTypeNames) v.emplace_back(name);
  for (const char* name : {"x", "y", "hp_ratio"}) v.emplace_back(name);
  for (int c = 0; c < kEconomyCmds; ++c) v.push_back(std::string("cmd_") + kCmdNames[c]);
  for (const char* name : {"phase", "attack_cooldown", "gather_cooldown", "build_cooldown",
                           "age_2000", "from_own_base", "from_own_resource", "was_hit"}) {
    v.emplace_back(name);
  }
  return v;
}

std::vector<std::string> global_labels() {
  std::vector<std::string> v = {"money_500",      "tick_of_limit",          "tick_of_5000",
                                "affords_worker", "affords_melee_attacker", "affords_barracks"};
  for (const char* prefix : {"own_", "seen_", "building_"}) {
    for (const char* name : kMiniTypeNames) v.push_back(std::string(prefix) + name);
  }
  for (const char* name : {"workers_idle",
                           "workers_gathering",
                           "workers_attacking",
                           "troops_idle",
                           "troops_attacking",
                           "barracks_idle",
                           "base_idle",
                           "base_hp_ratio",
                           "resource_hp_ratio",
                           "may_defend",
                           "enemy_base_seen",
                           "enemy_base_hp_ratio",
                           "own_melee_hp_500",
                           "own_range_hp_500",
                           "seen_melee_hp_500",
                           "seen_range_hp_500",
                           "troops_moving",
                           "workers_hit",
                           "base_to_enemy",
                           "resource_to_enemy",
                           "base_to_enemy_troop",
                           "range_to_enemy_melee",
                           "range_to_enemy",
                           "troop_to_enemy_troop",
                           "base_to_resource",
                           "farthest_troop",
                           "mean_troop",
                           "enemy_troops_near_base",
                           "base_x",
                           "base_y"}) {
    v.emplace_back(name);
  }
  return v;
}

}  // namespace

std::vector<TensorSpec> mini_tensors(const MiniRules& rules) {
  std::vector<TensorSpec> tensors = {
      cells_tensor(kCellRows, kCellCols, "rts_cells", rules.engine.side,
                   "visible units, packed; the codec rts_cells expands them to the 22 planes of "
                   "the ELF paper, float32[22, S, S] with S = scale",
                   plane_labels()),
      units_tensor(kUnitRows, kUnitCols, unit_labels()),
      globals_tensor(kGlobals, 1000, "the seat's own side and what it sees, in numbers",
                     global_labels())};
  if (rules.pixels > 0) tensors.push_back(pixels_tensor(rules.engine, rules.pixels));
  return tensors;
}

void observe_mini(const MiniRules& rules, const State& state, int seat,
                  std::span<std::byte* const> tensors) {
  const Scene scene(rules, state, seat);
  if (tensors[0] != nullptr) {
    std::array<std::uint16_t, kCellRows * kCellCols> cells;
    write_cells(rules.engine, state, seat, scene.seen, kEnemy, cells.data());
    std::memcpy(tensors[0], cells.data(), sizeof cells);
  }
  if (tensors[1] != nullptr) write_units(scene, reinterpret_cast<std::uint8_t*>(tensors[1]));
  if (tensors[2] != nullptr) {
    std::array<float, kGlobals> globals;
    write_globals(scene, globals.data());
    std::memcpy(tensors[2], globals.data(), sizeof globals);
  }
  if (rules.pixels != 0 && tensors[3] != nullptr) {
    write_pixels(rules.engine, state, seat, scene.sight, scene.seen, kResource, rules.pixels,
                 reinterpret_cast<std::uint8_t*>(tensors[3]));
  }
}

void expand_planes(std::span<const std::uint16_t> cells, int side, std::span<float> planes) {
  const int plane_size = side * side;
  std::fill(planes.begin(), planes.end(), 0.0F);
  std::vector<float> count(planes.size(), 0.0F);
  const auto add = [&](int plane, int cell, float value) {
    const auto at = static_cast<std::size_t>(plane * plane_size + cell);
    planes[at] += value;
    count[at] += 1.0F;
  };
  const auto fill = [&](int plane, float value) {
    std::fill_n(planes.begin() + plane * plane_size, plane_size, value);
  };
  for (int r = 0; r < kCellRows - 1; ++r) {
    const std::uint16_t* row = &cells[static_cast<std::size_t>(r * kCellCols)];
    if (row[0] == 0) continue;
    const int cell = row[0] - 1;
    const int age = row[4];
    add(row[1] & 7, cell, 1.0F);
    add(6, cell, row[1] >= 8 ? 2.0F : 1.0F);
    add(7, cell, hp_ratio(row[2], row[3]));
    add(9, cell, static_cast<float>(50.0 / (age + 1)));
    int bin = 0;
    for (const int threshold : kAgeBins) bin += threshold <= age ? 1 : 0;
    add(10 + bin, cell, 1.0F);
  }
  for (std::size_t i = 0; i < planes.size(); ++i) {
    if (count[i] > 0.0F) planes[i] /= count[i];
  }
  const std::uint16_t* about = &cells[static_cast<std::size_t>((kCellRows - 1) * kCellCols)];
  fill(8, about[2] == 0 ? 0.0F : hp_ratio(about[1], about[2]));
  fill(17 + std::min(about[0] / kMoneyBin, kMoneyBins - 1), 1.0F);
}

}  // namespace ludus::rts
