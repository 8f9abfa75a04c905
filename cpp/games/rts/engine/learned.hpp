// What path searches have learned about distances, as the original keeps it for the whole match:
// after a search to a target, the cells of the path are worth their true remaining length, and the
// other cells that were looked at are worth (length + 1e-5) - g. Later searches to the same target
// use these values instead of the straight distance, so they decide which of several paths is
// taken.
//
// An entry is 32 bits: owner (1), target cell (9), cell (9), value (13). A value is an integer k,
// or k plus the float32 rounding of 1e-5 next to the length, which only depends on the length's
// binade: 9 bits of k and 4 of binade say every value that occurs, to the last bit. Entries are in
// the order of their first insertion. When they are full the oldest about places where no building
// stands are forgotten; one match in some hundreds gets there.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

[[nodiscard]] inline float straight_distance(const EngineRules& rules, int a, int b) {
  const int dx = a % rules.side - b % rules.side;
  const int dy = a / rules.side - b / rules.side;
  return std::sqrt(static_cast<float>(dx * dx + dy * dy));
}

// The view of one search: everything learned by one owner about one target.
class Learned {
 public:
  static constexpr int kCellLimit = 512;

  // Whether the owner's cells can be told apart in an entry.
  [[nodiscard]] static bool fits(const EngineRules& rules, int owner) {
    return rules.quirks.learned_paths && rules.cells() <= kCellLimit && owner < 2;
  }

  Learned(const EngineRules& rules, State& state, int owner, int target)
      : rules_(rules),
        state_(state),
        target_(target),
        prefix_(static_cast<std::uint32_t>(owner << 9 | target)) {
    index();
  }

  // The best guess at the distance from `cell` to the target.
  [[nodiscard]] float estimate(int cell) const {
    if (place_[cell] == kNowhere) return straight_distance(rules_, cell, target_);
    const std::uint32_t entry = state_.learned[place_[cell]];
    const std::uint32_t binade = entry & 15U;
    const auto k = static_cast<float>(entry >> 4 & 511U);
    if (binade == kStraight) return straight_distance(rules_, cell, target_);
    return binade == 0 ? k : k + excess(binade);
  }

  void on_path(int cell, float length, float g) { put(cell, length - g, 0); }
  void off_path(int cell, float length, float g) {
    const auto whole = static_cast<std::uint32_t>(length);
    put(cell, (length + kEpsilon) - g, static_cast<std::uint32_t>(std::bit_width(whole)));
  }

 private:
  static constexpr std::uint32_t kStraight = 15;  // a binade that does not occur
  static constexpr std::uint16_t kNowhere = 0xffff;
  static constexpr float kEpsilon = 1.0e-5F;

  // What rounding leaves of kEpsilon when it is added to a length of that binade.
  [[nodiscard]] static float excess(std::uint32_t binade) {
    const auto length = static_cast<float>(1U << (binade - 1));
    return (length + kEpsilon) - length;
  }

  void index() {
    std::memset(place_.data(), 0xff, sizeof place_);
    for (int i = 0; i < state_.learned_size; ++i) {
      const std::uint32_t entry = state_.learned[i];
      if (entry >> 22 == prefix_) place_[entry >> 13 & 511U] = static_cast<std::uint16_t>(i);
    }
  }

  void put(int cell, float value, std::uint32_t binade) {
    const bool straight = value <= straight_distance(rules_, cell, target_);
    if (place_[cell] == kNowhere) {
      if (straight) return;
      if (state_.learned_size == kLearnedEntries) forget();
      place_[cell] = state_.learned_size++;
    }
    const auto k = static_cast<std::uint32_t>(value);
    const std::uint32_t code = straight ? kStraight : k << 4 | binade;
    state_.learned[place_[cell]] = (prefix_ << 9 | static_cast<std::uint32_t>(cell)) << 13 | code;
  }

  void forget();

  const EngineRules& rules_;
  State& state_;
  int target_;
  std::uint32_t prefix_;
  std::array<std::uint16_t, kCellLimit> place_;
};

}  // namespace ludus::rts
