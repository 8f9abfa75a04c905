// Scripted heroes. They decide with the heads of a player, see what it sees, and forget everything
// between two decisions.
#pragma once

#include "games/rts/moba/orders.hpp"

namespace ludus::rts {

// Forward like `push`, but with a choice: the weakest enemy hero in reach, else the weakest creep;
// the enemies in its base first. Heals, and goes home where a death would cost more.
[[nodiscard]] Decision simple_hero(const Choices& c);

// Always forward: the nearest enemy that it sees, of any kind.
[[nodiscard]] Decision pushing_hero(const Choices& c);

// Among all that is legal: an order, then its target or place.
[[nodiscard]] Decision random_hero(const Choices& c, Rng& rng);

}  // namespace ludus::rts
