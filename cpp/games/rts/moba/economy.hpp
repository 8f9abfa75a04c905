// The worth of a fall: gold, experience, levels, and the shop at the fountain.
#pragma once

#include "games/rts/moba/world.hpp"

namespace ludus::rts {

// Adds to what the seat has earned in this tick, before the decay.
void earn(MobaWorld& w, int seat, float amount);

void give_gold(const MobaRules& rules, MobaWorld& w, int seat, int amount);
// Levels rise with it; a hero of the last level keeps no more.
void give_xp(const MobaRules& rules, MobaWorld& w, int seat, int amount);

// Gold, experience, deaths and rewards of what happened in a tick. `w` is the world after it.
void settle(const MobaRules& rules, MobaWorld& w, const TickEvents& events);

// Passive gold, regeneration, the fountain and its shop.
void upkeep(const MobaRules& rules, MobaWorld& w);

}  // namespace ludus::rts
