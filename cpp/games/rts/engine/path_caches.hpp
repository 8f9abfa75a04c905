// Caches of the path planner: the waypoint cache (recent answers, a ring in State), the
// failed-search cache and the conditions under which a search may enter the path cache
// (path_cache.hpp).
#pragma once

#include <bit>
#include <cstdint>

#include "games/rts/engine/astar.hpp"
#include "games/rts/engine/line_of_sight.hpp"
#include "games/rts/engine/path_cache.hpp"

namespace ludus::rts {

// Waypoint cache: the entry under `key`, or nullptr. It becomes the unit's last answer.
[[nodiscard]] const CachedWaypoint* find_waypoint(const EngineRules& rules, State& state, int slot,
                                                  std::uint32_t key, int now);

void cache_waypoint(State& state, int slot, std::uint32_t key, int now, int waypoint);

// Failed-search cache: for a start and a target, sets of blocked cells that cut them off. A search
// with these cells blocked fails again, so it need not run.
class FailedSearchCache {
 public:
  FailedSearchCache(State& state, PathCache* path_cache, int start, int target)
      : asked_((std::uint64_t{1} << 37 | static_cast<std::uint64_t>(start) << 10 |
                static_cast<std::uint64_t>(target))
               << BlockedCells::kCells),
        any_(entry(state, path_cache, start, 0)),
        all_(entry(state, path_cache, start, 1)) {}

  [[nodiscard]] bool known_to_fail(std::uint32_t blocked) const {
    return (any_ >> BlockedCells::kCells == asked_ >> BlockedCells::kCells &&
            (any_ & blocked) != 0) ||
           (kAll | asked_ | (all_ & blocked)) == all_;
  }
  void add(std::uint32_t blocking) {
    if (std::has_single_bit(blocking)) {  // one more cell that suffices alone
      any_ = (any_ >> BlockedCells::kCells == asked_ >> BlockedCells::kCells ? any_ : asked_) |
             blocking;
    } else {
      all_ = kAll | asked_ | blocking;
    }
  }

 private:
  static constexpr std::uint64_t kAll = std::uint64_t{1} << 63;

  // Direct-mapped: units in a queue plan from adjacent cells, which get different entries. `half`:
  // 1 is half the table further.
  static std::uint64_t& entry(State& state, PathCache* path_cache, int start, int half) {
    if (path_cache != nullptr) {
      return path_cache->failed_searches[PathCache::index(start) ^ half * PathCache::kEntries / 2];
    }
    static_assert(kFailedSearchBits == 4);
    return state.failed_searches[((wide_x(start) & 3) | (wide_y(start) & 3) << 2) ^ half * 8];
  }

  std::uint64_t asked_;
  std::uint64_t& any_;  // cells each of which suffices
  std::uint64_t& all_;  // cells that suffice together
};

// After a failed search: a subset of the blocked cells that cuts the start off whatever else is
// blocked. These cells border the reached region, and the target can be reached from them without
// entering that region again: every path would leave the region for the last time through one.
[[nodiscard]] std::uint32_t blocking_cells(const EngineRules& rules, const State& state, int start,
                                           int target, const BlockedCells& blocked,
                                           const AStar& search);

[[nodiscard]] inline bool may_cache_paths(const EngineRules& rules, int start) {
  return rules.terrain && rules.side <= PathCache::kSide &&
         inside(rules, wide_x(start), wide_y(start));
}

// Writes a search that updated no heuristic value to the path cache, if it would repeat itself as
// long as no unit blocks a cell that it expanded. Units elsewhere cannot change it: the search
// never expanded these cells although it could have.
[[nodiscard]] bool cache_search(const EngineRules& rules, const State& state, int start, int target,
                                const BlockedCells& blocked, const LearnedHeuristic& heuristic,
                                const AStar& search, const VisibilityMask& visible,
                                PathCache::CachedPath& path);

}  // namespace ludus::rts
