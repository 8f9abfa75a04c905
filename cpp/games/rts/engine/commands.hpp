// Durative commands: what a unit does tick after tick. They read the world and queue effects.
#pragma once

#include "games/rts/engine/effects.hpp"

namespace ludus::rts {

// Runs every due command of this tick, in the original's order: counter-attacks that wait since the
// last tick, then orders of this tick by unit id, then older commands, most recently issued first.
// Where random tie-breaking decides instead of the order of seats, the orders of one seat and then
// the other's, and likewise the older commands.
void run_commands(const EngineRules& rules, State& state, const HeuristicStore& store,
                  EffectQueue& queue);

// The offsets at which something is built around a point, in order of preference.
inline constexpr int kNearby = 12;
inline constexpr float kNearbyX[kNearby] = {-1, 1, 0, 0, -1, -1, 1, 1, -2, 2, 0, 0};
inline constexpr float kNearbyY[kNearby] = {0, 0, -1, 1, -1, 1, -1, 1, 0, 0, -2, 2};

}  // namespace ludus::rts
