// The start position of a match.
#pragma once

#include "base/rng.hpp"
#include "games/rts/minirts/rules.hpp"

namespace ludus::rts {

// Fills `state` with a fresh match at tick 0: two bases, two resources, and the extra units that
// the rules ask for. Everything random comes from `rng`.
void place_start(const MiniRules& rules, State& state, Rng& rng);

}  // namespace ludus::rts
