// Tactical orders: one manoeuvre of one group a decision, or one purchase. Four heads:
//
//   order   nothing, what to buy (as the strategic orders do), or a manoeuvre
//   group   a manoeuvre's units: workers, melee attackers, range attackers, both of these
//   target  focus_fire: whom, a row of `units` or the enemy's base; defend: which own unit or
//   building sector  attack_move, rally: where, one of 4 x 4 parts of the map
//
// As with strategic orders, every choice also sends idle workers to gather, and each is translated
// at once into orders to units (engine/manoeuvres.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/minirts/rules.hpp"

namespace ludus::rts {

[[nodiscard]] std::vector<HeadSpec> tactical_heads();

// The mask of tactical_heads, as GameSpec::mask_bytes counts it.
void legal_tactical_orders(const MiniRules& rules, const State& state, int seat,
                           std::uint8_t* mask);

// Throws GameError where the mask forbids it.
void order_group(const MiniRules& rules, State& state, int seat,
                 std::span<const std::int32_t> action);

}  // namespace ludus::rts
