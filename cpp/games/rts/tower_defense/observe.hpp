// Observation of Tower Defense: everything.
//
// `planes` are the two planes of the ELF paper's network input, a bit a cell: walls, and cells with
// a unit. `map` contains for every cell what a player would look for: where a tower can stand, and
// how much of the way from the waves to the base it would reach from there. `globals` are numbers
// of the whole match. Below the strategic level there are `units` as well, a row for each unit, at
// which the heads point. Planes are indexed [plane, y, x]; action a is the cell x = a / S, y = a %
// S.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/tower_defense/rules.hpp"

namespace ludus::rts {

inline constexpr int kTowerPlanes = 2;
inline constexpr int kTowerMaps = 8;
inline constexpr int kTowerGlobals = 12;
inline constexpr int kTowerUnitCols = 14;

[[nodiscard]] std::vector<TensorSpec> td_tensors(const TdRules& rules);

// The slots with a unit: all of them are seen.
[[nodiscard]] std::uint64_t all_units(const EngineRules& engine, const State& state);

// Writes the tensors, in the order of td_tensors.
void observe_td(const TdRules& rules, const State& state, std::span<std::byte* const> tensors);

}  // namespace ludus::rts
