// Straight lines over the map: what stands in the way of a unit that walks one.
#pragma once

#include <array>
#include <cstdint>

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

// The straight line from s to t as a disc of `slot` would walk it, sampled ten times a cell; the
// start cell and the target cell are not looked at.
// `first` is a unit that is looked at before the others (kNone: no guess); it becomes the one that
// was in the way.
[[nodiscard]] bool line_free(const EngineRules& rules, const State& state, int slot, float sx,
                             float sy, float tx, float ty, int& first);

// The cells that a straight line from the middle of nowhere in one cell can possibly end in:
// samples of a line go from cell to cell like a king who never turns back on either axis, and walls
// stop him. A few words of bits instead of a walk along each line; what is left is walked.
class Outlook {
 public:
  Outlook(const EngineRules& rules, const State& state, int start)
      : state_(state), side_(rules.side), all_(0xffffffffU >> (32 - rules.side)) {
    for (const int down : {-1, 1}) {
      look<true>(wide_x(start), wide_y(start), down);
      look<false>(wide_x(start), wide_y(start), down);
    }
  }

  [[nodiscard]] bool may_see(int cell) const {
    return (row_[wide_y(cell)] >> wide_x(cell) & 1) != 0;
  }

 private:
  // Along a row, from `from` as far as `open` goes.
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
  void look(int cx, int cy, int down) {
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
