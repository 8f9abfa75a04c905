// Points, cells and discs. Every float operation here is in the original's order and precision:
// float32 rounded at each step, except that the cell of a point is computed in double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

struct Point {
  float x, y;
};

[[nodiscard]] inline float distance2(float ax, float ay, float bx, float by) {
  const float dx = ax - bx;
  const float dy = ay - by;
  return dx * dx + dy * dy;
}

// Shortens (x, y) to length `most` if it is longer.
inline void shorten(float& x, float& y, float most) {
  const float length = std::sqrt(x * x + y * y);
  if (length > most) {
    const float scale = most / length;
    x *= scale;
    y *= scale;
  }
}

// Truncates towards zero, so that (-1.5, 19.5) maps onto 0..19 on a map of 20 cells.
[[nodiscard]] inline int cell_coord(float v) {
  return static_cast<int>(static_cast<double>(v) + 0.5);
}
[[nodiscard]] inline int cell_of(const EngineRules& rules, float x, float y) {
  return cell_coord(y) * rules.side + cell_coord(x);
}
[[nodiscard]] inline bool inside(const EngineRules& rules, int cx, int cy, int margin = 0) {
  return cx >= margin && cx < rules.side - margin && cy >= margin && cy < rules.side - margin;
}
[[nodiscard]] inline bool inside(const EngineRules& rules, float x, float y, int margin = 0) {
  if (!rules.quirks.loose_edges && (x < -0.5F || y < -0.5F)) return false;
  return inside(rules, cell_coord(x), cell_coord(y), margin);
}

// The original keeps units in buckets over (-0.5 .. side + 0.5); points outside are kept apart and
// only collide with each other.
[[nodiscard]] inline bool regular(const EngineRules& rules, float x, float y) {
  const float high = static_cast<float>(rules.side) + 0.5F;
  return -0.5F <= x && x <= high && -0.5F <= y && y <= high;
}

inline constexpr float kTouch2 = 0.25F;  // discs of radius 0.25 collide when d^2 is below this

// The slots, but `except`, that stand in the cell (cx, cy) or next to it: all that a disc in that
// cell can touch.
[[nodiscard]] inline std::uint64_t neighbours(const State& state, int cx, int cy, int except) {
  const std::uint64_t columns = state.column[cx] | state.column[cx + 1] | state.column[cx + 2];
  const std::uint64_t rows = state.row[cy] | state.row[cy + 1] | state.row[cy + 2];
  const std::uint64_t self = except < 0 ? 0 : std::uint64_t{1} << except;
  return columns & rows & ~self;
}

// Where the original's spatial hash makes a difference: some unit, or the point, is outside its
// rectangle.
[[nodiscard]] bool disc_free_irregular(const EngineRules& rules, const State& state, float x,
                                       float y, int except);

// True when no disc but `except` collides with one at (x, y), a point inside the map.
[[nodiscard]] inline bool disc_free(const EngineRules& rules, const State& state, float x, float y,
                                    int except) {
  if (state.irregular != 0 || !regular(rules, x, y)) [[unlikely]] {
    return disc_free_irregular(rules, state, x, y, except);
  }
  std::uint64_t near = neighbours(state, cell_coord(x), cell_coord(y), except);
  for (; near != 0; near &= near - 1) {
    const int i = std::countr_zero(near);
    if (distance2(x, y, state.x[i], state.y[i]) < kTouch2) return false;
  }
  return true;
}

// Keeps the columns and rows in step when a unit goes from one point to another.
inline void enter_cell(State& state, int slot, float x, float y) {
  const std::uint64_t bit = std::uint64_t{1} << slot;
  state.column[cell_coord(x) + 1] |= bit;
  state.row[cell_coord(y) + 1] |= bit;
}
inline void leave_cell(State& state, int slot, float x, float y) {
  const std::uint64_t bit = std::uint64_t{1} << slot;
  state.column[cell_coord(x) + 1] &= ~bit;
  state.row[cell_coord(y) + 1] &= ~bit;
}

// A disc may be at (x, y): inside the map and, with `except` left out, not on another disc.
[[nodiscard]] inline bool can_pass(const EngineRules& rules, const State& state, float x, float y,
                                   int except) {
  return inside(rules, x, y) && disc_free(rules, state, x, y, except);
}

}  // namespace ludus::rts
