#include "games/rts/engine/fog.hpp"

#include <algorithm>
#include <cstdlib>

namespace ludus::rts {

namespace {

constexpr int kShort = 15;  // radii up to this have their rows ready

// Row k: the cells up to k left and right of bit 16.
constexpr std::array<std::uint64_t, kShort + 1> kSpan = [] {
  std::array<std::uint64_t, kShort + 1> span{};
  for (int k = 0; k <= kShort; ++k) {
    span[static_cast<std::size_t>(k)] = ((std::uint64_t{2} << 2 * k) - 1) << (16 - k);
  }
  return span;
}();

// The cells up to `half` left and right of cx, as far as there are bits.
std::uint32_t wide_span(int cx, int half) {
  const int low = std::max(0, cx - half);
  const int high = std::min(31, cx + half);
  return (0xffffffffU >> (31 - (high - low))) << low;
}

}  // namespace

Sight sight_of(const EngineRules& rules, const State& state, int owner) {
  Sight sight;
  const int last = rules.side - 1;
  for_units(rules, state, owner, [&](int i) {
    const int cx = std::clamp(cell_coord(state.x[i]), 0, last);
    const int cy = std::clamp(cell_coord(state.y[i]), 0, last);
    const int radius = rules.type[state.type[i]].vision;
    // A diamond: |dx| + |dy| <= radius.
    for (int y = std::max(0, cy - radius); y <= std::min(last, cy + radius); ++y) {
      const int half = radius - std::abs(y - cy);
      sight.row[y] |=
          half <= kShort
              ? static_cast<std::uint32_t>(kSpan[static_cast<std::size_t>(half)] << cx >> 16)
              : wide_span(cx, half);
    }
  });
  const std::uint32_t all = 0xffffffffU >> (31 - last);
  for (int y = 0; y <= last; ++y) sight.row[y] &= all;
  return sight;
}

std::uint64_t visible_units(const EngineRules& rules, const State& state, const Sight& sight) {
  std::uint64_t seen = 0;
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    for_units(rules, state, owner, [&](int i) {
      const int cx = cell_coord(state.x[i]);
      const int cy = cell_coord(state.y[i]);
      if (inside(rules, cx, cy) && sight.cell(cx, cy)) seen |= std::uint64_t{1} << i;
    });
  }
  return seen;
}

}  // namespace ludus::rts
