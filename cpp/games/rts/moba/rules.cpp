#include "games/rts/moba/rules.hpp"

#include <algorithm>
#include <charconv>

#include "base/names.hpp"
#include "base/whole.hpp"
#include "games/rts/engine/rule_overrides.hpp"
#include "games/rts/moba/builtin_rulebook.hpp"

namespace ludus::rts {

namespace {

constexpr const char* kBookName = "moba.rulebook";
constexpr int kMaxHp = 20000;
constexpr int kMaxTicks = kMaxTickLimit;

// The numbers of creeps, towers and heroes that the engine plays by.
void add_fighter(OverrideFields& f, UnitType& t, const std::string& p, bool moves) {
  f.push_back(number_field(p + "defence", t.defence, 0, 1000));
  f.push_back(number_field(p + "range", t.attack_range, 1, 12));
  f.push_back(number_field(p + "cooldown", t.cooldown[kCdAttack], 1, kMaxTicks));
  f.push_back(number_field(p + "vision", t.vision, 1, 31));
  if (moves) f.push_back(number_field(p + "speed", t.speed, 0, 0.5));
}

void add_ability(OverrideFields& f, AbilityRules& a, const std::string& p) {
  f.push_back(
      choice_field(p + "kind", a.kind_number, {kAbilityNames.begin(), kAbilityNames.end()}));
  f.push_back(number_field(p + "mana", a.mana, 0, 10000));
  f.push_back(number_field(p + "cooldown", a.cooldown, 1, 10000));
  f.push_back(number_field(p + "range", a.range, 0, 12));
  f.push_back(number_field(p + "power", a.power, 0, 3000));
  f.push_back(number_field(p + "power_level", a.power_level, 0, 300));
  f.push_back(number_field(p + "ticks", a.ticks, 0, 1000));
  f.push_back(number_field(p + "slow", a.slow, 0, 100));
}

void add_class(OverrideFields& f, MobaRules& rules, int c) {
  ClassRules& h = rules.hero[static_cast<std::size_t>(c)];
  const std::string p = std::string("hero.") + kClassNames[static_cast<std::size_t>(c)] + ".";
  f.push_back(number_field(p + "hp", h.hp, 1, kMaxHp / 4));
  f.push_back(number_field(p + "hp_level", h.hp_level, 0, 1000));
  f.push_back(number_field(p + "hp_tier", h.hp_tier, 0, 1000));
  f.push_back(number_field(p + "mana", h.mana, 0, 10000));
  f.push_back(number_field(p + "mana_level", h.mana_level, 0, 1000));
  f.push_back(number_field(p + "regen_hp", h.regen_hp, 0, 1000));
  f.push_back(number_field(p + "regen_mana", h.regen_mana, 0, 1000));
  f.push_back(number_field(p + "attack", h.attack, 0, 3000));
  f.push_back(number_field(p + "attack_tier", h.attack_tier, 0, 3000));
  add_fighter(f, rules.engine.type[static_cast<std::size_t>(hero_type(c, 0))], p, true);
  for (std::size_t a = 0; a < kAbilities; ++a) {
    add_ability(f, h.ability[a], p + "ability_" + std::to_string(a + 1) + ".");
  }
}

void add_units(OverrideFields& f, MobaRules& rules) {
  constexpr std::array<const char*, kFirstHero> kNames = {"ancient", "tower", "melee", "ranged"};
  for (int t = 0; t < kFirstHero; ++t) {
    UnitType& type = rules.engine.type[static_cast<std::size_t>(t)];
    const std::string p = std::string(kNames[static_cast<std::size_t>(t)]) + ".";
    f.push_back(number_field(p + "hp", type.hp, 1, kMaxHp));
    if (t == kAncient) {
      f.push_back(number_field(p + "defence", type.defence, 0, 1000));
      f.push_back(number_field(p + "vision", type.vision, 1, 31));
      continue;
    }
    f.push_back(number_field(p + "attack", type.attack, 0, 3000));
    add_fighter(f, type, p, t != kLaneTower);
  }
}

// The costs of the tiers, joined by commas.
OverrideField costs_field(std::string key, std::array<std::int32_t, kTiers - 1>& target) {
  return {std::move(key),
          "three integers in [1, 100000]",
          [&target](std::string_view text) {
            std::array<std::int32_t, kTiers - 1> read{};
            for (std::size_t i = 0; i < read.size(); ++i) {
              const std::string_view one = text.substr(0, text.find(','));
              if (!parse_whole(one, read[i])) return false;
              if (read[i] < 1 || read[i] > 100000) return false;
              text.remove_prefix(one.size());
              const bool last = i + 1 == read.size();
              if (text.empty() != last) return false;
              if (!last) text.remove_prefix(1);
            }
            target = read;
            return true;
          },
          [&target] {
            std::string text;
            for (const std::int32_t c : target) text += (text.empty() ? "" : ",") + number_text(c);
            return text;
          },
          {},
          "array"};
}

void add_economy(OverrideFields& f, MobaRules& r) {
  const auto whole = [&](const char* key, std::int32_t& target, double low, double high) {
    f.push_back(number_field(key, target, low, high));
  };
  whole("waves.first", r.waves.first, 0, kMaxTicks);
  whole("waves.every", r.waves.every, 1, kMaxTicks);
  whole("waves.melee", r.waves.melee, 0, 12);
  whole("waves.ranged", r.waves.ranged, 0, 12);
  whole("waves.grow_every", r.waves.grow_every, 0, kMaxTicks);
  whole("waves.fallen", r.waves.fallen, 0, 12);
  whole("late.tick", r.late.tick, 0, kMaxTicks);
  whole("late.every", r.late.every, 1, kMaxTicks);
  whole("late.loss", r.late.loss, 0, 1000);
  whole("late.creeps", r.late.creeps, 0, 12);
  whole("late.rush", r.late.rush, 0, kMaxTicks);
  whole("siege.creep", r.siege.creep, 1, 1000);
  whole("siege.hero", r.siege.hero, 1, 1000);
  whole("gold.creep", r.gold.creep, 0, 10000);
  whole("gold.ranged", r.gold.ranged, 0, 10000);
  whole("gold.kill", r.gold.kill, 0, 10000);
  whole("gold.kill_level", r.gold.kill_level, 0, 10000);
  whole("gold.helpers", r.gold.helpers, 0, 1000);
  whole("gold.help_ticks", r.gold.help_ticks, 0, 10000);
  whole("gold.tower", r.gold.tower, 0, 10000);
  whole("gold.passive", r.gold.passive, 0, 1000);
  whole("gold.passive_every", r.gold.passive_every, 1, kMaxTicks);
  f.push_back(number_field("xp.radius", r.xp.radius, 0, 45));
  whole("xp.creep", r.xp.creep, 0, 10000);
  whole("xp.ranged", r.xp.ranged, 0, 10000);
  whole("xp.kill", r.xp.kill, 0, 10000);
  whole("xp.kill_level", r.xp.kill_level, 0, 10000);
  whole("xp.first", r.xp.first, 1, 100000);
  whole("xp.grow", r.xp.grow, 0, 100000);
  whole("respawn.base", r.respawn.base, 1, 10000);
  whole("respawn.level", r.respawn.level, 0, 1000);
  whole("regen.every", r.regen.every, 1, 10000);
  f.push_back(number_field("fountain.radius", r.fountain.radius, 0, 10));
  whole("fountain.hp", r.fountain.hp, 0, 10000);
  whole("fountain.mana", r.fountain.mana, 0, 10000);
  f.push_back(costs_field("tiers.costs", r.tier_cost));
}

void add_rewards(OverrideFields& f, MobaRewards& r) {
  const auto real = [&](const char* key, float& target) {
    f.push_back(number_field(key, target, -1000, 1000));
  };
  real("reward.win", r.win);
  real("reward.loss", r.loss);
  real("reward.gold", r.gold);
  real("reward.xp", r.xp);
  real("reward.hp", r.hp);
  real("reward.mana", r.mana);
  real("reward.kill", r.kill);
  real("reward.death", r.death);
  real("reward.last_hit", r.last_hit);
  real("reward.tower", r.tower);
  real("reward.ancient", r.ancient);
  f.push_back(number_field("reward.decay", r.decay, 0, 1));
  f.push_back(number_field("reward.decay_ticks", r.decay_ticks, 1, kMaxTicks));
}

OverrideFields fields(MobaRules& r) {
  OverrideFields f;
  f.push_back(number_field("lane.half_width", r.half_width, 3, 15));
  f.push_back(number_field("lane.notice", r.notice, 1, 20));
  f.push_back(number_field("lane.think", r.think, 1, 100));
  f.push_back(number_field("lane.aggro", r.aggro, 0, 1000));
  add_economy(f, r);
  f.push_back(number_field("start.level", r.start_level.low, 1, kMaxLevel));
  f.push_back(number_field("start.gold", r.start_gold.low, 0, 10000));
  f.push_back(number_field("start.line_up", r.line_up.low, 0, kLineUps - 1));
  add_rewards(f, r.reward);
  add_units(f, r);
  for (int c = 0; c < kClasses; ++c) add_class(f, r, c);
  f.push_back(number_field("bullet.speed", r.engine.bullet_speed, 0.01, 4));
  f.push_back(number_field("bullet.hit_distance", r.engine.bullet_hit, 0.01, 2));
  return f;
}

// Lines key=low,high of the numbers that a match draws.
void read_drawn(MobaRules& rules, const std::string& text) {
  struct May {
    const char* key;
    Drawn3* target;
    int low, high;
  };
  const std::array<May, 3> may = {{{"start.level", &rules.start_level, 1, kMaxLevel},
                                   {"start.gold", &rules.start_gold, 0, 10000},
                                   {"start.line_up", &rules.line_up, 0, kLineUps - 1}}};
  std::vector<std::string> valid;
  for (const May& m : may) valid.emplace_back(m.key);
  OverrideMistakes mistakes;
  for (const OverrideLine& line : override_lines("moba.randomise", text)) {
    const std::string place = "moba.randomise line " + std::to_string(line.number) + ": ";
    const auto it = std::ranges::find(may, line.key, &May::key);
    if (it == may.end()) {
      mistakes.add(place + "unknown key " + quoted_text(line.key) + did_you_mean(line.key, valid));
      continue;
    }
    Drawn3 d;
    const char* end = line.value.data() + line.value.size();
    const auto low = std::from_chars(line.value.data(), end, d.low);
    const bool comma = low.ec == std::errc() && low.ptr != end && *low.ptr == ',';
    const auto high = comma ? std::from_chars(low.ptr + 1, end, d.high) : low;
    if (!comma || high.ec != std::errc() || high.ptr != end || d.low < it->low || d.low > d.high ||
        d.high > it->high) {
      mistakes.add(place + it->key + " = " + quoted_text(line.value) +
                   ": expected two integers low,high with low <= high, in [" +
                   std::to_string(it->low) + ", " + std::to_string(it->high) + "]");
      continue;
    }
    *it->target = d;
  }
  mistakes.finish();
}

// Completes the rules by their numbers: the types of the tiers, and damage to buildings.
void compile(MobaRules& rules) {
  EngineRules& e = rules.engine;
  for (int c = 0; c < kClasses; ++c) {
    ClassRules& h = rules.hero[static_cast<std::size_t>(c)];
    for (AbilityRules& a : h.ability) a.kind = static_cast<AbilityKind>(a.kind_number);
    for (int tier = 0; tier < kTiers; ++tier) {
      UnitType& t = e.type[static_cast<std::size_t>(hero_type(c, tier))];
      t = e.type[static_cast<std::size_t>(hero_type(c, 0))];
      t.hp = h.hp + h.hp_tier * tier;
      t.attack = h.attack + h.attack_tier * tier;
    }
  }
  for (int t = kMeleeCreep; t < kMobaTypes; ++t) {
    const int percent = is_hero(t) ? rules.siege.hero : rules.siege.creep;
    for (const int b : {kAncient, kLaneTower}) {
      e.attacks.percent[static_cast<std::size_t>(t)][static_cast<std::size_t>(b)] =
          static_cast<std::uint16_t>(percent);
    }
  }
  // Only the game gives orders, and no unit strikes back by itself.
  for (UnitType& t : e.type) t.accepts = 0;
}

}  // namespace

float MobaRules::decayed(std::uint32_t tick) const {
  const auto length = static_cast<std::uint32_t>(reward.decay_ticks);
  float factor = 1.0F;
  for (std::uint32_t k = tick / length; k > 0 && factor > 1.0e-6F; --k) factor *= reward.decay;
  const float part = static_cast<float>(tick % length) / static_cast<float>(length);
  return factor * (1.0F - part * (1.0F - reward.decay));
}

std::vector<ParamSpec> moba_params() {
  return {
      {"heroes", ParamKind::integer, "3", 1, kMaxHeroes, {}, "heroes of a team, a seat each"},
      {"tick_limit",
       ParamKind::integer,
       "12000",
       1,
       kMaxTickLimit,
       {},
       "when this tick is over, the team has won whose buildings have more hit points, then the "
       "one "
       "of more net worth"},
      {"rulebook",
       ParamKind::text,
       "",
       0,
       0,
       {},
       "lines key=value that override the built-in rulebook, such as tower.hp=300; or the path of "
       "a "
       "TOML file"},
      {"randomise",
       ParamKind::text,
       "",
       0,
       0,
       {},
       "what every match draws, for both teams alike: lines key=low,high of start.level, "
       "start.gold "
       "and start.line_up"},
  };
}

MobaRules make_moba_rules(const Params& params) {
  const std::vector<ParamSpec> declared = moba_params();
  params.check("moba", declared);
  MobaRules rules;
  EngineRules& e = rules.engine;
  e.side = kMaxSide;
  e.types = kMobaTypes;
  e.base_type = kAncient;
  e.terrain = true;
  e.finish_building = false;
  e.quirks = clean_quirks();
  rules.heroes = static_cast<int>(params.integer("heroes", declared));
  e.tick_limit = static_cast<std::uint32_t>(params.integer("tick_limit", declared));
  const OverrideFields f = fields(rules);
  apply_overrides(f, kBookName, kMobaRulebook);
  apply_overrides(f, kBookName, params.text("rulebook", declared));
  rules.start_level.high = rules.start_level.low;
  rules.start_gold.high = rules.start_gold.low;
  rules.line_up.high = rules.line_up.low;
  read_drawn(rules, params.text("randomise", declared));
  compile(rules);
  return rules;
}

std::string print_moba_rules(const MobaRules& rules) {
  MobaRules copy = rules;
  return print_overrides(fields(copy));
}

std::string moba_schema() {
  MobaRules rules;
  return override_schema(fields(rules), "Rulebook of the game moba");
}

}  // namespace ludus::rts
