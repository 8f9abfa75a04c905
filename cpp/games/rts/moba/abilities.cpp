#include "games/rts/moba/abilities.hpp"

#include <algorithm>
#include <span>

#include "games/rts/engine/tie_breaks.hpp"

namespace ludus::rts {

namespace {

// Puts the unit at a free place at once; false: it is taken.
bool jump(const MobaRules& rules, State& s, int slot, float x, float y) {
  if (!can_pass(rules.engine, s, x, y, slot)) return false;
  leave_buckets(s, slot, bucket_of(s.x[slot]), bucket_of(s.y[slot]));
  s.x[slot] = x;
  s.y[slot] = y;
  enter_buckets(s, slot, bucket_of(x), bucket_of(y));
  return true;
}

void slow_down(Hero& h, std::uint16_t until, int percent) {
  h.slowed_until = std::max(h.slowed_until, until);
  h.slow = static_cast<std::uint8_t>(std::max<int>(h.slow, percent));
}

void cast_at(const MobaRules& rules, MobaWorld& w, int seat, const AbilityRules& ability,
             int target, TickEvents& events) {
  Hero& h = w.hero[static_cast<std::size_t>(seat)];
  const int strength = ability.strength(h.level);
  if (ability.kind == AbilityKind::heal) {
    const int most = max_hp_of(rules, w, target);
    const int hp = std::max<int>(w.world.hp[target], std::min(most, w.world.hp[target] + strength));
    w.world.hp[target] = static_cast<std::int16_t>(hp);
    return;
  }
  const int whom = hero_of(rules, w, w.world.id[target]);
  if (whom >= 0 && ability.kind != AbilityKind::strike) {
    Hero& victim = w.hero[static_cast<std::size_t>(whom)];
    const std::uint16_t until = later(w.world, ability.ticks);
    if (ability.kind == AbilityKind::stun) {
      victim.stunned_until = std::max(victim.stunned_until, until);
    } else {
      slow_down(victim, until, ability.slow);
    }
  }
  if (strength > 0) events.strike(h.slot, target, strength);
}

void cast(const MobaRules& rules, MobaWorld& w, int seat, TickEvents& events) {
  Hero& h = w.hero[static_cast<std::size_t>(seat)];
  const int a = h.cast - 1;
  h.cast = 0;
  if (!can_cast(rules, w, h, a)) return;
  const AbilityRules& ability = ability_of(rules, h, a);
  State& s = w.world;
  const int team = rules.team_of(seat);
  if (ability.kind == AbilityKind::dash) {
    if (!jump(rules, s, h.slot, h.cast_x, h.cast_y)) return;
    h.goal = Goal::none;
  } else if (ability.kind == AbilityKind::around) {
    for_units(rules.engine, s, 1 - team, [&](int i) {
      const float d2 = distance2(s.x[h.slot], s.y[h.slot], s.x[i], s.y[i]);
      if (is_building(s.type[i]) || d2 > ability.range * ability.range) return;
      events.strike(h.slot, i, ability.strength(h.level));
    });
  } else {
    const int side = ability.kind == AbilityKind::heal ? team : 1 - team;
    const int target = slot_of(rules, s, side, h.cast_id);
    if (target == kNone || !may_target(rules, w, seat, ability, target)) return;
    cast_at(rules, w, seat, ability, target, events);
  }
  h.mana = static_cast<std::int16_t>(h.mana - ability.mana);
  h.ready[static_cast<std::size_t>(a)] = later(s, ability.cooldown);
}

}  // namespace

bool may_target(const MobaRules& rules, const MobaWorld& w, int seat, const AbilityRules& ability,
                int slot) {
  const State& s = w.world;
  const Hero& h = w.hero[static_cast<std::size_t>(seat)];
  const bool own = rules.engine.owner_of(slot) == rules.team_of(seat);
  const int type = s.type[slot];
  const float d2 = distance2(s.x[h.slot], s.y[h.slot], s.x[slot], s.y[slot]);
  if (d2 > ability.range * ability.range) return false;
  switch (ability.kind) {
    case AbilityKind::heal:
      return own && is_hero(type) && s.hp[slot] < max_hp_of(rules, w, slot);
    case AbilityKind::strike:
      return !own && !is_building(type);
    default:
      return !own && is_hero(type);
  }
}

void cast_all(const MobaRules& rules, MobaWorld& w, TickEvents& events) {
  const auto heroes = std::span(w.hero).first(static_cast<std::size_t>(rules.seats()));
  if (std::ranges::none_of(heroes, [](const Hero& h) { return h.cast != 0; })) return;
  // All cast at one moment: a stun of this tick does not stop what the stunned cast in it, and
  // dashes come last. Whose hero jumps to a place that both want is drawn, as commands are.
  const std::array<Hero, kTeams* kMaxHeroes> before = w.hero;
  const bool late = (late_slots(rules.engine, w.world) & 1) != 0;
  for (const bool dashes : {false, true}) {
    for (int k = 0; k < rules.seats(); ++k) {
      const int seat = late ? (k + rules.heroes) % rules.seats() : k;
      Hero& h = w.hero[static_cast<std::size_t>(seat)];
      if (h.cast == 0) continue;
      const AbilityRules& ability = ability_of(rules, h, h.cast - 1);
      if ((ability.kind == AbilityKind::dash) != dashes) continue;
      const std::uint16_t now = h.stunned_until;
      h.stunned_until = before[static_cast<std::size_t>(seat)].stunned_until;
      cast(rules, w, seat, events);
      h.stunned_until = std::max(now, h.stunned_until);
    }
  }
}

}  // namespace ludus::rts
