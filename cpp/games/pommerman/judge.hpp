// When a match is over and what it pays.
#pragma once

#include <array>

#include "games/pommerman/rules.hpp"
#include "games/pommerman/step.hpp"
#include "games/pommerman/world.hpp"

namespace ludus::pommerman {

using PerAgent = std::array<float, kAgents>;

// Whether the original's `done` holds after `s.steps` steps.
[[nodiscard]] bool match_over(const Rules& rules, const State& s);

// The original's reward list of this step.
[[nodiscard]] PerAgent original_rewards(const Rules& rules, const State& s);

// Rewards of this step under `rules.pay`, shaping included. `before`: who lived before the step.
[[nodiscard]] PerAgent step_rewards(const Rules& rules, const State& s, unsigned before,
                                    const StepEvents& events);

// +1 for winners, -1 for the others, all 0 in a tie; of a match that is over.
[[nodiscard]] PerAgent results(const Rules& rules, const State& s);

}  // namespace ludus::pommerman
