// The maze of Tower Defense: corridors one cell wide between walls, a random spanning tree of a
// grid of half the resolution, grown from the square in the bottom right corner where the waves
// appear.
#pragma once

#include <array>
#include <cstdint>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kMazeSide = 20;
inline constexpr int kMazeOpen = 6;  // cells along the side of the open square

// Walls as bit x of row y. `draw(n)` gives an integer in [0, n).
template <class Draw>
[[nodiscard]] std::array<std::uint32_t, kMaxSide> make_maze(Draw&& draw) {
  constexpr int kSide = kMazeSide / 2;
  constexpr int kOpen = kMazeOpen / 2;
  constexpr std::uint32_t kAll = (1U << kMazeSide) - 1;
  constexpr std::uint32_t kLeft = (1U << (kMazeSide - kMazeOpen)) - 1;
  constexpr std::array<int, 4> kDx = {1, 0, -1, 0};
  constexpr std::array<int, 4> kDy = {0, 1, 0, -1};
  std::array<std::uint32_t, kMaxSide> wall{};
  for (int y = 0; y < kMazeSide; ++y) wall[y] = y < kMazeSide - kMazeOpen ? kAll : kLeft;

  // Ways from an open place to one that was not open when the way was noted.
  struct Way {
    std::int8_t x, y, direction;
  };
  std::array<Way, 4 * kSide * kSide> way;
  int ways = 0;
  std::array<bool, kSide * kSide> open{};
  const auto note_ways = [&](int x, int y) {
    for (std::size_t d = 0; d < 4; ++d) {
      const int nx = x + kDx[d];
      const int ny = y + kDy[d];
      if (nx < 0 || nx >= kSide || ny < 0 || ny >= kSide) continue;
      if (open[static_cast<std::size_t>(nx * kSide + ny)]) continue;
      way[static_cast<std::size_t>(ways++)] = {
          static_cast<std::int8_t>(nx), static_cast<std::int8_t>(ny), static_cast<std::int8_t>(d)};
    }
  };
  for (int x = kSide - kOpen; x < kSide; ++x) {
    for (int y = kSide - kOpen; y < kSide; ++y)
      open[static_cast<std::size_t>(x * kSide + y)] = true;
  }
  for (int x = kSide - kOpen; x < kSide; ++x) {
    for (int y = kSide - kOpen; y < kSide; ++y) {
      if (x == kSide - kOpen || y == kSide - kOpen) note_ways(x, y);
    }
  }
  for (int left = kSide * kSide - kOpen * kOpen; left > 0;) {
    const auto at = static_cast<int>(draw(ways));
    const Way w = way[static_cast<std::size_t>(at)];
    --ways;
    for (int i = at; i < ways; ++i) {
      way[static_cast<std::size_t>(i)] = way[static_cast<std::size_t>(i + 1)];
    }
    bool& here = open[static_cast<std::size_t>(w.x * kSide + w.y)];
    if (here) continue;
    here = true;
    --left;
    const auto clear = [&](int x, int y) { wall[static_cast<std::size_t>(y)] &= ~(1U << x); };
    const auto d = static_cast<std::size_t>(w.direction);
    clear(2 * w.x, 2 * w.y);
    clear(2 * w.x - kDx[d], 2 * w.y - kDy[d]);
    note_ways(w.x, w.y);
  }
  return wall;
}

}  // namespace ludus::rts
