// Unit commands: one order to one unit a decision. Four heads, each of which depends on those
// before:
//
//   unit    which own unit, a row of the tensor `units`; or nobody
//   order   move, attack, gather, build a type
//   target  attack: whom, a row of `units`, or the enemy's base wherever it is, as the strategic
//   order
//           to attack knows it; gather: which resource. Other orders have none
//   place   move, build: where, in cells from the cell the unit is in; "here" leaves the builder to
//           find a free spot around itself, all that a building can do. Other orders have none
//
// Legality is judged by what the seat may know, and an order that the mask allows is one that the
// engine accepts (units.hpp, offer_order). A place is legal when it is on the map and no visible
// disc is in the way; building needs the money at the time of the order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/minirts/rules.hpp"

namespace ludus::rts {

inline constexpr int kUnitHeads = 4;

[[nodiscard]] std::vector<HeadSpec> unit_heads(const MiniRules& rules);

// The mask of unit_heads, as GameSpec::mask_bytes counts it.
void legal_unit_orders(const MiniRules& rules, const State& state, int seat, std::uint8_t* mask);

// Throws GameError where the mask forbids it. An attack or a gathering that the unit is already
// about is left as it is.
void order_unit(const MiniRules& rules, State& state, int seat,
                std::span<const std::int32_t> action);

}  // namespace ludus::rts
