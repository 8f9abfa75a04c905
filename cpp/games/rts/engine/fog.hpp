// Fog of war. What an owner sees is a pure function of where its units are, so it is computed when
// it is asked for and is no part of the state.
#pragma once

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

struct Sight {
  std::array<std::uint32_t, kMaxSide> row{};  // bit x of row y: the cell is visible

  [[nodiscard]] bool cell(int cx, int cy) const { return (row[cy] >> cx & 1) != 0; }
};

[[nodiscard]] Sight sight_of(const EngineRules& rules, const State& state, int owner);

// The whole map, for observations without fog.
[[nodiscard]] inline Sight sight_of_everything(const EngineRules& rules) {
  Sight sight;
  const std::uint32_t all = ~std::uint32_t{0} >> (32 - rules.side);
  for (int y = 0; y < rules.side; ++y) sight.row[static_cast<std::size_t>(y)] = all;
  return sight;
}

// A bit a slot: what the owner can see, its own units included.
[[nodiscard]] std::uint64_t visible_units(const EngineRules& rules, const State& state,
                                          const Sight& sight);

}  // namespace ludus::rts
