// The original's SimpleAgent: flees blasts, bombs what is next to it, follows enemies and
// power-ups.
#pragma once

#include "games/pommerman/rules.hpp"
#include "games/pommerman/world.hpp"

namespace ludus::pommerman {

// The codes of a seat's enemies and, apart from walls and bombs, what it can walk on.
[[nodiscard]] ItemSet enemies_of(const Rules& rules, int seat);
[[nodiscard]] ItemSet passable_for(const Rules& rules, int seat);

// The board as a living seat sees it: in fog, kFog outside its window.
void visible_board(const Rules& rules, const State& s, int seat,
                   std::array<std::uint8_t, kCells>& out);

// The decision of SimpleAgent for a living seat. Draws from `s.rng`, writes `s.memory[seat]`.
[[nodiscard]] Action simple_action(const Rules& rules, State& s, int seat);

}  // namespace ludus::pommerman
