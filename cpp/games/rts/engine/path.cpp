#include "games/rts/engine/path.hpp"

#include <algorithm>

#include "games/rts/engine/astar.hpp"
#include "games/rts/engine/line_of_sight.hpp"
#include "games/rts/engine/path_caches.hpp"

namespace ludus::rts {

int plan_path_uncached(const EngineRules& rules, State& state, const HeuristicStore& store,
                       int slot, float tx, float ty, int start, int target, std::uint32_t key,
                       int now) {
  if (const CachedWaypoint* entry = find_waypoint(rules, state, slot, key, now))
    return entry->waypoint;
  const float sx = state.x[slot];
  const float sy = state.y[slot];
  int blocker = kNone;
  if (line_free(rules, state, slot, sx, sy, tx, ty, blocker)) {
    cache_waypoint(state, slot, key, now, -1);
    return -1;
  }
  // An enclosed unit plans again at every tick. Whether a path exists depends only on walls and
  // blocked cells, and a failed search updates no heuristic: its result can be cached.
  const BlockedCells blocked(state, slot, start, target);
  PathCache* path_cache = may_cache_paths(rules, start) ? store.path_cache : nullptr;
  FailedSearchCache failed_searches(state, path_cache, start, target);
  if (failed_searches.known_to_fail(blocked.bits)) return -1;
  // The unit that blocked one line is tested first for the next line.
  const auto can_walk_to = [&](int cell) {
    const auto wx = static_cast<float>(wide_x(cell));
    const auto wy = static_cast<float>(wide_y(cell));
    if (wx == tx && wy == ty) return false;  // tested above
    return line_free(rules, state, slot, sx, sy, wx, wy, blocker);
  };
  const auto follow = [&](const PathCache::CachedPath& path) {
    const auto* end = path.waypoint.begin() + path.waypoints;
    const auto* step = std::find_if(path.waypoint.begin(), end, can_walk_to);
    const int waypoint = step == end ? -1 : *step;
    cache_waypoint(state, slot, key, now, waypoint);
    return waypoint;
  };
  if (path_cache != nullptr) {
    const int index = PathCache::index(start);
    const PathCache::CachedPath& path = path_cache->path[index];
    if (path_cache->key[index] == key && (path.examined & blocked.bits) == 0) return follow(path);
  }
  LearnedHeuristic heuristic(rules, state, store, rules.owner_of(slot), wide_x(target),
                             wide_y(target));
  AStar search(rules, state, target);
  int waypoint = search_path(rules, start, target, blocked, heuristic, search);
  if (waypoint < 0) {  // unreachable
    failed_searches.add(blocking_cells(rules, state, start, target, blocked, search));
    return -1;
  }
  // The farthest cell of the path that is in line of sight.
  if (!rules.terrain) {
    while (waypoint >= 0 && !can_walk_to(waypoint)) waypoint = search.parent[waypoint];
    cache_waypoint(state, slot, key, now, waypoint);
    return waypoint;
  }
  if (path_cache != nullptr && heuristic.changed())
    path_cache->invalidate(key, heuristic.changed_cells());
  const VisibilityMask visible(rules, state, start);
  const auto in_sight = [&](int cell) { return cell == target || visible.may_see(cell); };
  if (path_cache != nullptr && !heuristic.changed()) {
    const int index = PathCache::index(start);
    if (cache_search(rules, state, start, target, blocked, heuristic, search, visible,
                     path_cache->path[index])) {
      path_cache->key[index] = key;
      return follow(path_cache->path[index]);
    }
    path_cache->key[index] = 0;
  }
  while (waypoint >= 0 && !(in_sight(waypoint) && can_walk_to(waypoint))) {
    waypoint = search.parent[waypoint];
  }
  cache_waypoint(state, slot, key, now, waypoint);
  return waypoint;
}

}  // namespace ludus::rts
