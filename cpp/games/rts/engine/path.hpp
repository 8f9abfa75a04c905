// Path planning: where a unit that wants to reach a point should head for now.
#pragma once

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

// The wide number of the cell to head for, or -1 for "straight to the target". Answers are
// remembered for path_cache_ticks by (owner, start cell, target cell) and shared by the owner's
// units. `now` is the tick that ages are measured with.
[[nodiscard]] int plan_path(const EngineRules& rules, State& state, int slot, float tx, float ty,
                            int now);

// The straight line from s to t as a disc of `slot` would walk it, sampled ten times a cell; the
// start cell and the target cell are not looked at.
[[nodiscard]] bool line_free(const EngineRules& rules, const State& state, int slot, float sx,
                             float sy, float tx, float ty);

}  // namespace ludus::rts
