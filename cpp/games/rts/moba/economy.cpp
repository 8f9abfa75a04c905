#include "games/rts/moba/economy.hpp"

#include <algorithm>

namespace ludus::rts {

namespace {

// Calls f(seat) for the heroes of a team.
template <class F>
void for_team(const MobaRules& rules, int team, F&& f) {
  for (int n = 0; n < rules.heroes; ++n) f(team * rules.heroes + n);
}

Hero& hero_at(MobaWorld& w, int seat) { return w.hero[static_cast<std::size_t>(seat)]; }

// Splits experience among the living enemies of who fell, as far as they are near.
void share_xp(const MobaRules& rules, MobaWorld& w, const Fall& fall, int amount) {
  const float reach2 = rules.xp.radius * rules.xp.radius;
  const int team = 1 - fall.owner;
  const auto near = [&](int seat) {
    const Hero& h = hero_at(w, seat);
    return h.alive() && distance2(w.world.x[h.slot], w.world.y[h.slot], fall.x, fall.y) <= reach2;
  };
  int sharers = 0;
  for_team(rules, team, [&](int seat) { sharers += near(seat) ? 1 : 0; });
  if (sharers == 0) return;
  for_team(rules, team, [&](int seat) {
    if (near(seat)) give_xp(rules, w, seat, amount / sharers);
  });
}

// A hero fell: the bounty to the killer, a part of it to who helped.
void settle_hero(const MobaRules& rules, MobaWorld& w, const Fall& fall, int victim, int killer) {
  Hero& dead = hero_at(w, victim);
  const MobaRewards& r = rules.reward;
  ++dead.deaths;
  dead.slot = kNone;
  dead.back_at = later(w.world, rules.respawn_ticks(dead.level));
  dead.goal = Goal::none;
  dead.cast = 0;
  dead.stunned_until = dead.slowed_until = dead.hit_hero_until = 0;
  dead.slow = 0;
  earn(w, victim, r.death);
  const int bounty = rules.gold.kill + rules.gold.kill_level * (dead.level - 1);
  if (killer >= 0) {
    ++hero_at(w, killer).kills;
    give_gold(rules, w, killer, bounty);
    earn(w, killer, r.kill);
  }
  int helpers = 0;
  const auto helped = [&](int seat) {
    const auto n = static_cast<std::size_t>(seat % rules.heroes);
    return seat != killer && dead.hurt_by_until[n] >= w.world.tick;
  };
  for_team(rules, 1 - fall.owner, [&](int seat) { helpers += helped(seat) ? 1 : 0; });
  for_team(rules, 1 - fall.owner, [&](int seat) {
    if (!helped(seat)) return;
    ++hero_at(w, seat).helps;
    give_gold(rules, w, seat, bounty * rules.gold.helpers / 100 / helpers);
  });
  dead.hurt_by_until.fill(0);
  share_xp(rules, w, fall, rules.xp.kill + rules.xp.kill_level * (dead.level - 1));
}

void settle_creep(const MobaRules& rules, MobaWorld& w, const Fall& fall, int killer) {
  const bool melee = fall.type == kMeleeCreep;
  if (killer >= 0) {
    ++hero_at(w, killer).last_hits;
    give_gold(rules, w, killer, melee ? rules.gold.creep : rules.gold.ranged);
    earn(w, killer, rules.reward.last_hit);
  }
  share_xp(rules, w, fall, melee ? rules.xp.creep : rules.xp.ranged);
}

// The reward of a building of the type; two thirds come with its hit points.
float worth_of(const MobaRules& rules, int type) {
  return type == kAncient ? rules.reward.ancient : rules.reward.tower;
}

void settle_building(const MobaRules& rules, MobaWorld& w, const Fall& fall) {
  for_team(rules, 1 - fall.owner, [&](int seat) {
    if (fall.type == kLaneTower) give_gold(rules, w, seat, rules.gold.tower);
    earn(w, seat, worth_of(rules, fall.type) / 3.0F);
  });
}

void note_wounds(const MobaRules& rules, MobaWorld& w, const TickEvents& events) {
  for (int k = 0; k < events.wounds; ++k) {
    const Wound& wound = events.wound[static_cast<std::size_t>(k)];
    if (is_building(wound.type)) {
      const auto whole = static_cast<float>(rules.engine.type[wound.type].hp);
      const float share = static_cast<float>(wound.loss) / whole;
      for_team(rules, 1 - wound.owner,
               [&](int seat) { earn(w, seat, worth_of(rules, wound.type) * share * 2.0F / 3.0F); });
    }
    if (!is_hero(wound.type) || wound.by < 0) continue;
    const int by = hero_of(rules, w, wound.by);
    const int victim = hero_of(rules, w, wound.victim);
    if (by < 0 || victim < 0) continue;
    hero_at(w, by).hit_hero_until = later(w.world, rules.aggro);
    hero_at(w, victim).hurt_by_until[static_cast<std::size_t>(by % rules.heroes)] =
        later(w.world, rules.gold.help_ticks);
  }
}

// Tiers that the hero can pay, at the fountain.
void shop(const MobaRules& rules, MobaWorld& w, Hero& h) {
  while (h.tier + 1 < kTiers && h.gold >= rules.tier_cost[h.tier]) {
    const int before = max_hp(rules, h);
    h.gold -= rules.tier_cost[h.tier];
    h.spent += rules.tier_cost[h.tier];
    ++h.tier;
    w.world.type[h.slot] = static_cast<std::uint8_t>(hero_type(h.hero_class, h.tier));
    w.world.hp[h.slot] = static_cast<std::int16_t>(w.world.hp[h.slot] + max_hp(rules, h) - before);
  }
}

}  // namespace

int max_hp_of(const MobaRules& rules, const MobaWorld& w, int slot) {
  const int type = w.world.type[slot];
  if (is_hero(type)) {
    const int h = hero_of(rules, w, w.world.id[slot]);
    if (h >= 0) return max_hp(rules, w.hero[static_cast<std::size_t>(h)]);
  }
  return rules.engine.type[static_cast<std::size_t>(type)].hp;
}

void earn(MobaWorld& w, int seat, float amount) {
  w.earned[static_cast<std::size_t>(seat)] += amount;
}

void give_gold(const MobaRules& rules, MobaWorld& w, int seat, int amount) {
  Hero& h = hero_at(w, seat);
  h.gold = std::min(h.gold + amount, 1000000);
  earn(w, seat, rules.reward.gold * static_cast<float>(amount));
}

void give_xp(const MobaRules& rules, MobaWorld& w, int seat, int amount) {
  Hero& h = hero_at(w, seat);
  if (h.level == kMaxLevel) return;
  h.xp += amount;
  earn(w, seat, rules.reward.xp * static_cast<float>(amount));
  while (h.level < kMaxLevel && h.xp >= rules.to_next(h.level)) {
    h.xp -= rules.to_next(h.level);
    const int hp = max_hp(rules, h);
    const int mana = max_mana(rules, h);
    ++h.level;
    h.mana = static_cast<std::int16_t>(h.mana + max_mana(rules, h) - mana);
    if (h.alive()) {
      w.world.hp[h.slot] = static_cast<std::int16_t>(w.world.hp[h.slot] + max_hp(rules, h) - hp);
    }
  }
  if (h.level == kMaxLevel) h.xp = 0;
}

void settle(const MobaRules& rules, MobaWorld& w, const TickEvents& events) {
  // Who killed or hurt may have died in the same tick: numbers are looked up before the dead go.
  note_wounds(rules, w, events);
  if (events.falls == 0) return;
  std::array<std::int8_t, kSlots> killer{};
  std::array<std::int8_t, kSlots> victim{};
  const auto falls = static_cast<std::size_t>(events.falls);
  for (std::size_t k = 0; k < falls; ++k) {
    const Fall& fall = events.fall[k];
    killer[k] = static_cast<std::int8_t>(fall.killer < 0 ? -1 : hero_of(rules, w, fall.killer));
    victim[k] = static_cast<std::int8_t>(is_hero(fall.type) ? hero_of(rules, w, fall.victim) : -1);
  }
  for (std::size_t k = 0; k < falls; ++k) {
    if (victim[k] >= 0) hero_at(w, victim[k]).slot = kNone;
  }
  find_slots(rules, w);
  for (std::size_t k = 0; k < falls; ++k) {
    const Fall& fall = events.fall[k];
    if (victim[k] >= 0) {
      settle_hero(rules, w, fall, victim[k], killer[k]);
    } else if (is_creep(fall.type)) {
      settle_creep(rules, w, fall, killer[k]);
    } else {
      settle_building(rules, w, fall);
    }
  }
}

void upkeep(const MobaRules& rules, MobaWorld& w) {
  State& s = w.world;
  const bool pays = s.tick % static_cast<unsigned>(rules.gold.passive_every) == 0;
  const bool regenerates = s.tick % static_cast<unsigned>(rules.regen.every) == 0;
  for (int seat = 0; seat < rules.seats(); ++seat) {
    Hero& h = hero_at(w, seat);
    if (pays) give_gold(rules, w, seat, rules.gold.passive);
    if (!h.alive()) continue;
    const bool pays_tier = h.tier + 1 < kTiers && h.gold >= rules.tier_cost[h.tier];
    if (!regenerates && !pays_tier) continue;
    const bool home = at_fountain(rules, w, seat);
    if (home) shop(rules, w, h);
    if (!regenerates) continue;
    const ClassRules& c = rules.hero[h.hero_class];
    const int hp = s.hp[h.slot] + c.regen_hp + (home ? rules.fountain.hp : 0);
    const int mana = h.mana + c.regen_mana + (home ? rules.fountain.mana : 0);
    s.hp[h.slot] = static_cast<std::int16_t>(std::min(hp, max_hp(rules, h)));
    h.mana = static_cast<std::int16_t>(std::min(mana, max_mana(rules, h)));
  }
  const auto late = static_cast<std::uint32_t>(rules.late.tick);
  if (s.tick < late || (s.tick - late) % static_cast<unsigned>(rules.late.every) != 0) return;
  for (int team = 0; team < kTeams; ++team) {
    for_units(rules.engine, s, team, [&](int i) {
      if (!is_building(s.type[i])) return;
      s.hp[i] =
          static_cast<std::int16_t>(std::max(std::min<int>(s.hp[i], 1), s.hp[i] - rules.late.loss));
    });
  }
}

}  // namespace ludus::rts
