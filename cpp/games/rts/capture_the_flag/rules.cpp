#include "games/rts/capture_the_flag/rules.hpp"

#include "games/rts/capture_the_flag/builtin_rulebook.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/rule_overrides.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

constexpr std::uint32_t kBuiltTick = 1;  // the original's units appear in this tick
constexpr int kTenths = 10;

OverrideFields fields(CtfRules& rules) {
  EngineRules& engine = rules.engine;
  const std::span types = std::span(kFlagTypeNames).first(kFlagRuleTypes);
  OverrideFields f;
  for (int t = 0; t < kFlagRuleTypes; ++t) {
    add_unit_fields(f, engine.type[t], kFlagTypeNames[t], types);
  }
  f.push_back(number_field("carry.reach_squared", engine.flag.reach2, 0.01, 4));
  f.push_back(number_field("carry.slows", engine.flag.slows, 1, 100));
  f.push_back(number_field("carry.to_win", engine.flag.to_win, 1, 100));
  f.push_back(number_field("revive.ticks", engine.revive.ticks, 1, 5000));
  add_engine_fields(f, engine);
  return f;
}

// Float arithmetic in the original's order: a handicap of 0 leaves every number as it is.
void set_handicap(EngineRules& engine, int handicap) {
  constexpr int kOne = 5;
  UnitType& t = engine.type[kHandicapped];
  t = engine.type[kAthlete];
  t.speed = t.speed * static_cast<float>(kOne + handicap) / static_cast<float>(kOne);
  t.attack = t.attack * (kOne + handicap) / kOne;
  t.hp = t.hp * (kOne + handicap) / kOne;
}

}  // namespace

std::vector<ParamSpec> ctf_params() {
  const auto text = [](const char* name, const char* value, std::vector<std::string> choices,
                       const char* meaning) {
    return ParamSpec{name, ParamKind::text, value, 0, 0, std::move(choices), meaning};
  };
  const auto number = [](const char* name, ParamKind kind, const char* value, double low,
                         double high, const char* meaning) {
    return ParamSpec{name, kind, value, low, high, {}, meaning};
  };
  return {
      text(
          "ruleset", "elf", {"elf", "clean"},
          "elf: the original with all its quirks; clean: the quirks mended, and both seats see and "
          "earn the same from their own side"),
      number("tick_limit", ParamKind::integer, "30000", 1, kMaxTickLimit,
             "the match ends without a winner in this tick"),
      number("handicap", ParamKind::integer, "0", -4, 5,
             "the athletes that seat 0 starts with are stronger and faster by this many fifths"),
      number("point_reward", ParamKind::real, "0.2", 0, 10,
             "reward of a point, beside the +1 or -1 of the end"),
      number("carry_reward", ParamKind::real, "0.01", 0, 1,
             "reward of every cell that the flag is carried towards the own base"),
      pixels_param(),
      commands_param(
          "what a decision is: strategic: one of five orders to the whole side; combined: any of "
          "them at once; tactical: a manoeuvre of a group; units: one order to one athlete",
          true),
      text("rulebook", "", {},
           "lines key=value that override the built-in rulebook, such as athlete.hp=120"),
  };
}

CtfRules make_ctf_rules(const Params& params) {
  const std::vector<ParamSpec> declared = ctf_params();
  params.check("capture_the_flag", declared);
  CtfRules rules;
  EngineRules& engine = rules.engine;
  engine.types = kFlagTypes;
  engine.base_type = kFlagBase;
  engine.flag.type = kFlag;
  engine.revive.types = 1U << kAthlete | 1U << kHandicapped;
  engine.revive.as = kAthlete;
  engine.finish_building = false;
  engine.first_slot = {0, 30, 60, kSlots};
  apply_overrides(fields(rules), "capture_the_flag.rulebook", kFlagRulebook);
  apply_overrides(fields(rules), "capture_the_flag.rulebook", params.text("rulebook", declared));
  const auto handicap = static_cast<int>(params.integer("handicap", declared));
  set_handicap(engine, handicap);
  rules.handicapped = handicap != 0;
  engine.tick_limit = static_cast<std::uint32_t>(params.integer("tick_limit", declared));
  rules.pixels = static_cast<int>(params.integer("pixels", declared));
  rules.commands = read_commands(params, declared);
  rules.point_reward = static_cast<float>(params.real("point_reward", declared));
  rules.carry_reward = static_cast<float>(params.real("carry_reward", declared));
  if (params.text("ruleset", declared) == "clean") {
    rules.clean = true;
    engine.quirks = clean_quirks();
    engine.flag.home_x = 9.5F;  // as far from either base
    rules.first_decision = 0;
  }
  return rules;
}

void place_ctf_start(const CtfRules& rules, State& state, Rng& rng) {
  const EngineRules& engine = rules.engine;
  clear_state(engine, state);
  draw_turn(engine, state, rng);
  const auto put = [&](int owner, int type, float x, float y) {
    add_unit(engine, state, owner, type, x, y, kBuiltTick);
  };
  put(kFlagOwner, kFlag, 9.5F, 9.5F);
  put(0, kFlagBase, base_column(state, 0), 9.5F);
  put(1, kFlagBase, base_column(state, 1), 9.5F);
  // Five columns at the own edge; the rows leave two in the middle free.
  std::array<int, kAthletes> row{};
  for (int seat = 0; seat < kFlagSeats; ++seat) {
    for (int i = 0; i < kAthletes; ++i) {
      if (!rules.clean || seat == 0) {
        row[i] = static_cast<int>(rng.below(2)) * (kTenths + 1);
        row[i] += static_cast<int>(rng.below(kTenths - 1));
      }
      const bool left = (seat == 0) != state.turned;
      const int column = left ? i : (rules.clean ? engine.side - 1 - i : 15 + i);
      const bool changed = seat == 0 && rules.handicapped;
      put(seat, changed ? kHandicapped : kAthlete, static_cast<float>(column),
          static_cast<float>(row[i]));
    }
  }
  deal_flag_rows(rules, state, rng);
}

}  // namespace ludus::rts
