// Path planning: where a unit that wants to reach a point should head for now.
#pragma once

#include <algorithm>

#include "games/rts/engine/lanes.hpp"
#include "games/rts/engine/map.hpp"

namespace ludus::rts {

// Looks further than the unit's last answer, and plans when nothing is remembered.
[[nodiscard]] int plan_path_afresh(const EngineRules& rules, State& state,
                                   const LearnedStore& store, int slot, float tx, float ty,
                                   int start, int target, std::uint32_t key, int now);

// The wide number of the cell to head for, or -1 for "straight to the target". Answers are
// remembered for path_cache_ticks by (owner, start cell, target cell) and shared by the owner's
// units. `now` is the tick that ages are measured with.
[[nodiscard]] inline int plan_path(const EngineRules& rules, State& state,
                                   const LearnedStore& store, int slot, float tx, float ty,
                                   int now) {
  // Both cells at once; points outside the map count as the nearest cell in it.
  I4 cell = cells4(F4{state.x[slot], state.y[slot], tx, ty});
  if ((cell[0] | cell[1] | cell[2] | cell[3]) >> kWideBits != 0) [[unlikely]] {
    for (int i = 0; i < 4; ++i) cell[i] = std::clamp(cell[i], 0, kMaxSide - 1);
  }
  const int start = wide(cell[0], cell[1]);
  const int target = wide(cell[2], cell[3]);
  const std::uint32_t key = static_cast<std::uint32_t>(rules.owner_of(slot) + 1) << 20 |
                            static_cast<std::uint32_t>(start) << 10 |
                            static_cast<std::uint32_t>(target);
  // The unit's last answer is most often still the one. Only a counter-attack's first run looks
  // from the tick before, which might prefer an outdated one.
  const PathEntry& last = state.path[state.path_hint[slot]];
  if (last.key == key && now - last.tick < rules.path_cache_ticks &&
      now == static_cast<int>(state.tick)) {
    return last.waypoint;
  }
  return plan_path_afresh(rules, state, store, slot, tx, ty, start, target, key, now);
}

}  // namespace ludus::rts
