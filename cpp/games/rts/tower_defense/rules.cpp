#include "games/rts/tower_defense/rules.hpp"

#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/rule_overrides.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/tower_defense/builtin_rulebook.hpp"

namespace ludus::rts {

namespace {

constexpr std::uint32_t kBuiltTick = 1;  // the original's units appear in this tick

OverrideFields fields(TdRules& rules) {
  EngineRules& engine = rules.engine;
  OverrideFields f;
  for (int t = 0; t < kTowerTypes; ++t) {
    add_unit_fields(f, engine.type[t], kTowerTypeNames[t], kTowerTypeNames);
  }
  f.push_back(number_field("kill.reward", engine.kill_reward, 0, 10000));
  f.push_back(number_field("wave.ticks", rules.wave_ticks, 1, kMaxTickLimit));
  f.push_back(number_field("wave.growth", rules.wave_growth, 0, 25));
  f.push_back(number_field("wave.think", rules.wave_think, 1, 1000));
  f.push_back(number_field("start.money", rules.start_money, 0, 100000));
  add_engine_fields(f, engine);
  return f;
}

}  // namespace

std::vector<ParamSpec> td_params() {
  return {
      ParamSpec{"ruleset",
                ParamKind::text,
                "elf",
                0,
                0,
                {"elf", "clean"},
                "elf: the original with all its quirks; clean: the quirks mended"},
      ParamSpec{"tick_limit",
                ParamKind::integer,
                "3000",
                1,
                kMaxTickLimit,
                {},
                "the seat has won when its base stands after this tick"},
      ParamSpec{"hp_reward",
                ParamKind::real,
                "1",
                0,
                10,
                {},
                "reward of losing all of the base's hit points, times -1; beside the +1 or -1 of "
                "the end"},
      pixels_param(),
      commands_param(
          "what a decision is: strategic: where to build; tactical: that, and the target of all "
          "towers; units: one order to one tower or to the base"),
      ParamSpec{"rulebook",
                ParamKind::text,
                "",
                0,
                0,
                {},
                "lines key=value that override the built-in rulebook, such as tower.cost=40"},
  };
}

TdRules make_td_rules(const Params& params) {
  const std::vector<ParamSpec> declared = td_params();
  params.check("tower_defense", declared);
  TdRules rules;
  EngineRules& engine = rules.engine;
  engine.side = kMazeSide;
  engine.types = kTowerTypes;
  engine.base_type = kTowerBase;
  engine.terrain = true;
  engine.finish_building = false;
  engine.limit_winner = kDefender;
  engine.wave = {.type = kAttacker, .owner = kInvader, .x = 15, .y = 15, .columns = 5};
  engine.first_slot = {0, kDefenderSlots, kSlots, kSlots};
  engine.type[kTower].on_walls = true;
  apply_overrides(fields(rules), "tower_defense.rulebook", kTowerRulebook);
  apply_overrides(fields(rules), "tower_defense.rulebook", params.text("rulebook", declared));
  engine.tick_limit = static_cast<std::uint32_t>(params.integer("tick_limit", declared));
  rules.pixels = static_cast<int>(params.integer("pixels", declared));
  rules.commands = read_commands(params, declared);
  rules.hp_reward = static_cast<float>(params.real("hp_reward", declared));
  // The original compares the squared distance with the range, not with its square.
  const auto range = static_cast<float>(engine.type[kTower].attack_range);
  rules.notice2 = range;
  if (params.text("ruleset", declared) == "clean") {
    engine.quirks = clean_quirks();
    engine.quirks.seat_order = true;  // the seats play different games
    rules.notice2 = range * range;
    rules.first_decision = 0;
  }
  return rules;
}

void place_td_start(const TdRules& rules, State& state, Rng& rng) {
  const EngineRules& engine = rules.engine;
  clear_state(engine, state);
  state.wall = make_maze([&](int n) { return rng.below(static_cast<std::uint32_t>(n)); });
  constexpr auto kFar = static_cast<float>(kMazeSide - 1);
  add_unit(engine, state, kDefender, kTowerBase, 0.0F, 0.0F, kBuiltTick);
  add_unit(engine, state, kInvader, kTowerBase, kFar, kFar, kBuiltTick);
  state.money[kDefender] = rules.start_money;
}

}  // namespace ludus::rts
