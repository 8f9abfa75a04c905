#include "games/rts/engine/learned.hpp"

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

void Learned::forget() {
  std::array<bool, kCellLimit> building{};
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    for_units(rules_, state_, owner, [&](int i) {
      const int cell = cell_of(rules_, state_.x[i], state_.y[i]);
      if (rules_.type[state_.type[i]].building && cell >= 0 && cell < kCellLimit) {
        building[cell] = true;
      }
    });
  }
  constexpr int kEnough = kLearnedEntries / 8;
  const auto compact = [&](auto&& keeps) {
    int n = 0;
    for (int i = 0; i < state_.learned_size; ++i) {
      const std::uint32_t entry = state_.learned[i];
      if (i - n >= kEnough || entry >> 22 == prefix_ || keeps(entry)) state_.learned[n++] = entry;
    }
    for (int i = n; i < state_.learned_size; ++i) state_.learned[i] = 0;
    state_.learned_size = static_cast<std::uint16_t>(n);
  };
  compact([&](std::uint32_t entry) {
    return (entry & 15U) != kStraight && building[entry >> 22 & 511U];
  });
  if (state_.learned_size == kLearnedEntries) {
    compact([](std::uint32_t) { return false; });
  }
  if (state_.learned_size == kLearnedEntries) {  // all of it is about this one target
    state_.learned.fill(0);
    state_.learned_size = 0;
  }
  std::memset(place_.data(), 0xff, sizeof place_);
  index();
}

}  // namespace ludus::rts
