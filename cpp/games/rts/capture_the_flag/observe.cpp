#include "games/rts/capture_the_flag/observe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "games/rts/capture_the_flag/strategy.hpp"
#include "games/rts/engine/cells.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/tensors.hpp"

namespace ludus::rts {

namespace {

int plain_type(int type) { return type == kHandicapped ? kAthlete : type; }

// Shared by all tensors. Coordinates are those that the seat sees.
struct Scene {
  const CtfRules& rules;
  const State& state;
  int seat;
  FlagPlace flag;
  std::uint64_t seen;
  bool mirrored;
  std::array<std::uint64_t, 2> athletes{};  // own; the visible ones of the enemy
  std::array<float, 2> base_x, base_y;      // own, the enemy's: bases are always visible

  Scene(const CtfRules& r, const State& s, int who)
      : rules(r),
        state(s),
        seat(who),
        flag(find_flag(r, s)),
        seen(known_units(r, s, who, flag)),
        mirrored(r.mirrored(s, who)) {
    for_bits(seen, [&](int i) {
      const int owner = r.engine.owner_of(i);
      if (CtfRules::athlete(s.type[i])) athletes[owner == seat ? 0 : 1] |= std::uint64_t{1} << i;
    });
    base_x = {column(base_column(s, seat)), column(base_column(s, 1 - seat))};
    base_y = {9.5F, 9.5F};
  }
  [[nodiscard]] bool own(int i) const { return rules.engine.owner_of(i) == seat; }
  [[nodiscard]] float column(float x) const { return rules.column(state, seat, x); }
  [[nodiscard]] float x(int i) const { return column(state.x[i]); }
  [[nodiscard]] float y(int i) const { return state.y[i]; }
  // In "clean" seat 1 sees itself as seat 0 does.
  [[nodiscard]] bool own_first() const { return rules.clean && seat == 1; }
  // Visible units in the order of their ids as the seat sees them: in "clean" its own come first.
  template <class F>
  void in_order(F&& f) const {
    if (own_first()) {
      for_bits(seen, [&](int i) {
        if (rules.engine.owner_of(i) == 1) f(i);
      });
      for_bits(seen, [&](int i) {
        if (rules.engine.owner_of(i) != 1) f(i);
      });
    } else {
      for_bits(seen, f);
    }
  }
  [[nodiscard]] int owner_as_seen(int i) const {
    const int owner = rules.engine.owner_of(i);
    return own_first() && owner != kFlagOwner ? 1 - owner : owner;
  }
};

void write_cells(const Scene& scene, std::uint16_t* out) {
  const State& s = scene.state;
  const int side = scene.rules.engine.side;
  std::fill_n(out, kFlagCellRows * kFlagCellCols, std::uint16_t{0});
  int rows = 0;
  scene.in_order([&](int i) {
    if (rows == kFlagUnitRows) return;
    const int x = std::clamp(static_cast<int>(scene.x(i)), 0, side - 1);
    const int y = std::clamp(static_cast<int>(scene.y(i)), 0, side - 1);
    const auto cell = static_cast<std::uint16_t>(y * side + x + 1);
    for (int r = 0; r < rows; ++r) {
      if (out[r * kFlagCellCols] == cell) out[r * kFlagCellCols + 1] |= 4;
    }
    std::uint16_t* row = out + rows++ * kFlagCellCols;
    row[0] = cell;
    row[1] = static_cast<std::uint16_t>(plain_type(s.type[i]));
    row[2] = static_cast<std::uint16_t>(scene.owner_as_seen(i) + 1 +
                                        ((s.carrying >> i & 1) != 0 ? 8 : 0));
    row[3] = static_cast<std::uint16_t>(s.hp[i]);
    row[4] = static_cast<std::uint16_t>(scene.rules.engine.type[s.type[i]].hp);
  });
  std::uint16_t* about = out + kFlagUnitRows * kFlagCellCols;
  about[0] = static_cast<std::uint16_t>(std::min(s.money[scene.seat], 65535));
  about[3] = static_cast<std::uint16_t>(side);
}

void write_units(const Scene& scene, std::uint8_t* out) {
  const EngineRules& engine = scene.rules.engine;
  const State& s = scene.state;
  const auto side = static_cast<float>(engine.side);
  std::fill_n(out, kFlagUnitRows * kFlagUnitCols, std::uint8_t{0});
  int rows = 0;
  const auto away = [&](int i, float x, float y) {
    return unit_byte(std::sqrt(distance2(scene.x(i), scene.y(i), x, y)) / (1.5F * side));
  };
  const auto write = [&](int i) {
    if (rows++ == kFlagUnitRows) return;
    const bool own = scene.own(i);
    const bool neutral = engine.owner_of(i) == kFlagOwner;
    out[0] = own ? 255 : 0;
    out[1] = own || neutral ? 0 : 255;
    out[2 + plain_type(s.type[i])] = 255;
    out[5] = unit_byte((scene.x(i) + 0.5F) / side);
    out[6] = unit_byte((scene.y(i) + 0.5F) / side);
    out[7] = unit_byte(hp_ratio(s.hp[i], engine.type[s.type[i]].hp));
    out[8] = (s.carrying >> i & 1) != 0 ? 255 : 0;
    out[9] = away(i, scene.base_x[0], scene.base_y[0]);
    out[10] = away(i, scene.base_x[1], scene.base_y[1]);
    if (own) {  // what an enemy is up to is not for others to see
      constexpr std::array<Cmd, 5> kShown = {Cmd::idle, Cmd::move, Cmd::attack, Cmd::get_flag,
                                             Cmd::escort_flag};
      for (std::size_t k = 0; k < kShown.size(); ++k) {
        if (s.cmd[i] == kShown[k]) out[11 + k] = 255;
      }
      out[16] = unit_byte(waiting(engine, s, i, kCdAttack));
      out[17] = s.damaged_by[i] != kNone ? 255 : 0;
      if (s.cmd[i] == Cmd::attack && s.target[i] != kNone) {
        out[18] = (s.carrying >> s.target[i] & 1) != 0 ? 255 : 0;
      }
      out[19] = unit_byte(waiting(engine, s, i, kCdBuild));
    }
    out += kFlagUnitCols;
  };
  for_bits(scene.seen, [&](int i) {
    if (scene.own(i)) write(i);
  });
  for_bits(scene.seen, [&](int i) {
    if (!scene.own(i)) write(i);
  });
}

// Distances are parts of the map's diagonal, 1 where there is no unit to measure to.
void write_globals(const Scene& scene, float* out) {
  const EngineRules& engine = scene.rules.engine;
  const State& s = scene.state;
  const auto side = static_cast<float>(engine.side);
  const auto to_win = static_cast<float>(engine.flag.to_win);
  std::fill_n(out, kFlagGlobals, 0.0F);
  const auto gap = [&](std::uint64_t from, float x, float y) {
    float least = 2.0F * side * side;
    for_bits(from,
             [&](int i) { least = std::min(least, distance2(scene.x(i), scene.y(i), x, y)); });
    return std::sqrt(least / (2.0F * side * side));
  };
  out[0] = static_cast<float>(s.money[scene.seat]) / to_win;
  out[1] = static_cast<float>(s.money[1 - scene.seat]) / to_win;
  out[2] = static_cast<float>(s.tick) / static_cast<float>(std::max(1U, engine.tick_limit));
  // A coordinate as a part of the side. The ruleset "elf" lets units stand up to a cell outside.
  const auto along = [&](float v) { return std::max(0.0F, (v + 0.5F) / side); };
  const bool own_has = scene.flag.owner == scene.seat;
  const bool enemy_has = scene.flag.owner == 1 - scene.seat;
  out[3] = scene.flag.free != kNone ? 1.0F : 0.0F;
  out[4] = own_has ? 1.0F : 0.0F;
  out[5] = enemy_has ? 1.0F : 0.0F;
  const int holder = scene.flag.carrier != kNone ? scene.flag.carrier : scene.flag.free;
  const bool known = holder != kNone && (scene.seen >> holder & 1) != 0;
  out[6] = known ? 1.0F : 0.0F;
  if (known) {
    const float x = scene.x(holder);
    const float y = scene.y(holder);
    out[7] = along(x);
    out[8] = along(y);
    out[9] = gap(scene.athletes[0] & ~(std::uint64_t{1} << holder), x, y);
    out[10] = gap(scene.athletes[1] & ~(std::uint64_t{1} << holder), x, y);
    out[11] = gap(std::uint64_t{1} << holder, scene.base_x[0], scene.base_y[0]);
    out[12] = gap(std::uint64_t{1} << holder, scene.base_x[1], scene.base_y[1]);
    if (scene.flag.carrier != kNone)
      out[13] = hp_ratio(s.hp[holder], engine.type[s.type[holder]].hp);
  }
  if (own_has) {
    const int attacker = s.damaged_by[holder];
    out[14] = attacker != kNone ? 1.0F : 0.0F;
    if (attacker != kNone && (scene.seen >> attacker & 1) != 0) {
      out[15] = hp_ratio(s.hp[attacker], engine.type[s.type[attacker]].hp);
      out[16] = gap(std::uint64_t{1} << attacker, scene.x(holder), scene.y(holder));
    }
  }
  for (int k = 0; k < 2; ++k) {
    float* side_of = out + 17 + 5 * k;  // own, enemy
    float x = 0.0F;
    float y = 0.0F;
    for_bits(scene.athletes[k], [&](int i) {
      side_of[0] += 0.2F;
      side_of[1] += 0.2F * hp_ratio(s.hp[i], engine.type[s.type[i]].hp);
      x += scene.x(i);
      y += scene.y(i);
    });
    const int count = std::popcount(scene.athletes[k]);
    if (count > 0) {
      side_of[2] = along(x / static_cast<float>(count));
      side_of[3] = along(y / static_cast<float>(count));
    }
    side_of[4] = gap(scene.athletes[k], scene.base_x[1 - k], scene.base_y[1 - k]);
  }
  float* tasks = out + 27;
  for_bits(scene.athletes[0], [&](int i) {
    switch (s.cmd[i]) {
      case Cmd::get_flag:
        tasks[1] += 0.2F;
        break;
      case Cmd::attack:
        tasks[s.target[i] != kNone && (s.carrying >> s.target[i] & 1) != 0 ? 3 : 2] += 0.2F;
        break;
      case Cmd::escort_flag:
        tasks[4] += 0.2F;
        break;
      default:
        tasks[0] += 0.2F;
    }
    if (s.damaged_by[i] != kNone) tasks[5] += 0.2F;
    if (waiting(engine, s, i, kCdAttack) > 0.0F) tasks[6] += 0.2F;
  });
  float* meeting = out + 34;  // athletes of both sides near each other
  for_bits(scene.athletes[0], [&](int i) {
    const float d = gap(scene.athletes[1], scene.x(i), scene.y(i));
    if (d < 0.06F) meeting[0] += 0.2F;
    if (d < 0.2F) meeting[1] += 0.2F;
    if (own_has && i != holder) {
      const float h = gap(std::uint64_t{1} << holder, scene.x(i), scene.y(i));
      if (h < 0.12F) meeting[2] += 0.25F;
    }
  });
  for (int i = 0; i < s.revivals; ++i) {
    if (s.revival[i].owner != scene.seat) continue;
    out[37] += 0.2F;
    const int left = static_cast<int>(s.revival[i].tick) - static_cast<int>(s.tick);
    out[38] = std::max(out[38], static_cast<float>(left) / static_cast<float>(engine.revive.ticks));
  }
  const FlagActionSet useful = useful_flag_actions(scene.rules, s, scene.seat);
  for (int a = kGetFlag; a < kFlagActions; ++a) {
    out[38 + a] = (useful & flag_action_bit(a)) != 0 ? 1.0F : 0.0F;
  }
  out[43] = scene.seat == 0 || scene.rules.clean ? 0.0F : 1.0F;
}

std::vector<std::string> global_labels() {
  std::vector<std::string> v = {"own_score",
                                "enemy_score",
                                "tick_of_limit",
                                "flag_free",
                                "flag_own",
                                "flag_enemy",
                                "flag_seen",
                                "flag_x",
                                "flag_y",
                                "flag_to_own",
                                "flag_to_enemy",
                                "flag_to_own_base",
                                "flag_to_enemy_base",
                                "carrier_hp_ratio",
                                "carrier_was_hit",
                                "attacker_hp_ratio",
                                "attacker_to_carrier"};
  for (const char* who : {"own_", "seen_"}) {
    for (const char* what : {"athletes", "hp", "mean_x", "mean_y", "to_other_base"}) {
      v.push_back(std::string(who) + what);
    }
  }
  for (const char* name :
       {"idle", "fetching", "attacking", "attacking_carrier", "escorting", "were_hit", "cooling",
        "in_touch", "in_sight", "guards_near_carrier", "revivals", "revival_wait", "may_get_flag",
        "may_attack_flag", "may_escort_flag", "may_protect_flag", "seat"}) {
    v.emplace_back(name);
  }
  return v;
}

}  // namespace

std::vector<TensorSpec> ctf_tensors(const CtfRules& rules) {
  std::vector<std::string> planes(kFlagTypeNames.begin(), kFlagTypeNames.begin() + kFlagRuleTypes);
  for (const char* name : {"owner", "hp_ratio", "has_flag", "score_0", "score_1", "score_2",
                           "score_3", "score_more"}) {
    planes.emplace_back(name);
  }
  std::vector<TensorSpec> tensors = {
      cells_tensor(kFlagCellRows, kFlagCellCols, "rts_flag_cells", rules.engine.side,
                   "visible units, packed; the codec rts_flag_cells expands them to the 11 planes "
                   "of the ELF paper, float32[11, S, S] with S = scale",
                   std::move(planes)),
      units_tensor(kFlagUnitRows, kFlagUnitCols,
                   {"own",
                    "enemy",
                    "base",
                    "athlete",
                    "flag",
                    "x",
                    "y",
                    "hp_ratio",
                    "has_flag",
                    "from_own_base",
                    "from_enemy_base",
                    "cmd_idle",
                    "cmd_move",
                    "cmd_attack",
                    "cmd_get_flag",
                    "cmd_escort_flag",
                    "attack_cooldown",
                    "was_hit",
                    "attacks_carrier",
                    "build_cooldown"}),
      globals_tensor(
          kFlagGlobals, 1000,
          "the score, who has the flag, the seat's own side and what it sees, in numbers",
          global_labels())};
  if (rules.pixels > 0) tensors.push_back(pixels_tensor(rules.engine, rules.pixels));
  return tensors;
}

void observe_ctf(const CtfRules& rules, const State& state, int seat,
                 std::span<std::byte* const> tensors) {
  const Scene scene(rules, state, seat);
  std::array<std::uint16_t, kFlagCellRows * kFlagCellCols> cells;
  std::array<float, kFlagGlobals> globals;
  write_cells(scene, cells.data());
  write_globals(scene, globals.data());
  std::memcpy(tensors[0], cells.data(), sizeof cells);
  write_units(scene, reinterpret_cast<std::uint8_t*>(tensors[1]));
  std::memcpy(tensors[2], globals.data(), sizeof globals);
  if (rules.pixels == 0) return;
  auto* picture = reinterpret_cast<std::uint8_t*>(tensors[3]);
  write_pixels(rules.engine, state, seat, sight_of(rules.engine, state, seat), scene.seen, -1,
               rules.pixels, picture);
  if (!scene.mirrored) return;
  const auto width = static_cast<std::ptrdiff_t>(rules.engine.side) * rules.pixels;
  for (std::ptrdiff_t row = 0; row < 3 * width; ++row) {
    std::reverse(picture + row * width, picture + (row + 1) * width);
  }
}

}  // namespace ludus::rts
