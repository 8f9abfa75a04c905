// Abilities as data: what each kind needs, and what casting does.
#pragma once

#include "games/rts/moba/world.hpp"

namespace ludus::rts {

[[nodiscard]] inline const AbilityRules& ability_of(const MobaRules& rules, const Hero& h, int a) {
  return rules.hero[h.hero_class].ability[static_cast<std::size_t>(a)];
}

// Whether the hero can cast it at all now: alive, not stunned, with the mana, and rested.
[[nodiscard]] inline bool can_cast(const MobaRules& rules, const MobaWorld& w, const Hero& h,
                                   int a) {
  const AbilityRules& ability = ability_of(rules, h, a);
  return h.alive() && !stunned(w, h) && h.mana >= ability.mana &&
         h.ready[static_cast<std::size_t>(a)] <= w.world.tick;
}

// Whether an ability of the kind is cast at a unit. `around` needs nothing, `dash` a place.
[[nodiscard]] constexpr bool at_unit(AbilityKind kind) {
  return kind != AbilityKind::around && kind != AbilityKind::dash;
}

// Whether the ability of a hero of the seat may be cast at the unit, in reach and of the right
// kind.
[[nodiscard]] bool may_target(const MobaRules& rules, const MobaWorld& w, int seat,
                              const AbilityRules& ability, int slot);

// All that heroes have chosen to cast: blows go into `events`, the rest is done.
void cast_all(const MobaRules& rules, MobaWorld& w, TickEvents& events);

}  // namespace ludus::rts
