// Scripted heroes. They decide with the heads of a player, see what it sees, and forget everything
// between two decisions.
#pragma once

#include "games/rts/moba/orders.hpp"

namespace ludus::rts {

// Keeps its lane behind its creeps, takes last hits, fights when its side is stronger, flees, heals
// and shops at the fountain, and goes under towers behind creeps only.
[[nodiscard]] Decision simple_hero(const Choices& c);

// Always forward: the nearest enemy that it sees, whatever it is.
[[nodiscard]] Decision pushing_hero(const Choices& c);

// Among all that is legal: an order, then its target or place.
[[nodiscard]] Decision random_hero(const Choices& c, Rng& rng);

}  // namespace ludus::rts
