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

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// The view of one search: everything learned by one owner about one target.
class Learned {
 public:
  static constexpr int kCellLimit = 512;

  // Whether the owner's cells can be told apart in an entry.
  [[nodiscard]] static bool fits(const EngineRules& rules, int owner) {
    return rules.quirks.learned_paths && rules.cells() <= kCellLimit && owner < 2;
  }

  Learned(const EngineRules& rules, State& state, int owner, int tx, int ty)
      : rules_(rules),
        state_(state),
        tx_(tx),
        ty_(ty),
        prefix_(static_cast<std::uint32_t>(owner << 9 | (ty * rules.side + tx))),
        active_(fits(rules, owner)) {
    if (active_) index();
  }

  // The best guess at the distance from the cell (x, y) to the target.
  [[nodiscard]] float estimate(int x, int y) const {
    if (active_) {
      const std::uint16_t place = place_[y * rules_.side + x];
      if (place != kNowhere) {
        const std::uint32_t entry = state_.learned[place];
        const std::uint32_t binade = entry & 15U;
        const auto k = static_cast<float>(entry >> 4 & 511U);
        if (binade != kStraight) return binade == 0 ? k : k + excess(binade);
      }
    }
    return straight(x, y);
  }

  // After a search that found the target at distance `length`: a cell of the path, or another cell
  // that was looked at, g steps from the start.
  void on_path(int x, int y, float length, float g) {
    if (active_) put(x, y, length - g, 0);
  }
  void off_path(int x, int y, float length, float g) {
    if (!active_) return;
    const auto whole = static_cast<std::uint32_t>(length);
    put(x, y, (length + kEpsilon) - g, static_cast<std::uint32_t>(std::bit_width(whole)));
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

  [[nodiscard]] float straight(int x, int y) const {
    const int dx = x - tx_;
    const int dy = y - ty_;
    return std::sqrt(static_cast<float>(dx * dx + dy * dy));
  }

  void note(int i) {
    const std::uint32_t entry = state_.learned[static_cast<std::size_t>(i)];
    place_[entry >> 13 & 511U] = static_cast<std::uint16_t>(i);
  }
  // Finds the entries of this search, eight at a time.
  void index() {
    using U4 = std::uint32_t __attribute__((vector_size(16)));
    std::memset(place_.data(), 0xff, sizeof place_);
    const U4 want = {prefix_, prefix_, prefix_, prefix_};
    for (int i = 0; i < state_.learned_size; i += 8) {
      U4 a;
      U4 b;
      std::memcpy(&a, &state_.learned[static_cast<std::size_t>(i)], sizeof a);
      std::memcpy(&b, &state_.learned[static_cast<std::size_t>(i) + 4], sizeof b);
      const auto hit_a = (a >> 22) == want;
      const auto hit_b = (b >> 22) == want;
      const auto hit = hit_a | hit_b;
      std::uint64_t half[2];
      std::memcpy(half, &hit, sizeof half);
      if ((half[0] | half[1]) == 0) continue;
      for (int k = 0; k < 4; ++k) {  // what is past the last entry is 0 and taken back below
        if (hit_a[k] != 0) note(i + k);
        if (hit_b[k] != 0) note(i + k + 4);
      }
    }
    if (prefix_ == 0 && place_[0] >= state_.learned_size) place_[0] = kNowhere;
  }

  void put(int x, int y, float value, std::uint32_t binade) {
    const int cell = y * rules_.side + x;
    const bool plain = value <= straight(x, y);
    if (place_[cell] == kNowhere) {
      if (plain) return;
      if (state_.learned_size == kLearnedEntries) forget();
      place_[cell] = state_.learned_size++;
    }
    const auto k = static_cast<std::uint32_t>(value);
    const std::uint32_t code = plain ? kStraight : k << 4 | binade;
    state_.learned[place_[cell]] = (prefix_ << 9 | static_cast<std::uint32_t>(cell)) << 13 | code;
  }

  void forget();

  const EngineRules& rules_;
  State& state_;
  int tx_, ty_;
  std::uint32_t prefix_;
  bool active_;
  std::array<std::uint16_t, kCellLimit> place_;
};

}  // namespace ludus::rts
