#include "games/rts/engine/fog.hpp"

#include <algorithm>
#include <cstdlib>

namespace ludus::rts {

Sight sight_of(const EngineRules& rules, const State& state, int owner) {
  Sight sight;
  const std::uint32_t all = rules.side == 32 ? 0xffffffffU : (std::uint32_t{1} << rules.side) - 1U;
  for_units(rules, state, owner, [&](int i) {
    const int cx = cell_coord(state.x[i]);
    const int cy = cell_coord(state.y[i]);
    const int radius = rules.type[state.type[i]].vision;
    // A diamond: |dx| + |dy| <= radius.
    for (int y = std::max(0, cy - radius); y <= std::min(rules.side - 1, cy + radius); ++y) {
      const int half = radius - std::abs(y - cy);
      const int low = std::max(0, cx - half);
      const int high = std::min(rules.side - 1, cx + half);
      if (low > high) continue;
      sight.row[y] |= (all >> (rules.side - 1 - (high - low))) << low;
    }
  });
  return sight;
}

std::uint64_t visible_units(const EngineRules& rules, const State& state, const Sight& sight) {
  std::uint64_t seen = 0;
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    for_units(rules, state, owner, [&](int i) {
      const int cx = cell_coord(state.x[i]);
      const int cy = cell_coord(state.y[i]);
      if (inside(rules, cx, cy) && sight.cell(cx, cy)) seen |= std::uint64_t{1} << i;
    });
  }
  return seen;
}

}  // namespace ludus::rts
