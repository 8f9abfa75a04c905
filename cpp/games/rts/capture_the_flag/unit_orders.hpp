// Unit commands: one order to one athlete a decision. Four heads:
//
//   unit    which own athlete, a row of the tensor `units`; or none
//   order   move, attack, get_flag, escort_flag
//   target  attack: which enemy, a row of `units`. Other orders have none
//   place   move: where, in cells from the cell the athlete is in, as the seat sees the field;
//   "here"
//           stops it in the middle of its cell. Other orders have none
//
// A choice is legal if and only if it gives the athlete an order that it does not already have,
// judged by what the seat may know: a victim is in sight or has the flag, a place is on the field
// and no visible disc is in the way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/capture_the_flag/rules.hpp"

namespace ludus::rts {

[[nodiscard]] std::vector<HeadSpec> athlete_heads();

// The mask of athlete_heads, as GameSpec::mask_bytes counts it.
void legal_athlete_orders(const CtfRules& rules, const State& state, int seat, std::uint8_t* mask);

// Throws GameError where the mask forbids it.
void order_athlete(const CtfRules& rules, State& state, int seat,
                   std::span<const std::int32_t> action);

}  // namespace ludus::rts
