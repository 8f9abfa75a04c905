#include "games/rts/rulebook/observe.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "games/rts/engine/cells.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/tensors.hpp"
#include "games/rts/rulebook/orders.hpp"

namespace ludus::rts {

namespace {

constexpr int kBookCmds = 5;
constexpr int kMaxGlobals = 128;
constexpr std::array<const char*, 6> kAgeBins = {"200", "500", "1000", "2000", "5000", "10000"};

bool has(std::uint16_t types, int t) { return (types >> t & 1) != 0; }

// Columns of `units` behind own, enemy and the types.
constexpr std::array<const char*, 22> kColumns = {"x",
                                                  "y",
                                                  "hp_ratio",
                                                  "cmd_idle",
                                                  "cmd_move",
                                                  "cmd_attack",
                                                  "cmd_gather",
                                                  "cmd_build",
                                                  "phase",
                                                  "attack_cooldown",
                                                  "gather_cooldown",
                                                  "build_cooldown",
                                                  "age_2000",
                                                  "from_own_base",
                                                  "from_own_resource",
                                                  "was_hit",
                                                  "hp_500",
                                                  "attack_50",
                                                  "range_16",
                                                  "speed_half",
                                                  "vision_16",
                                                  "defence_16"};
static_assert(kBookCmds == 5);

// Added to the type in `cells`.
int enemy_of(const Book& book) { return book.types() <= 8 ? 8 : 16; }

int unit_columns(const Book& book) { return 2 + book.types() + static_cast<int>(kColumns.size()); }

// Shared by the compact tensors.
struct Scene {
  const Book& book;
  const EngineRules& engine;
  const State& state;
  int seat;
  Sight sight;
  std::uint64_t seen;
  int base = kNone;      // own, first
  int resource = kNone;  // own, first

  Scene(const Book& b, const EngineRules& e, const State& s, int who)
      : book(b),
        engine(e),
        state(s),
        seat(who),
        sight(sight_of(e, s, who)),
        seen(visible_units(e, s, sight)) {
    for_units(e, s, who, [&](int i) {
      if (s.type[i] == e.base_type && base == kNone) base = i;
      if (s.type[i] == b.numbers.start_positions.resource && resource == kNone) resource = i;
    });
  }
  [[nodiscard]] bool own(int i) const { return engine.owner_of(i) == seat; }
};

void write_units(const Scene& scene, std::uint8_t* out) {
  const EngineRules& engine = scene.engine;
  const State& s = scene.state;
  const int columns = unit_columns(scene.book);
  const int types = scene.book.types();
  const auto side = static_cast<float>(engine.side);
  std::fill_n(out, kSlots * columns, std::uint8_t{0});
  const auto away = [&](int i, int from) {
    if (from == kNone) return std::uint8_t{255};
    return unit_byte(std::sqrt(distance2(s.x[i], s.y[i], s.x[from], s.y[from])) / (1.5F * side));
  };
  const auto share = [](int v, float whole) { return unit_byte(static_cast<float>(v) / whole); };
  const auto write = [&](int i, bool own) {
    const int type = s.type[i];
    const UnitType& u = engine.type[type];
    out[own ? 0 : 1] = 255;
    out[2 + type] = 255;
    std::uint8_t* c = out + 2 + types;
    c[0] = unit_byte((s.x[i] + 0.5F) / side);
    c[1] = unit_byte((s.y[i] + 0.5F) / side);
    c[2] = unit_byte(hp_ratio(s.hp[i], u.hp));
    if (own) {  // what an enemy is up to is not for others to see
      c[3 + static_cast<int>(s.cmd[i])] = 255;
      c[8] = unit_byte(static_cast<float>(s.phase[i]) / 2.0F);
      c[9] = unit_byte(waiting(engine, s, i, kCdAttack));
      c[10] = unit_byte(waiting(engine, s, i, kCdGather));
      c[11] = unit_byte(waiting(engine, s, i, kCdBuild));
      c[15] = s.damaged_by[i] != kNone ? 255 : 0;
    }
    c[12] = share(age_of(s, i), 2000.0F);
    c[13] = away(i, scene.base);
    c[14] = away(i, scene.resource);
    c[16] = share(s.hp[i], 500.0F);
    c[17] = share(u.attack, 50.0F);
    c[18] = share(u.attack_range, 16.0F);
    c[19] = unit_byte(u.speed / 0.5F);
    c[20] = share(u.vision, 16.0F);
    c[21] = share(u.defence, 16.0F);
    out += columns;
  };
  for_bits(scene.seen, [&](int i) {
    if (scene.own(i)) write(i, true);
  });
  for_bits(scene.seen, [&](int i) {
    if (!scene.own(i)) write(i, false);
  });
}

// Sums over the units in sight.
struct Counts {
  std::array<float, kMaxTypes> own{}, seen{}, building{};
  float idle_gatherers = 0, gathering = 0, fighting_gatherers = 0;
  float idle_troops = 0, fighting_troops = 0, moving_troops = 0, idle_builders = 0;
  float own_hp = 0, own_far_hp = 0, seen_hp = 0, seen_far_hp = 0;
  std::uint64_t troops = 0, far_troops = 0, enemies = 0, enemy_troops = 0, enemy_close = 0;

  explicit Counts(const Scene& scene) {
    const State& s = scene.state;
    const Book& book = scene.book;
    for_bits(scene.seen, [&](int i) {
      const auto t = static_cast<std::size_t>(s.type[i]);
      const UnitType& u = scene.engine.type[t];
      const std::uint64_t bit = std::uint64_t{1} << i;
      const bool own = scene.own(i);
      const bool troop = has(book.troops, static_cast<int>(t));
      const float hp = static_cast<float>(s.hp[i]) / 500.0F;
      (own ? this->own : seen)[t] += 0.125F;
      if (troop) {
        (own ? own_hp : seen_hp) += hp;
        if (u.attack_range > 1) (own ? own_far_hp : seen_far_hp) += hp;
      }
      if (!own) {
        if (static_cast<int>(t) != book.numbers.start_positions.resource) enemies |= bit;
        if (troop) (u.attack_range > 1 ? enemy_troops : enemy_close) |= bit;
        return;
      }
      const Cmd cmd = s.cmd[i];
      if (cmd == Cmd::build) building[s.target[i]] += 0.5F;
      if (has(book.gatherers, static_cast<int>(t))) {
        if (cmd == Cmd::idle) idle_gatherers += 0.25F;
        if (cmd == Cmd::gather) gathering += 0.25F;
        if (cmd == Cmd::attack) fighting_gatherers += 0.25F;
      } else if (troop) {
        troops |= bit;
        if (u.attack_range > 1) far_troops |= bit;
        if (cmd == Cmd::idle) idle_troops += 0.125F;
        if (cmd == Cmd::attack) fighting_troops += 0.125F;
        if (cmd == Cmd::move) moving_troops += 0.125F;
      } else if (u.building && u.builds != 0 && cmd == Cmd::idle) {
        idle_builders += 0.25F;
      }
    });
    enemy_troops |= enemy_close;
  }
};

// Names of the numbers of `globals` that every rulebook has; they follow the numbers of types.
constexpr std::array<const char*, 28> kFixed = {"money_500",
                                                "tick_of_limit",
                                                "tick_of_5000",
                                                "may_defend",
                                                "gatherers_idle",
                                                "gatherers_gathering",
                                                "gatherers_attacking",
                                                "troops_idle",
                                                "troops_attacking",
                                                "troops_moving",
                                                "builders_idle",
                                                "own_troop_hp_500",
                                                "own_far_troop_hp_500",
                                                "seen_troop_hp_500",
                                                "seen_far_troop_hp_500",
                                                "base_hp_ratio",
                                                "resource_hp_ratio",
                                                "enemy_base_seen",
                                                "enemy_base_hp_ratio",
                                                "base_to_enemy",
                                                "resource_to_enemy",
                                                "far_troop_to_close_enemy",
                                                "troop_to_enemy_troop",
                                                "base_to_resource",
                                                "farthest_troop",
                                                "base_x",
                                                "base_y",
                                                "may_fight"};

int global_count(const Book& book) {
  return 2 * book.types() + 2 * static_cast<int>(book.build_menu.size()) +
         static_cast<int>(kFixed.size());
}

std::vector<std::string> global_labels(const Book& book) {
  std::vector<std::string> v(kFixed.begin(), kFixed.end());
  for (const char* prefix : {"own_", "seen_"}) {
    for (const std::string& n : book.names) v.push_back(prefix + n);
  }
  for (const char* prefix : {"affords_", "building_"}) {
    for (const int t : book.build_menu) {
      v.push_back(prefix + book.names[static_cast<std::size_t>(t)]);
    }
  }
  return v;
}

// The shortest distance between two sets of units, as a part of the map's diagonal; 1 where one of
// them is empty.
float gap(const State& s, float side, std::uint64_t from, std::uint64_t to) {
  float least = 2.0F * side * side;
  for_bits(from, [&](int i) {
    for_bits(to,
             [&](int j) { least = std::min(least, distance2(s.x[i], s.y[i], s.x[j], s.y[j])); });
  });
  return std::sqrt(least / (2.0F * side * side));
}

void write_globals(const Scene& scene, float* out) {
  const Book& book = scene.book;
  const EngineRules& engine = scene.engine;
  const State& s = scene.state;
  const Counts c(scene);
  const auto side = static_cast<float>(engine.side);
  const auto set_of = [](int slot) { return slot == kNone ? 0 : std::uint64_t{1} << slot; };
  const std::uint64_t base = set_of(scene.base);
  const std::uint64_t resource = set_of(scene.resource);
  const auto health = [&](int slot) {
    return slot == kNone ? 0.0F : hp_ratio(s.hp[slot], engine.type[s.type[slot]].hp);
  };
  int enemy_base = kNone;
  for_bits(c.enemies, [&](int i) {
    if (s.type[i] == engine.base_type) enemy_base = i;
  });
  float farthest = 0.0F;
  for_bits(base == 0 ? 0 : c.troops, [&](int i) {
    const float d2 = distance2(s.x[i], s.y[i], s.x[scene.base], s.y[scene.base]);
    farthest = std::max(farthest, std::sqrt(d2) / side);
  });
  const ChoiceSet useful = useful_choices(book, engine, s, scene.seat);
  const auto may = [&](Tactic t) { return (useful >> choice_of(book, t) & 1) != 0 ? 1.0F : 0.0F; };
  const int money = s.money[scene.seat];
  const auto tick = static_cast<float>(s.tick);
  const std::array<float, kFixed.size()> fixed = {
      static_cast<float>(money) / 500.0F,
      tick / static_cast<float>(std::max(1U, engine.tick_limit)),
      std::min(1.0F, tick / 5000.0F),
      may(Tactic::defend),
      c.idle_gatherers,
      c.gathering,
      c.fighting_gatherers,
      c.idle_troops,
      c.fighting_troops,
      c.moving_troops,
      c.idle_builders,
      c.own_hp,
      c.own_far_hp,
      c.seen_hp,
      c.seen_far_hp,
      health(scene.base),
      health(scene.resource),
      enemy_base != kNone ? 1.0F : 0.0F,
      health(enemy_base),
      gap(s, side, base, c.enemies),
      gap(s, side, resource, c.enemies),
      gap(s, side, c.far_troops, c.enemy_close),
      gap(s, side, c.troops, c.enemy_troops),
      gap(s, side, base, resource),
      farthest,
      scene.base == kNone ? 0.0F : std::max(0.0F, s.x[scene.base] / side),
      scene.base == kNone ? 0.0F : std::max(0.0F, s.y[scene.base] / side),
      may(Tactic::attack_in_range)};
  out = std::copy(fixed.begin(), fixed.end(), out);
  const auto types = static_cast<std::ptrdiff_t>(book.types());
  out = std::copy(c.own.begin(), c.own.begin() + types, out);
  out = std::copy(c.seen.begin(), c.seen.begin() + types, out);
  for (const int t : book.build_menu) *out++ = money >= engine.type[t].cost ? 1.0F : 0.0F;
  for (const int t : book.build_menu) *out++ = c.building[static_cast<std::size_t>(t)];
}

std::vector<std::string> plane_labels(const Book& book) {
  std::vector<std::string> v = book.names;
  for (const char* name : {"affiliation", "hp_ratio", "base_hp_ratio", "history_decay"}) {
    v.emplace_back(name);
  }
  for (const char* bin : kAgeBins) v.push_back(std::string("age_below_") + bin);
  v.emplace_back("age_older");
  for (const char* bin : {"50", "100", "150", "200"})
    v.push_back(std::string("money_below_") + bin);
  v.emplace_back("money_more");
  return v;
}

}  // namespace

std::vector<TensorSpec> book_tensors(const Book& book) {
  std::vector<std::string> columns = {"own", "enemy"};
  columns.insert(columns.end(), book.names.begin(), book.names.end());
  columns.insert(columns.end(), kColumns.begin(), kColumns.end());
  std::vector<TensorSpec> tensors = {
      cells_tensor(kCellRows, kCellCols, "rts_cells", book.engine().side,
                   "visible units, packed; the codec rts_cells expands them to a plane for every "
                   "unit type and 16 more, float32[C, S, S] with S = scale",
                   plane_labels(book)),
      units_tensor(kSlots, unit_columns(book), std::move(columns)),
      globals_tensor(global_count(book), 2000, "the seat's own side and what it sees, in numbers",
                     global_labels(book))};
  if (book.engine().terrain) {
    TensorSpec terrain;
    terrain.name = "terrain";
    terrain.shape = {1, book.engine().side, book.engine().side};
    terrain.high = 1;
    terrain.meaning = "1 where a wall is, by [0, y, x]; both seats know the map";
    terrain.labels = {"wall"};
    tensors.push_back(terrain);
  }
  if (book.pixels > 0) tensors.push_back(pixels_tensor(book.engine(), book.pixels));
  return tensors;
}

void observe_book(const Book& book, const EngineRules& engine, const State& state, int seat,
                  std::span<std::byte* const> tensors) {
  const Scene scene(book, engine, state, seat);
  std::array<std::uint16_t, kCellRows * kCellCols> cells;
  std::array<float, kMaxGlobals> globals;
  write_cells(engine, state, seat, scene.seen, enemy_of(book), cells.data());
  write_globals(scene, globals.data());
  std::memcpy(tensors[0], cells.data(), sizeof cells);
  write_units(scene, reinterpret_cast<std::uint8_t*>(tensors[1]));
  std::memcpy(tensors[2], globals.data(),
              static_cast<std::size_t>(global_count(book)) * sizeof(float));
  std::size_t next = 3;
  if (engine.terrain) {
    auto* out = reinterpret_cast<std::uint8_t*>(tensors[next++]);
    for (int y = 0; y < engine.side; ++y) {
      for (int x = 0; x < engine.side; ++x) *out++ = walled(state, x, y) ? 1 : 0;
    }
  }
  if (book.pixels == 0) return;
  write_pixels(engine, state, seat, scene.sight, scene.seen, book.numbers.start_positions.resource,
               book.pixels, reinterpret_cast<std::uint8_t*>(tensors[next]));
}

}  // namespace ludus::rts
