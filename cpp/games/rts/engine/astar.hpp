// A* over the cells of the map, with the node order and tie-breaking of the original, and the
// blocked-cells mask around the searching unit.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "games/rts/engine/learned_heuristic.hpp"
#include "games/rts/engine/map.hpp"

namespace ludus::rts {

// A bit per cell: bit x + 1 of row y + 1. A border of zeros surrounds the map.
using BitGrid = std::array<std::uint64_t, kMaxSide + 2>;

constexpr std::uint64_t row_bit(int cx) { return std::uint64_t{2} << cx; }

// Passable cells: all but the walls. The target counts as passable even when it is a wall.
[[nodiscard]] BitGrid passable(const EngineRules& rules, const State& state, int target);

// State of one search: four-connected, unit costs. A cell is reached once: its first parent stays.
struct AStar {
  static constexpr int kCells = kMaxSide * kMaxSide;
  // A node as one sortable number (f, g, cell): smaller f first (positive floats sort like their
  // bits), then smaller g, then larger cell.
  using Item = std::uint64_t;

  BitGrid unvisited;  // cells that are not on the open or closed list yet
  std::array<std::int16_t, kCells> parent;
  std::array<Item, kCells> expanded;
  int expansions = 0;

  AStar(const EngineRules& rules, const State& state, int target)
      : unvisited(passable(rules, state, target)) {}
  [[nodiscard]] bool may_reach(int cx, int cy) const {
    return (unvisited[cy + 1] >> (cx + 1) & 1) != 0;
  }
  void close(int cx, int cy) { unvisited[cy + 1] &= ~row_bit(cx); }
  void reopen(int cx, int cy) { unvisited[cy + 1] |= row_bit(cx); }

  static Item item_of(int cell, int steps, float estimate) {
    const float cost = static_cast<float>(steps) + estimate;
    return static_cast<Item>(std::bit_cast<std::uint32_t>(cost)) << 32 |
           static_cast<Item>(steps << 16 | (kCells - 1 - cell));
  }
  static int cell_of(Item item) { return kCells - 1 - static_cast<int>(item & 0xffff); }
  static int steps_of(Item item) { return static_cast<int>(item >> 16 & 0xffff); }
  static float cost_of(Item item) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(item >> 32));
  }
};

inline constexpr int kMaxExpansions = 1000;  // a search that stops here returns the cell it expands

// Blocked-cells mask: cells near a unit whose centre another disc covers, the target excepted, as
// bits of a square around the unit's cell, row by row. Distant cells count as free: units there
// will have moved.
struct BlockedCells {
  static constexpr int kAround = 2;
  static constexpr int kSide = 2 * kAround + 1;
  static constexpr int kCells = kSide * kSide;
  std::uint32_t bits = 0;

  BlockedCells(const State& state, int slot, int start, int target) {
    constexpr float kNear2 = 4.0F;
    const float sx = state.x[slot];
    const float sy = state.y[slot];
    constexpr float kAway = 2.6F;  // a unit farther away than this blocks no such cell
    std::uint64_t near = 0;
    for_groups_of_4(state, [&](int i) {
      const F4 dx = load4(&state.x[i]) - sx;
      const F4 dy = load4(&state.y[i]) - sy;
      near |= static_cast<std::uint64_t>(lane_bits(dx * dx + dy * dy < kAway * kAway)) << i;
    });
    // A disc covers the centre of at most one cell: the one it is in.
    for_bits(near & ~(state.irregular | std::uint64_t{1} << slot), [&](int i) {
      const int cx = cell_coord(state.x[i]);
      const int cy = cell_coord(state.y[i]);
      const auto mx = static_cast<float>(cx);
      const auto my = static_cast<float>(cy);
      if (distance2(mx, my, state.x[i], state.y[i]) >= kTouch2) return;
      if (distance2(sx, sy, mx, my) >= kNear2 || wide(cx, cy) == target) return;
      // Both are on the map, so they are at most two cells apart on either axis.
      bits |= bit_of(start, cx, cy);
    });
  }

  // 0 for cells outside the square.
  static std::uint32_t bit_of(int start, int cx, int cy) {
    const int column = cx - wide_x(start) + kAround;
    const int row = cy - wide_y(start) + kAround;
    if (column < 0 || column >= kSide || row < 0 || row >= kSide) return 0;
    return 1U << (row * kSide + column);
  }

  // Calls f(x, y, bit) for each of the cells.
  template <class F>
  void each(int start, F&& f) const {
    for_bits(bits, [&](int i) {
      f(wide_x(start) + i % kSide - kAround, wide_y(start) + i / kSide - kAround, 1U << i);
    });
  }
};

// The original numbers cells row by row, so a step off the end of a row enters the next row. It
// checks for this except at the target.
[[nodiscard]] bool wraps_to(const EngineRules& rules, int target);

// Searches from the unit's cell to the target's. Returns the last cell of the path, or -1 when
// there is none, and updates `heuristic`.
[[nodiscard]] int search_path(const EngineRules& rules, int start, int target,
                              const BlockedCells& blocked, LearnedHeuristic& heuristic,
                              AStar& search);

}  // namespace ludus::rts
