#include "games/rts/moba/observe.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "games/rts/engine/cells.hpp"
#include "games/rts/engine/tensors.hpp"
#include "games/rts/moba/abilities.hpp"
#include "games/rts/moba/orders.hpp"

namespace ludus::rts {

namespace {

float part(float v, float whole) { return std::clamp(v / whole, 0.0F, 1.0F); }
float part(int v, int whole) { return part(static_cast<float>(v), static_cast<float>(whole)); }

// The part of a time that is still to wait.
float to_wait(std::uint32_t now, std::uint16_t until, int length) {
  if (until <= now || length <= 0) return 0.0F;
  return part(static_cast<int>(until) - static_cast<int>(now), length);
}

struct Writer {
  const MobaRules& rules;
  const MobaWorld& w;
  const Choices& c;
  const State& s = w.world;

  [[nodiscard]] float x(int i) const { return rules.seen(s, c.team, s.x[i]); }
  [[nodiscard]] float y(int i) const { return rules.seen(s, c.team, s.y[i]); }

  void kind(int type, std::uint8_t* out) const {
    out[0] = is_hero(type) ? 255 : 0;
    out[1] = type == kMeleeCreep ? 255 : 0;
    out[2] = type == kRangedCreep ? 255 : 0;
    out[3] = type == kLaneTower ? 255 : 0;
    out[4] = type == kAncient ? 255 : 0;
    if (is_hero(type)) out[5 + (type - kFirstHero) / kTiers] = 255;
  }

  // Where a unit is, and where from the own hero.
  void place(int i, std::uint8_t* out) const {
    const auto side = static_cast<float>(rules.engine.side);
    out[0] = unit_byte((x(i) + 0.5F) / side);
    out[1] = unit_byte((y(i) + 0.5F) / side);
    if (!c.hero.alive()) return;
    const float dx = x(i) - x(c.hero.slot);
    const float dy = y(i) - y(c.hero.slot);
    out[2] = unit_byte(0.5F + dx / 24.0F);
    out[3] = unit_byte(0.5F + dy / 24.0F);
    out[4] = unit_byte(std::sqrt(dx * dx + dy * dy) / 16.0F);
  }

  void strength(int i, std::uint8_t* out) const {
    const UnitType& t = rules.engine.type[s.type[i]];
    out[0] = unit_byte(hp_ratio(s.hp[i], max_hp_of(rules, w, i)));
    out[1] = unit_byte(part(static_cast<int>(s.hp[i]), 1000));
    out[2] = unit_byte(part(t.attack, 60));
    out[3] = unit_byte(part(t.attack_range, 8));
    out[4] = unit_byte(waiting(rules.engine, s, i, kCdAttack));
  }

  // A hero: level and tier are for all to see, mana and cooldowns for its team.
  void hero(const Hero& h, bool own, std::uint8_t* out) const {
    out[0] = unit_byte(part(static_cast<int>(h.level), kMaxLevel));
    out[1] = unit_byte(part(static_cast<int>(h.tier), kTiers - 1));
    out[2] = stunned(w, h) ? 255 : 0;
    out[3] = h.slowed_until > s.tick ? 255 : 0;
    if (!own) return;
    out[4] = unit_byte(part(static_cast<int>(h.mana), std::max(1, max_mana(rules, h))));
    for (std::size_t a = 0; a < kAbilities; ++a) {
      const AbilityRules& ability = ability_of(rules, h, static_cast<int>(a));
      out[5 + a] = unit_byte(to_wait(s.tick, h.ready[a], ability.cooldown));
    }
  }

  // Attacks and reach between a unit and the own hero.
  void relation(int i, bool own, std::uint8_t* out) const {
    const bool attacks = s.cmd[i] == Cmd::attack && s.target[i] != kNone;
    out[0] = attacks ? 255 : 0;
    if (!c.hero.alive()) return;
    const int me = c.hero.slot;
    if (attacks && s.target[i] == me) out[1] = 255;
    const UnitType& mine = rules.engine.type[s.type[me]];
    const UnitType& its = rules.engine.type[s.type[i]];
    const float d2 = distance2(s.x[me], s.y[me], s.x[i], s.y[i]);
    if (own) return;
    if (rules.engine.damage(s.type[me], s.type[i]) - its.defence >= s.hp[i]) out[2] = 255;
    if (rules.engine.reaches(mine, d2)) out[3] = 255;
    if (its.attack > 0 && rules.engine.reaches(its, d2)) out[4] = 255;
    if (c.hero.goal == Goal::attack && s.id[i] == c.hero.goal_id) out[5] = 255;
  }

  void unit(int i, std::uint8_t* out) const {
    const bool own = rules.engine.owner_of(i) == c.team;
    out[0] = own ? 255 : 0;
    out[1] = own ? 0 : 255;
    out[2] = c.hero.alive() && i == c.hero.slot ? 255 : 0;
    kind(s.type[i], out + 3);
    place(i, out + 11);
    strength(i, out + 16);
    if (is_hero(s.type[i])) {
      const int h = hero_of(rules, w, s.id[i]);
      if (h >= 0) hero(w.hero[static_cast<std::size_t>(h)], own, out + 21);
    }
    relation(i, own, out + 28);
    out[34] = own && s.damaged_by[i] != kNone ? 255 : 0;
    out[35] = s.speed[i] > 0.0F && s.cmd[i] == Cmd::move ? 255 : 0;
  }

  void units(std::uint8_t* out) const {
    std::fill_n(out, kMobaRows * kMobaCols, std::uint8_t{0});
    for (int row = 0; row < c.rows.rows; ++row) unit(c.slot_of_row(row), out + row * kMobaCols);
  }

  // The own hero.
  void own_hero(float* out) const {
    const Hero& h = c.hero;
    out[h.hero_class] = 1.0F;
    out[3 + c.seat % rules.heroes] = 1.0F;
    out[6] = part(static_cast<int>(h.level), kMaxLevel);
    out[7] = h.level == kMaxLevel ? 1.0F : part(h.xp, rules.to_next(h.level));
    out[8] = part(static_cast<int>(h.tier), kTiers - 1);
    out[9] = part(h.gold, 2000);
    out[10] = h.tier + 1 == kTiers ? 0.0F : part(h.gold, rules.tier_cost[h.tier]);
    out[11] = h.alive() ? 0.0F : 1.0F;
    out[12] = to_wait(s.tick, h.back_at, 500);
    out[13] = part(static_cast<int>(h.mana), std::max(1, max_mana(rules, h)));
    out[14] = stunned(w, h) ? 1.0F : 0.0F;
    out[15] = h.slowed_until > s.tick ? 1.0F : 0.0F;
    for (std::size_t a = 0; a < kAbilities; ++a) {
      const AbilityRules& ability = ability_of(rules, h, static_cast<int>(a));
      out[16 + a] = to_wait(s.tick, h.ready[a], ability.cooldown);
      out[18 + a] = can_cast(rules, w, h, static_cast<int>(a)) ? 1.0F : 0.0F;
    }
    out[20 + static_cast<int>(h.goal)] = 1.0F;
    if (!h.alive()) return;
    const auto side = static_cast<float>(rules.engine.side);
    out[24] = (x(h.slot) + 0.5F) / side;
    out[25] = (y(h.slot) + 0.5F) / side;
    out[26] = hp_ratio(s.hp[h.slot], max_hp(rules, h));
    out[27] = at_fountain(rules, w, c.seat) ? 1.0F : 0.0F;
    out[28] = waiting(rules.engine, s, h.slot, kCdAttack);
  }

  // The match: what the score shows to all, and the own side.
  void match(float* out) const {
    const auto limit = static_cast<float>(std::max(1U, rules.engine.tick_limit));
    out[0] = part(static_cast<float>(s.tick), limit);
    out[1] = rules.late.tick == 0 ? 1.0F : part(static_cast<int>(s.tick), rules.late.tick);
    const int since = static_cast<int>(s.tick) - rules.waves.first;
    out[2] = since < 0 ? 0.0F : part(since % rules.waves.every, rules.waves.every);
    for (int side = 0; side < kTeams; ++side) {
      const int team = side == 0 ? c.team : 1 - c.team;
      float* of = out + 3 + 4 * side;
      for (int n = 0; n < rules.heroes; ++n) {
        const Hero& h = w.hero[static_cast<std::size_t>(team * rules.heroes + n)];
        of[0] += h.alive() ? 1.0F / kMaxHeroes : 0.0F;
        of[1] += part(static_cast<int>(h.deaths), 20) / kMaxHeroes;
      }
      for_units(rules.engine, s, team, [&](int i) {
        if (s.type[i] == kLaneTower) of[2] += 1.0F / kTowers;
        if (s.type[i] == kAncient) of[3] = hp_ratio(s.hp[i], rules.engine.type[kAncient].hp);
      });
    }
    float worth = 0.0F;
    for (int n = 0; n < rules.heroes; ++n) {
      worth +=
          static_cast<float>(w.hero[static_cast<std::size_t>(c.team * rules.heroes + n)].worth());
    }
    out[11] = part(worth, 2000.0F * kMaxHeroes);
  }

  // The other heroes of the team, wherever they are.
  void mates(float* out) const {
    for (int n = 1, k = 0; n < rules.heroes; ++n, ++k) {
      const int seat = c.team * rules.heroes + (c.seat + n) % rules.heroes;
      const Hero& h = w.hero[static_cast<std::size_t>(seat)];
      float* of = out + 7 * k;
      of[h.hero_class] = 1.0F;
      of[3] = h.alive() ? 1.0F : 0.0F;
      of[4] = part(static_cast<int>(h.level), kMaxLevel);
      of[5] = part(h.gold, 2000);
      of[6] = to_wait(s.tick, h.back_at, 500);
    }
  }

  void globals(float* out) const {
    std::fill_n(out, kMobaGlobals, 0.0F);
    own_hero(out);
    match(out + 29);
    mates(out + 41);
    out[55] = static_cast<float>(rules.heroes) / kMaxHeroes;
  }
};

std::vector<std::string> global_labels() {
  std::vector<std::string> v = {"carry",
                                "tank",
                                "support",
                                "number_0",
                                "number_1",
                                "number_2",
                                "level_10",
                                "xp_to_next",
                                "tier_3",
                                "gold_2000",
                                "gold_to_tier",
                                "dead",
                                "respawn_500",
                                "mana_ratio",
                                "stunned",
                                "slowed",
                                "cooldown_1",
                                "cooldown_2",
                                "can_cast_1",
                                "can_cast_2",
                                "goal_none",
                                "goal_move",
                                "goal_attack",
                                "goal_home",
                                "x",
                                "y",
                                "hp_ratio",
                                "at_fountain",
                                "attack_cooldown",
                                "tick_of_limit",
                                "tick_of_late",
                                "wave_phase"};
  for (const char* side : {"own_", "enemy_"}) {
    for (const char* what : {"alive_3", "deaths_20", "towers_2", "ancient_hp"}) {
      v.push_back(std::string(side) + what);
    }
  }
  v.emplace_back("own_worth_6000");
  for (const char* mate : {"mate_1_", "mate_2_"}) {
    for (const char* what :
         {"carry", "tank", "support", "alive", "level_10", "gold_2000", "respawn_500"}) {
      v.push_back(std::string(mate) + what);
    }
  }
  v.emplace_back("heroes_3");
  return v;
}

}  // namespace

std::vector<TensorSpec> moba_tensors() {
  return {units_tensor(kMobaRows, kMobaCols, {"own",         "enemy",       "me",
                                              "hero",        "melee",       "ranged",
                                              "tower",       "ancient",     "carry",
                                              "tank",        "support",     "x",
                                              "y",           "dx",          "dy",
                                              "distance_16", "hp_ratio",    "hp_1000",
                                              "attack_60",   "range_8",     "attack_cooldown",
                                              "level_10",    "tier_3",      "stunned",
                                              "slowed",      "mana_ratio",  "cooldown_1",
                                              "cooldown_2",  "attacks",     "attacks_me",
                                              "one_blow",    "in_my_reach", "i_am_in_reach",
                                              "my_target",   "was_hit",     "moves"}),
          globals_tensor(kMobaGlobals, 1,
                         "the own hero, the match, and the other heroes of the team, in numbers",
                         global_labels())};
}

void observe_moba(const MobaRules& rules, const MobaWorld& w, int seat,
                  std::span<std::byte* const> tensors) {
  const Choices c(rules, w, seat, Choices::Moves::later);
  const Writer writer{rules, w, c};
  std::array<float, kMobaGlobals> globals;
  writer.units(reinterpret_cast<std::uint8_t*>(tensors[0]));
  writer.globals(globals.data());
  std::memcpy(tensors[1], globals.data(), sizeof globals);
}

}  // namespace ludus::rts
