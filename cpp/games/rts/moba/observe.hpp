// Observation of the MOBA by a seat: what its team sees through the fog of war, and its own hero.
// The team at the right sees the map turned by half a turn, so that both play from left to right.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/moba/world.hpp"

namespace ludus::rts {

inline constexpr int kMobaCols = 36;
inline constexpr int kMobaGlobals = 56;

[[nodiscard]] std::vector<TensorSpec> moba_tensors();

// Writes the tensors, in the order of moba_tensors.
void observe_moba(const MobaRules& rules, const MobaWorld& w, int seat,
                  std::span<std::byte* const> tensors);

}  // namespace ludus::rts
