// Observation of a seat, packed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/pommerman/rules.hpp"
#include "games/pommerman/world.hpp"

namespace ludus::pommerman {

// `board`: u8[3, n, n], two numbers of four bits each a byte (low, high):
//   0  item as in world.hpp, agents counted from the observing seat (10 = itself); flame_life
//   1  blast strength of the bomb; steps until it explodes
//   2  steps until a blast reaches the cell, 0 = none in sight; direction of the bomb (Action)
// `about`: what the seat knows in addition to the board. `message`, with radio only: the teammate's
// words.
[[nodiscard]] std::vector<TensorSpec> tensors(const Rules& rules);

void observe(const Rules& rules, const State& s, int seat, std::span<std::byte* const> out);

// One byte an action (and a word of each message head), 1 = offered.
void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);

}  // namespace ludus::pommerman
