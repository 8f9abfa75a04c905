// Fog of a team: it sees what any of its units sees. The same as the engine's maps of cells
// (engine/fog.hpp), unit by unit, as a lane has few.
#pragma once

#include "games/rts/moba/rules.hpp"

namespace ludus::rts {

// Whether a team sees the unit of a slot.
[[nodiscard]] bool sees(const MobaRules& rules, const State& s, int team, int slot);

// A bit a slot: what a team sees, its own units included.
[[nodiscard]] std::uint64_t seen_by(const MobaRules& rules, const State& s, int team);

}  // namespace ludus::rts
