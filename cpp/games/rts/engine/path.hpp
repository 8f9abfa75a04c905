// Path planner: the next waypoint of a unit on its way to a point. Order of work: last answer of
// the unit, waypoint cache, line of sight, failed-search cache, path cache, A*.
#pragma once

#include <algorithm>

#include "games/rts/engine/map.hpp"
#include "games/rts/engine/simd.hpp"

namespace ludus::rts {

// Everything after the unit's last answer: caches, line of sight, A*.
[[nodiscard]] int plan_path_uncached(const EngineRules& rules, State& state,
                                     const HeuristicStore& store, int slot, float tx, float ty,
                                     int start, int target, std::uint32_t key, int now);

// The wide number of the cell to head for, or -1 for "straight to the target". Answers are cached
// for path_cache_ticks under (owner, start cell, target cell) and shared by the owner's units.
// `now`: the tick from which the age of an entry is counted.
[[nodiscard]] inline int plan_path(const EngineRules& rules, State& state,
                                   const HeuristicStore& store, int slot, float tx, float ty,
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
  // The unit's last answer is still valid most of the time. Only a counter-attack's first run
  // plans as of the tick before, for which an older entry may have precedence.
  const CachedWaypoint& last = state.waypoints[state.waypoint_hint[slot]];
  if (last.key == key && now - last.tick < rules.path_cache_ticks &&
      now == static_cast<int>(state.tick)) {
    return last.waypoint;
  }
  return plan_path_uncached(rules, state, store, slot, tx, ty, start, target, key, now);
}

}  // namespace ludus::rts
