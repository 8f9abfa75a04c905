// Commands of Tower Defense below the strategic level. Its one seat builds towers, which never
// move. Focus fire is thus the only manoeuvre, and the cell to build on is the finest choice on
// every level.
//
// Tactical: two heads that do not depend on each other.
//
//   tower  where to build, a cell; or wait: as on the strategic level
//   fire   target of all towers that reach it, a row of the tensor `units`; the others, and with
//          the last choice all, take their targets as on the strategic level
//
// Units: one order to the base or to one tower a decision; towers do nothing by themselves.
//
//   unit    which, a row of `units`; or none
//   order   attack, build_tower
//   target  attack: which attacker, a row of `units`, that it reaches. build_tower has none
//   cell    build_tower: where. attack has none
//
// A choice is legal if and only if a tower will stand there, or a tower gets a new target by it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/tower_defense/rules.hpp"

namespace ludus::rts {

// A head that points at the cells of the tensor `map`, column by column.
[[nodiscard]] HeadSpec cell_head(const char* name, const char* meaning);

[[nodiscard]] std::vector<HeadSpec> tower_tactical_heads();
[[nodiscard]] std::vector<HeadSpec> tower_unit_heads();

// The masks of these heads, as GameSpec::mask_bytes counts them.
void legal_tower_tactics(const TdRules& rules, const State& state, std::uint8_t* mask);
void legal_tower_orders(const TdRules& rules, const State& state, std::uint8_t* mask);

// Throw GameError where the mask forbids it.
void order_towers(const TdRules& rules, State& state, std::span<const std::int32_t> action);
void order_tower(const TdRules& rules, State& state, std::span<const std::int32_t> action);

}  // namespace ludus::rts
