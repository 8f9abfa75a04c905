#include "games/rts/engine/line_of_sight.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "games/rts/engine/simd.hpp"

namespace ludus::rts {

namespace {

// The samples of a line: point i of n at start + (direction * step) * i.
struct Line {
  float sx, sy, stepx, stepy;
  int n;
  int start, target;  // wide cells that are not tested

  // Whether the disc of `slot` is free at every tested sample: the first in each cell.
  [[nodiscard]] bool free(const EngineRules& rules, const State& state, int slot, float tx,
                          float ty) const {
    const int from = cell_of(rules, sx, sy);
    const int to = cell_of(rules, tx, ty);
    int before = -1;
    for (int i = 1; i < n; ++i) {
      const float x = sx + stepx * static_cast<float>(i);
      const float y = sy + stepy * static_cast<float>(i);
      const int now = cell_of(rules, x, y);
      if (now == before) continue;
      before = now;
      if (now != from && now != to && !can_pass(rules, state, x, y, slot)) return false;
    }
    return true;
  }

  // Whether one of the tested samples touches a disc at (ux, uy), for a line well inside the map.
  // Samples before `begin` and after `end` are too far away.
  [[nodiscard]] bool meets(int begin, int end, float ux, float uy) const {
    F4 i = broadcast4(static_cast<float>(begin - 1)) + F4{0.0F, 1.0F, 2.0F, 3.0F};
    I4 before{};
    I4 asked = {0, -1, -1, -1};
    for (int k = begin - 1; k <= end; k += 4) {
      const F4 x4 = sx + stepx * i;
      const F4 y4 = sy + stepy * i;
      const I4 now = cells4(y4) * kMaxSide + cells4(x4);
      const I4 entered = now != __builtin_shufflevector(before, now, 3, 4, 5, 6);
      const F4 dx = x4 - ux;
      const F4 dy = y4 - uy;
      const I4 touched = (dx * dx + dy * dy < kTouch2) & (i < static_cast<float>(n));
      if (lane_bits(asked & entered & touched & (now != start) & (now != target)) != 0) return true;
      before = now;
      asked = I4{-1, -1, -1, -1};
      i += 4.0F;
    }
    return false;
  }
};

constexpr float kLineReach =
    0.501F;                        // discs further than this from a line do not touch its samples
constexpr float kMargin = 0.125F;  // of map edge inside which rounding cannot leave the map

bool well_inside(const EngineRules& rules, float x, float y) {
  const float low = -0.5F + kMargin;
  const float high = static_cast<float>(rules.side) - 0.5F - kMargin;
  return x > low && x < high && y > low && y < high;
}

// Where a line crosses from cell to cell along one axis. It samples the same points as line_free,
// so that the first sample in a cell is found to the last bit.
struct Axis {
  float from, step, inverse;
  int samples;

  Axis(float start, float by, int n)
      : from(start), step(by), inverse(by == 0.0F ? 0.0F : 1.0F / by), samples(n) {}

  [[nodiscard]] float at(int i) const { return from + step * static_cast<float>(i); }

  // The first sample after i that is in another cell than c, or `samples`.
  [[nodiscard]] int leaves(int i, int c) const {
    if (step == 0.0F) return samples;
    const float edge = static_cast<float>(c) + (step > 0.0F ? 0.5F : (c > 0 ? -0.5F : -1.5F));
    const auto beyond = [&](int k) { return step > 0.0F ? at(k) >= edge : at(k) < edge; };
    const float guess = (edge - from) * inverse;
    int k =
        guess < static_cast<float>(samples) ? std::max(i + 1, static_cast<int>(guess)) : samples;
    while (k > i + 1 && beyond(k - 1)) --k;
    while (k < samples && !beyond(k)) ++k;
    return k;
  }
};

// Whether a wall is at a tested sample: the first in each cell. `from` and `to`, the cells of the
// ends, are not tested.
bool wall_between(const EngineRules& rules, const State& state, const Line& line, int from,
                  int to) {
  const int n = line.n;
  // Four samples spread over the line usually find a wall sooner than the walk.
  if (n >= 8) {
    const I4 some = I4{n, 3 * n, 5 * n, 7 * n} >> 3;
    const F4 i = __builtin_convertvector(some, F4);
    const I4 at = cells4(line.sy + line.stepy * i) << kWideBits | cells4(line.sx + line.stepx * i);
    for (int k = 0; k < 4; ++k) {
      const int cx = wide_x(at[k]);
      const int cy = wide_y(at[k]) & (kMaxSide - 1);
      if (!walled(state, cx, cy)) continue;
      const int now = cy * rules.side + cx;
      if (now != from && now != to) return true;
    }
  }
  const Axis across(line.sx, line.stepx, n);
  const Axis down(line.sy, line.stepy, n);
  int cx = cell_coord(across.at(1));
  int cy = cell_coord(down.at(1));
  int next_x = across.leaves(1, cx);
  int next_y = down.leaves(1, cy);
  for (;;) {
    const int now = cy * rules.side + cx;
    if (now != from && now != to) {
      if (!inside(rules, cx, cy) || walled(state, cx, cy)) return true;
    }
    const int i = std::min(next_x, next_y);
    if (i >= n) return false;
    if (next_x == i) {
      cx = cell_coord(across.at(i));
      next_x = across.leaves(i, cx);
    }
    if (next_y == i) {
      cy = cell_coord(down.at(i));
      next_y = down.leaves(i, cy);
    }
  }
}

}  // namespace

bool line_free(const EngineRules& rules, const State& state, int slot, float sx, float sy, float tx,
               float ty, int& first) {
  const float lx = tx - sx;
  const float ly = ty - sy;
  const float dist = std::sqrt(lx * lx + ly * ly);
  const int n = static_cast<int>(static_cast<double>(dist * 10.0F) + 0.5);
  if (n < 2) return true;
  const float step = dist / static_cast<float>(n);
  const Line line{sx,
                  sy,
                  lx / dist * step,
                  ly / dist * step,
                  n,
                  wide(cell_coord(sx), cell_coord(sy)),
                  wide(cell_coord(tx), cell_coord(ty))};
  if (rules.terrain &&
      wall_between(rules, state, line, cell_of(rules, sx, sy), cell_of(rules, tx, ty))) {
    return false;
  }
  if (!well_inside(rules, sx, sy) || !well_inside(rules, tx, ty)) {
    return line.free(rules, state, slot, tx, ty);
  }
  // Only samples near a disc can fail, so only these are tested.
  const float reach = kLineReach * dist;
  const auto samples = static_cast<float>(n) / (dist * dist);  // a unit of `along`
  const auto blocks = [&](int i) {
    const float ux = state.x[i];
    const float uy = state.y[i];
    const float along = (ux - sx) * lx + (uy - sy) * ly;
    const int begin = std::max(1, static_cast<int>((along - reach) * samples));
    const int end = std::min(n - 1, static_cast<int>((along + reach) * samples));
    return line.meets(begin, end, ux, uy);
  };
  const auto near_line = [&](int i) {
    const float dx = state.x[i] - sx;
    const float dy = state.y[i] - sy;
    const float across = dx * ly - dy * lx;
    return across * across < reach * reach;
  };
  if (first != kNone && near_line(first) && blocks(first)) return false;
  const F4 far = broadcast4(reach * reach);
  const F4 low = broadcast4(-reach);
  const F4 high = broadcast4(dist * dist + reach);
  std::uint64_t near = 0;
  for_groups_of_4(state, [&](int i) {
    const F4 dx = load4(&state.x[i]) - sx;
    const F4 dy = load4(&state.y[i]) - sy;
    const F4 across = dx * ly - dy * lx;
    const F4 along = dx * lx + dy * ly;
    const I4 here = (across * across < far) & (along > low) & (along < high);
    near |= static_cast<std::uint64_t>(lane_bits(here)) << i;
  });
  near &= ~(state.irregular | std::uint64_t{1} << slot);
  const bool middle =
      tx == static_cast<float>(cell_coord(tx)) && ty == static_cast<float>(cell_coord(ty));
  for (; near != 0; near &= near - 1) {
    const int i = std::countr_zero(near);
    // A disc in the middle of the target cell touches no sample outside of that cell.
    if (middle && state.x[i] == tx && state.y[i] == ty) continue;
    if (blocks(i)) {
      first = i;
      return false;
    }
  }
  return true;
}

}  // namespace ludus::rts
