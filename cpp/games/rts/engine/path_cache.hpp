// Path cache: results of whole A* searches, for games with walls, where units walk the same long
// way one after the other. A cached path replaces the search from its start to its target as long
// as no expanded cell is blocked and no heuristic value that the search read has changed: the
// search would expand the same cells in the same order, find the same path and learn nothing new.
// Conditions: path_caches.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

struct PathCache {
  static constexpr int kEntries = 128;
  static constexpr int kSide = 20;          // larger maps have no path cache
  static constexpr int kMaxWaypoints = 48;  // paths with more possible waypoints are not cached

  struct CachedPath {
    std::uint32_t examined = 0;  // expanded cells in the square of BlockedCells
    std::uint16_t waypoints = 0;
    std::array<std::uint16_t, kMaxWaypoints> waypoint{};  // cells (wide), far end first
    std::array<std::uint32_t, kSide>
        dependencies{};  // bit x of row y: its heuristic value was read
  };

  std::array<std::uint32_t, kEntries> key{};  // as in CachedWaypoint; 0: empty
  std::array<CachedPath, kEntries> path{};
  std::array<std::uint64_t, kEntries> failed_searches{};  // as in State, with more room

  // Direct-mapped: units in a queue plan from adjacent cells, which get different entries.
  [[nodiscard]] static int index(int start) { return (start & 15) | (start >> 5 & 7) << 4; }
  void clear_paths() { key.fill(0); }
  void clear() {
    clear_paths();
    failed_searches.fill(0);
  }
  // Drops the paths with the owner and target of `like` that depend on one of these cells.
  void invalidate(std::uint32_t like, const std::array<std::uint32_t, kMaxSide>& cells) {
    constexpr std::uint32_t kStart = 1023U << 10;
    for (int i = 0; i < kEntries; ++i) {
      if (((key[i] ^ like) & ~kStart) != 0) continue;
      std::uint32_t hit = 0;
      for (int y = 0; y < kSide; ++y) hit |= path[i].dependencies[y] & cells[y];
      if (hit != 0) key[i] = 0;
    }
  }
};

}  // namespace ludus::rts
