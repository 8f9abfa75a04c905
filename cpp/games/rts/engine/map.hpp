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
struct Cell {
  int x = 0, y = 0;
  bool operator==(const Cell&) const = default;
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

// The original's spatial hash covers (-0.5 .. side + 0.5). Points outside are kept apart and
// collide with each other only.
[[nodiscard]] inline bool regular(const EngineRules& rules, float x, float y) {
  const float high = static_cast<float>(rules.side) + 0.5F;
  return -0.5F <= x && x <= high && -0.5F <= y && y <= high;
}

inline constexpr float kTouch2 = 0.25F;  // discs of radius 0.25 collide when d^2 is below this

// Uniform grid for collision tests, one axis at a time: a bucket is a bit mask of the slots in one
// strip of the map. Buckets of columns and of rows are intersected.
//
// The bucket of a coordinate above -1.5. A bucket is a little wider than half a cell, so rounding
// cannot put points less than half a cell apart into buckets that are not neighbours.
[[nodiscard]] inline int bucket_of(float v) { return static_cast<int>(v * 1.99F + 4.0F); }

// The slots in the 3 x 3 buckets around a point: all that a disc there can touch and, as bucket
// numbers wrap around, some that are far away.
[[nodiscard]] inline std::uint64_t around(const State& state, int bucket_x, int bucket_y) {
  const std::uint64_t* column = &state.column[static_cast<unsigned>(bucket_x - 1) % kBuckets];
  const std::uint64_t* row = &state.row[static_cast<unsigned>(bucket_y - 1) % kBuckets];
  return (column[0] | column[1] | column[2]) & (row[0] | row[1] | row[2]);
}

// Whether buckets are far enough inside the map for every point in them to be regular and inside.
[[nodiscard]] inline bool inner_buckets(const EngineRules& rules, int bucket_x, int bucket_y) {
  const auto most = static_cast<unsigned>(2 * rules.side - 3);
  return static_cast<unsigned>(bucket_x - 4) <= most && static_cast<unsigned>(bucket_y - 4) <= most;
}

[[nodiscard]] inline std::uint64_t slot_bit(int slot) {
  return slot < 0 ? 0 : std::uint64_t{1} << slot;
}

// Whether a disc of `among` collides with one at (x, y).
[[nodiscard]] inline bool touches(const State& state, std::uint64_t among, float x, float y) {
  for (; among != 0; among &= among - 1) {
    const int i = std::countr_zero(among);
    if (distance2(x, y, state.x[i], state.y[i]) < kTouch2) return true;
  }
  return false;
}

// The slots that a disc at (x, y) can collide with at all: those on the same side of the border of
// the original's spatial hash.
[[nodiscard]] inline std::uint64_t collision_group(const EngineRules& rules, const State& state,
                                                   float x, float y) {
  return regular(rules, x, y) ? ~state.irregular : state.irregular;
}

// True when no disc but `except` collides with one at (x, y), a point inside the map.
[[nodiscard]] inline bool disc_free(const EngineRules& rules, const State& state, float x, float y,
                                    int except) {
  const std::uint64_t near = around(state, bucket_of(x), bucket_of(y));
  return !touches(state, near & collision_group(rules, state, x, y) & ~slot_bit(except), x, y);
}

// The cell is on the map and no disc of `among` is in the way in its middle.
[[nodiscard]] inline bool cell_free(const EngineRules& rules, const State& state, Cell cell,
                                    std::uint64_t among) {
  if (!inside(rules, cell.x, cell.y)) return false;
  const auto x = static_cast<float>(cell.x);
  const auto y = static_cast<float>(cell.y);
  return !touches(state, around(state, bucket_of(x), bucket_of(y)) & among, x, y);
}

// Update of the buckets when a unit enters or leaves a point.
template <class F>
inline void for_buckets(State& state, int bucket_x, int bucket_y, F&& f) {
  const unsigned c = static_cast<unsigned>(bucket_x) % kBuckets;
  const unsigned r = static_cast<unsigned>(bucket_y) % kBuckets;
  f(state.column[c]);
  f(state.row[r]);
  if (c < 2) f(state.column[c + kBuckets]);
  if (r < 2) f(state.row[r + kBuckets]);
}
inline void enter_buckets(State& state, int slot, int bucket_x, int bucket_y) {
  for_buckets(state, bucket_x, bucket_y, [&](std::uint64_t& bucket) { bucket |= slot_bit(slot); });
}
inline void leave_buckets(State& state, int slot, int bucket_x, int bucket_y) {
  for_buckets(state, bucket_x, bucket_y, [&](std::uint64_t& bucket) { bucket &= ~slot_bit(slot); });
}

[[nodiscard]] inline bool walled(const State& state, int cx, int cy) {
  return (state.wall[cy] >> cx & 1) != 0;
}

// Whether the cell of a point inside the map is passable.
[[nodiscard]] inline bool open_ground(const EngineRules& rules, const State& state, float x,
                                      float y) {
  return !rules.terrain || !walled(state, cell_coord(x), cell_coord(y));
}

// A disc may be at (x, y): inside the map, not on a wall and, with `except` left out, not on
// another disc.
[[nodiscard]] inline bool can_pass(const EngineRules& rules, const State& state, float x, float y,
                                   int except) {
  const int sx = bucket_of(x);
  const int sy = bucket_of(y);
  if (!inner_buckets(rules, sx, sy)) [[unlikely]] {
    return inside(rules, x, y) && open_ground(rules, state, x, y) &&
           disc_free(rules, state, x, y, except);
  }
  if (!open_ground(rules, state, x, y)) return false;
  return !touches(state, around(state, sx, sy) & ~state.irregular & ~slot_bit(except), x, y);
}

// A unit of this type may be put at (x, y).
[[nodiscard]] inline bool can_place(const EngineRules& rules, const State& state,
                                    const UnitType& type, float x, float y) {
  if (!type.on_walls) return can_pass(rules, state, x, y, -1);
  return inside(rules, x, y) && walled(state, cell_coord(x), cell_coord(y)) &&
         disc_free(rules, state, x, y, -1);
}

}  // namespace ludus::rts
