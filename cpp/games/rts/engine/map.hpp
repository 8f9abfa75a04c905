// Points, cells and discs. Every float operation here is in the original's order and precision:
// float32 rounded at each step, except that the cell of a point is computed in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

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

// True when no disc but `except` collides with one at (x, y).
[[nodiscard]] inline bool disc_free(const EngineRules& rules, const State& state, float x, float y,
                                    int except) {
  using F4 = float __attribute__((vector_size(16)));
  using I4 = std::int32_t __attribute__((vector_size(16)));
  if (state.irregular != 0 || !regular(rules, x, y)) [[unlikely]] {
    const bool mine = regular(rules, x, y);
    for (int owner = 0; owner < kMaxOwners; ++owner) {
      const int begin = rules.first_slot[owner];
      for (int i = begin; i < begin + state.units[owner]; ++i) {
        const bool theirs = (state.irregular >> i & 1) == 0;
        if (i == except || mine != theirs) continue;
        if (distance2(x, y, state.x[i], state.y[i]) < kTouch2) return false;
      }
    }
    return true;
  }
  const F4 qx = {x, x, x, x};
  const F4 qy = {y, y, y, y};
  const F4 limit = {kTouch2, kTouch2, kTouch2, kTouch2};
  const I4 skip = {except, except, except, except};
  const I4 lanes = {0, 1, 2, 3};
  I4 hit = {0, 0, 0, 0};
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    const int begin = rules.first_slot[owner];
    const int end = begin + state.units[owner];
    for (int i = begin; i < end; i += 4) {  // lanes past the end are parked far away
      F4 ux, uy;
      std::memcpy(&ux, &state.x[i], sizeof ux);
      std::memcpy(&uy, &state.y[i], sizeof uy);
      const F4 dx = qx - ux;
      const F4 dy = qy - uy;
      const F4 d2 = dx * dx + dy * dy;
      const I4 index = lanes + I4{i, i, i, i};
      hit |= (d2 < limit) & (index != skip);
    }
  }
  return (hit[0] | hit[1] | hit[2] | hit[3]) == 0;
}

// A disc may be at (x, y): inside the map and, with `except` left out, not on another disc.
[[nodiscard]] inline bool can_pass(const EngineRules& rules, const State& state, float x, float y,
                                   int except) {
  return inside(rules, x, y) && disc_free(rules, state, x, y, except);
}

}  // namespace ludus::rts
