#include "games/rts/minirts/rules.hpp"

#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/rule_overrides.hpp"
#include "games/rts/minirts/builtin_rulebook.hpp"

namespace ludus::rts {

namespace {

OverrideFields fields(MiniRules& rules) {
  EngineRules& engine = rules.engine;
  OverrideFields f;
  for (int t = 0; t < kMiniTypes; ++t) {
    const std::string name = kMiniTypeNames[t];
    add_unit_fields(f, engine.type[t], name, kMiniTypeNames, kEconomyCmds);
    if (t == kResource || t == kBase) continue;
    f.push_back(number_field("start." + name + ".tries", rules.start_tries[t], 0, 8));
    f.push_back(number_field("start." + name + ".tenths", rules.start_tenths[t], 0, 10));
  }
  add_engine_fields(f, engine);
  f.push_back(number_field("gather.amount", engine.gather_amount, 1, 10000));
  return f;
}

}  // namespace

void apply_rulebook(MiniRules& rules, const std::string& text) {
  apply_overrides(fields(rules), "minirts.rulebook", text);
}

std::string print_rulebook(const MiniRules& rules) {
  MiniRules copy = rules;
  return print_overrides(fields(copy));
}

std::vector<ParamSpec> mini_params() {
  const auto text = [](const char* name, const char* value, std::vector<std::string> choices,
                       const char* meaning) {
    return ParamSpec{name, ParamKind::text, value, 0, 0, std::move(choices), meaning};
  };
  const auto integer = [](const char* name, const char* value, double low, double high,
                          const char* meaning) {
    return ParamSpec{name, ParamKind::integer, value, low, high, {}, meaning};
  };
  return {
      text("ruleset", "elf", {"elf", "clean"},
           "elf: the original with all its quirks; clean: the quirks mended"),
      integer("map_size", "20", 10, kMaxSide, "cells along a side of the square map"),
      integer("start_resource", "200", 0, 100000, "money of each seat at the start"),
      integer("tick_limit", "30000", 1, kMaxTickLimit,
              "the match ends without a winner in this tick"),
      text("start_units", "random", {"random", "symmetric", "none"},
           "extra units at the start: random: each seat draws its own, as in the original; "
           "symmetric: both seats the same, mirrored; none: a base and its resource"),
      text(
          "fog", "on", {"on", "off"},
          "on: a seat observes what its own units see; off: it observes the whole map, while rules "
          "and bots stay the same"),
      pixels_param(),
      commands_param(
          "what a decision is: strategic: one of nine orders to the whole side; combined: any of "
          "them at once; tactical: a purchase or a manoeuvre of a group; units: one order to one "
          "unit",
          true),
      integer(
          "repeat_orders", "0", 0, 1000,
          "with combined commands: a decision's manoeuvres are ordered again every so many ticks "
          "until the next one; 0: once"),
      text("rulebook", "", {},
           "lines key=value that override the built-in rulebook, such as worker.cost=40"),
  };
}

MiniRules make_mini_rules(const Params& params) {
  const std::vector<ParamSpec> declared = mini_params();
  params.check("minirts", declared);
  MiniRules rules;
  EngineRules& engine = rules.engine;
  engine.types = kMiniTypes;
  engine.base_type = kBase;
  apply_rulebook(rules, kMiniRulebook);
  apply_rulebook(rules, params.text("rulebook", declared));
  engine.side = static_cast<int>(params.integer("map_size", declared));
  engine.tick_limit = static_cast<std::uint32_t>(params.integer("tick_limit", declared));
  rules.start_money = static_cast<int>(params.integer("start_resource", declared));
  rules.repeat_orders = static_cast<std::uint32_t>(params.integer("repeat_orders", declared));
  rules.pixels = static_cast<int>(params.integer("pixels", declared));
  rules.fog = params.text("fog", declared) == "on";
  const std::string start = params.text("start_units", declared);
  rules.start_units = start == "none"        ? StartUnits::none
                      : start == "symmetric" ? StartUnits::symmetric
                                             : StartUnits::random;
  rules.commands = read_commands(params, declared);
  if (params.text("ruleset", declared) == "clean") {
    engine.quirks = clean_quirks();
    rules.first_decision = 0;
  }
  return rules;
}

}  // namespace ludus::rts
