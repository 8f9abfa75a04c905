// Searches that would find again what they found, for games with walls, whose units go the same
// long way one after the other. A route stands in for the search from its start to its target as
// long as no cell that the search looked at is taken or worth something else than then: it would
// look at the same cells in the same order, find the same path and learn nothing new.
// path_memory.cpp has the conditions.
#pragma once

#include <array>
#include <cstdint>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

struct Routes {
  static constexpr int kEntries = 128;
  static constexpr int kSide = 20;   // larger maps remember no routes
  static constexpr int kSteps = 48;  // nor do paths with more cells that could be headed for

  struct Route {
    std::uint32_t looked_at = 0;  // in the square around the start that can be taken (Taken)
    std::uint16_t steps = 0;
    std::array<std::uint16_t, kSteps> step{};    // cells (wide) to head for, far end first
    std::array<std::uint32_t, kSide> matters{};  // bit x of row y: its worth mattered
  };

  std::array<std::uint32_t, kEntries> key{};  // of a path entry; 0: none
  std::array<Route, kEntries> route{};
  std::array<std::uint64_t, kEntries> hopeless{};  // as in State, with more room

  // Those who stand in line ask from cells side by side.
  [[nodiscard]] static int place(int start) { return (start & 15) | (start >> 5 & 7) << 4; }
  void forget_all() { key.fill(0); }
  void clear() {
    forget_all();
    hopeless.fill(0);
  }
  // Forgets the routes of the owner and target of `like` for which one of these cells matters.
  void forget(std::uint32_t like, const std::array<std::uint32_t, kMaxSide>& cells) {
    constexpr std::uint32_t kStart = 1023U << 10;
    for (int i = 0; i < kEntries; ++i) {
      if (((key[i] ^ like) & ~kStart) != 0) continue;
      std::uint32_t hit = 0;
      for (int y = 0; y < kSide; ++y) hit |= route[i].matters[y] & cells[y];
      if (hit != 0) key[i] = 0;
    }
  }
};

}  // namespace ludus::rts
