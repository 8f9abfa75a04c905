// The world's laws: one step of all agents, and the collapse of rings.
#pragma once

#include <array>
#include <cstdint>

#include "games/pommerman/world.hpp"

namespace ludus::pommerman {

// Effects of a step on the agents, for rewards.
struct StepEvents {
  std::array<std::uint8_t, kAgents> picked_up{};  // power-ups of each agent
  std::array<std::uint8_t, kAgents> wood{};       // wooden walls that each agent's bombs broke
};

// Plays `s.chosen` of the living agents: flames age, bombs are laid, everything moves, bombs
// explode, agents die. Does not count the step nor judge the match.
void step_world(State& s, int max_blast, StepEvents& events);

// The ring of cells that is `ring` cells from the border of a board of side `size` turns to rigid
// wall: agents there die, bombs, flames and hidden power-ups are gone.
void collapse_ring(State& s, int size, int ring);

}  // namespace ludus::pommerman
