#include "games/rts/engine/learned_heuristic.hpp"

#include "games/rts/engine/map.hpp"
#include "games/rts/engine/path_cache.hpp"

namespace ludus::rts {

void LearnedHeuristic::evict() {
  std::array<bool, kCellLimit> building{};
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    for_units(rules_, state_, owner, [&](int i) {
      const int cell = cell_of(rules_, state_.x[i], state_.y[i]);
      if (rules_.type[state_.type[i]].building && cell >= 0 && cell < kCellLimit) {
        building[cell] = true;
      }
    });
  }
  const int enough = store_.capacity / 8;
  const auto compact = [&](auto&& keeps) {
    int n = 0;
    for (int i = 0; i < *store_.size; ++i) {
      const std::uint32_t entry = store_.entry[i];
      if (i - n >= enough || entry >> 22 == prefix_ || keeps(entry)) store_.entry[n++] = entry;
    }
    for (int i = n; i < *store_.size; ++i) store_.entry[i] = 0;
    *store_.size = static_cast<std::uint16_t>(n);
  };
  compact([&](std::uint32_t entry) {
    return (entry & 15U) != kStraight && building[entry >> 22 & 511U];
  });
  if (*store_.size == store_.capacity) {
    compact([](std::uint32_t) { return false; });
  }
  if (*store_.size == store_.capacity) {  // all of it is about this one target
    std::fill_n(store_.entry, store_.capacity, 0U);
    *store_.size = 0;
  }
  if (store_.last != nullptr) {
    std::fill_n(store_.last, kHeuristicChains, std::uint16_t{0});
    std::fill_n(store_.before, store_.capacity, std::uint16_t{0});
    for (int i = 0; i < *store_.size; ++i) link(i, store_.entry[i] >> 22);
  }
  if (store_.path_cache != nullptr) store_.path_cache->clear_paths();
  store_.tables->clear();  // entries have moved
  table_ = &store_.tables->find(prefix_ + 1).table;
  index();
}

}  // namespace ludus::rts
