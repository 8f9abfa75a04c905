#include "games/rts/engine/path_caches.hpp"

#include <algorithm>
#include <cstdlib>

namespace ludus::rts {

const CachedWaypoint* find_waypoint(const EngineRules& rules, State& state, int slot,
                                    std::uint32_t key, int now) {
  // Entries age in order, except that a counter-attack's first run stamps the tick before.
  while (state.waypoint_count > 0 &&
         static_cast<int>(state.tick) - state.waypoints[state.waypoint_head].tick >
             rules.path_cache_ticks) {
    state.waypoint_head = static_cast<std::uint8_t>((state.waypoint_head + 1) % kCachedWaypoints);
    --state.waypoint_count;
  }
  for (int i = state.waypoint_count - 1; i >= 0; --i) {
    const int at = (state.waypoint_head + i) % kCachedWaypoints;
    const CachedWaypoint& entry = state.waypoints[at];
    if (entry.key == key) {
      if (now - entry.tick >= rules.path_cache_ticks) return nullptr;
      state.waypoint_hint[slot] = static_cast<std::uint8_t>(at);
      return &entry;
    }
  }
  return nullptr;
}

void cache_waypoint(State& state, int slot, std::uint32_t key, int now, int waypoint) {
  if (state.waypoint_count == kCachedWaypoints) {
    state.waypoint_head = static_cast<std::uint8_t>((state.waypoint_head + 1) % kCachedWaypoints);
    --state.waypoint_count;
  }
  const int at = (state.waypoint_head + state.waypoint_count) % kCachedWaypoints;
  state.waypoints[at] = {key, static_cast<std::uint16_t>(now), static_cast<std::int16_t>(waypoint)};
  state.waypoint_hint[slot] = static_cast<std::uint8_t>(at);
  ++state.waypoint_count;
}

std::uint32_t blocking_cells(const EngineRules& rules, const State& state, int start, int target,
                             const BlockedCells& blocked, const AStar& search) {
  // Not analysed: steps across the map's edge, and searches that may stop at kMaxExpansions. All
  // blocked cells together are the reason.
  if (wraps_to(rules, target) || rules.cells() >= kMaxExpansions) return blocked.bits;
  const int side = rules.side;
  const int tx = wide_x(target);
  const int ty = wide_y(target);
  if (tx >= side || ty >= side) return 0;
  const BitGrid ground = passable(rules, state, target);
  BitGrid reached;
  for (int y = 0; y <= side + 1; ++y) reached[y] = ground[y] & ~search.unvisited[y];
  blocked.each(start, [&](int cx, int cy, std::uint32_t) { reached[cy + 1] &= ~row_bit(cx); });
  reached[wide_y(start) + 1] |= row_bit(wide_x(start));
  BitGrid beyond{};  // from where the target can be reached
  beyond[ty + 1] = row_bit(tx);
  for (bool more = true; more;) {
    more = false;
    for (int y = 1; y <= side; ++y) {
      const std::uint64_t free = ground[y] & ~reached[y];
      std::uint64_t row = beyond[y] | ((beyond[y - 1] | beyond[y + 1]) & free);
      for (std::uint64_t before = 0; row != before;) {
        before = row;
        row |= (row << 1 | row >> 1) & free;
      }
      more |= row != beyond[y];
      beyond[y] = row;
    }
  }
  std::uint32_t blocking = 0;
  blocked.each(start, [&](int cx, int cy, std::uint32_t bit) {
    const std::uint64_t* row = &reached[cy + 1];
    const std::uint64_t near = row[-1] | row[0] << 1 | row[0] >> 1 | row[1];
    if ((near & beyond[cy + 1] & row_bit(cx)) != 0) blocking |= bit;
  });
  return blocking;
}

namespace {

// Whether a successful search would have been the same without the blocked cells: it would never
// have expanded one, because the open list held a better node at all times.
bool blocking_was_irrelevant(const EngineRules& rules, const State& state, int start,
                             const BlockedCells& blocked, const LearnedHeuristic& heuristic,
                             const AStar& search) {
  bool irrelevant = true;
  blocked.each(start, [&](int cx, int cy, std::uint32_t) {
    if (!inside(rules, cx, cy) || walled(state, cx, cy)) return;
    int i = 0;  // first of its neighbours that was expanded
    const auto adjacent = [&](int cell) {
      return std::abs(wide_x(cell) - cx) + std::abs(wide_y(cell) - cy) == 1;
    };
    while (i < search.expansions && !adjacent(AStar::cell_of(search.expanded[i]))) ++i;
    if (i == search.expansions) return;
    const int steps = AStar::steps_of(search.expanded[i]) + 1;
    const AStar::Item item = AStar::item_of(wide(cx, cy), steps, heuristic.estimate(cx, cy));
    irrelevant &=
        std::all_of(search.expanded.begin() + i + 1, search.expanded.begin() + search.expansions,
                    [&](AStar::Item better) { return better < item; });
  });
  return irrelevant;
}

}  // namespace

bool cache_search(const EngineRules& rules, const State& state, int start, int target,
                  const BlockedCells& blocked, const LearnedHeuristic& heuristic,
                  const AStar& search, const VisibilityMask& visible, PathCache::CachedPath& path) {
  if (wraps_to(rules, target) || search.expansions >= kMaxExpansions) return false;
  if (!blocking_was_irrelevant(rules, state, start, blocked, heuristic, search)) return false;
  path = {};
  for (int cell = AStar::cell_of(search.expanded[search.expansions - 1]); cell >= 0;
       cell = search.parent[cell]) {
    if (cell != target && !visible.may_see(cell)) continue;
    if (path.waypoints == PathCache::kMaxWaypoints) return false;
    path.waypoint[path.waypoints++] = static_cast<std::uint16_t>(cell);
  }
  for (int i = 0; i < search.expansions; ++i) {
    const int cell = AStar::cell_of(search.expanded[i]);
    const int cx = wide_x(cell);
    const int cy = wide_y(cell);
    path.dependencies[cy] |= (7U << cx) >> 1;
    if (cy > 0) path.dependencies[cy - 1] |= 1U << cx;
    if (cy + 1 < rules.side) path.dependencies[cy + 1] |= 1U << cx;
    if (cell != start) path.examined |= BlockedCells::bit_of(start, cx, cy);
  }
  return true;
}

}  // namespace ludus::rts
