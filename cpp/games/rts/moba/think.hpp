// Orders of every tick: creeps and towers find their targets, heroes follow their goals. Moves are
// of at most one cell, so that no path is ever searched, and who attacks has its target in reach.
#pragma once

#include "games/rts/moba/world.hpp"

namespace ludus::rts {

// Gives the orders of this tick.
void think(const MobaRules& rules, MobaWorld& w);

// Creeps that come in this tick.
void send_creeps(const MobaRules& rules, MobaWorld& w);

}  // namespace ludus::rts
