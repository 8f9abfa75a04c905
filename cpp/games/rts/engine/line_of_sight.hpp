// Line of sight: whether a unit can walk straight to a point, and the visibility mask of a cell.
#pragma once

#include <array>
#include <cstdint>

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

// Whether the disc of `slot` can walk the straight line from s to t, sampled ten times a cell. The
// start cell and the target cell are not tested.
// `first`: a unit to test first (kNone: no guess); set to the unit that blocks.
[[nodiscard]] bool line_free(const EngineRules& rules, const State& state, int slot, float sx,
                             float sy, float tx, float ty, int& first);

// Visibility mask: a superset of the cells that a straight line from any point of the start cell
// can reach. The samples of a line move like a chess king that never reverses on either axis, and
// walls stop it; the mask is the flood fill of these moves, a row of bits at a time. Cells in the
// mask still need the exact test (line_free).
class VisibilityMask {
 public:
  VisibilityMask(const EngineRules& rules, const State& state, int start)
      : state_(state), side_(rules.side), all_(0xffffffffU >> (32 - rules.side)) {
    for (const int down : {-1, 1}) {
      sweep<true>(wide_x(start), wide_y(start), down);
      sweep<false>(wide_x(start), wide_y(start), down);
    }
  }

  [[nodiscard]] bool may_see(int cell) const {
    return (row_[wide_y(cell)] >> wide_x(cell) & 1) != 0;
  }

 private:
  // Along a row: from the bits of `from` as far as `open` is set.
  static std::uint32_t rightwards(std::uint32_t from, std::uint32_t open) {
    return (((open + from) ^ open) & open) | from;  // the carry runs through what is open
  }
  static std::uint32_t leftwards(std::uint32_t from, std::uint32_t open) {
    for (int by = 1; by < kMaxSide; by *= 2) {
      from |= open & from >> by;
      open &= open >> by;
    }
    return from;
  }

  template <bool kRight>
  void sweep(int cx, int cy, int down) {
    std::uint32_t here = 1U << cx;
    std::uint32_t open = (~state_.wall[cy] & all_) | here;
    for (int y = cy;;) {
      here = kRight ? rightwards(here, open) : leftwards(here, open);
      row_[y] |= here;
      y += down;
      if (y < 0 || y >= side_) return;
      open = ~state_.wall[y] & all_;
      here = (here | (kRight ? here << 1 : here >> 1)) & open;
      if (here == 0) return;
    }
  }

  const State& state_;
  int side_;
  std::uint32_t all_;
  std::array<std::uint32_t, kMaxSide> row_{};
};

}  // namespace ludus::rts
