// Tactical orders: one manoeuvre of one group of athletes a decision. Three heads:
//
//   order   nothing, the carrier home, or a manoeuvre of a group
//   target  focus_fire: an enemy; defend: an object; a row of the tensor `units`
//   sector  attack_move, rally: where, one of 4 x 4 parts of the field as the seat sees it
//
// Manoeuvre and group are one head, so that the mask is exact: a choice is legal if and only if
// a unit gets an order by it, and what targets leave of a group differs between manoeuvres.
// Each is translated at once into orders to units (engine/manoeuvres.hpp). Nothing happens by
// itself: who has no order stands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/capture_the_flag/rules.hpp"

namespace ludus::rts {

[[nodiscard]] std::vector<HeadSpec> flag_tactical_heads();

// The mask of flag_tactical_heads, as GameSpec::mask_bytes counts it.
void legal_flag_tactics(const CtfRules& rules, const State& state, int seat, std::uint8_t* mask);

// Throws GameError where the mask forbids it.
void order_athletes(const CtfRules& rules, State& state, int seat,
                    std::span<const std::int32_t> action);

}  // namespace ludus::rts
