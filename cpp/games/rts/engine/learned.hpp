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

#include "games/rts/engine/lanes.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// The entries about the targets that were last searched for, laid out by cell, so that the next
// search for one of them need not gather them. They follow from the entries: a copy of a match may
// begin without.
struct LearnedTables {
  static constexpr int kTables = 8;
  static constexpr int kCells = 512;
  static constexpr std::uint16_t kNowhere = 0xffff;
  static constexpr float kUnasked = -1.0F;

  struct Table {
    std::array<float, kCells> worth{};  // distance to the target as far as one knows, or kUnasked
    std::array<std::uint16_t, kCells> place{};  // of the cell's entry, or kNowhere
  };

  // The last asked for comes first. A key is an owner and a target, plus 1; 0: none.
  std::array<std::uint32_t, kTables> key{};
  std::array<std::uint8_t, kTables> which{};
  std::array<Table, kTables> table{};

  LearnedTables() { clear(); }
  void clear() {
    key.fill(0);
    for (int i = 0; i < kTables; ++i) which[i] = static_cast<std::uint8_t>(i);
  }

  // The table of a key, and whether it holds what belongs there. Else it takes the place of the
  // one that has not been asked for longest, and the caller fills it.
  struct Found {
    Table& table;
    bool filled;
  };
  Found find(std::uint32_t wanted) {
    int at = 0;
    while (at < kTables - 1 && key[at] != wanted) ++at;
    const bool filled = key[at] == wanted;
    const std::uint8_t found = which[at];
    for (; at > 0; --at) {
      key[at] = key[at - 1];
      which[at] = which[at - 1];
    }
    key[0] = wanted;
    which[0] = found;
    return {table[found % kTables], filled};
  }
};

// The view of one search: everything learned by one owner about one target.
class Learned {
 public:
  static constexpr int kCellLimit = LearnedTables::kCells;

  // Whether the owner's cells can be told apart in an entry.
  [[nodiscard]] static bool fits(const EngineRules& rules, int owner) {
    return rules.quirks.learned_paths && rules.cells() <= kCellLimit && owner < 2;
  }

  Learned(const EngineRules& rules, const State& state, const LearnedStore& store, int owner,
          int tx, int ty)
      : rules_(rules),
        state_(state),
        store_(store),
        tx_(tx),
        ty_(ty),
        prefix_(static_cast<std::uint32_t>(owner << 9 | (ty * rules.side + tx))),
        active_(fits(rules, owner)) {
    if (store_.routes != nullptr) changes_.fill(0);
    if (!active_) return;
    const auto [table, filled] = store.tables->find(prefix_ + 1);
    table_ = &table;
    if (!filled) index();
  }

  // The best guess at the distance from (x, y), a cell of the map, to the target.
  [[nodiscard]] float estimate(int x, int y) const {
    if (!active_) return straight(x, y);
    float& worth = table_->worth[y * rules_.side + x];
    if (worth < 0.0F) worth = straight(x, y);
    return worth;
  }

  // Whether this search has learned anything new, and the cells it is about.
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const std::array<std::uint32_t, kMaxSide>& changed_cells() const {
    return changes_;
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
  static constexpr float kEpsilon = 1.0e-5F;

  // What rounding leaves of kEpsilon when it is added to a length of each binade; 0 for binade 0.
  static constexpr std::array<float, 16> kExcess = [] {
    std::array<float, 16> excess{};
    for (unsigned binade = 1; binade < kStraight; ++binade) {
      const auto length = static_cast<float>(1U << (binade - 1));
      const float sum = length + kEpsilon;
      excess[binade] = sum - length;
    }
    return excess;
  }();

  [[nodiscard]] float straight(int x, int y) const {
    const int dx = x - tx_;
    const int dy = y - ty_;
    return std::sqrt(static_cast<float>(dx * dx + dy * dy));
  }

  // Fills the table with the entries of this search, found eight at a time.
  void index() {
    table_->worth.fill(LearnedTables::kUnasked);
    table_->place.fill(LearnedTables::kNowhere);
    if (store_.last != nullptr) {
      for (int i = store_.last[prefix_]; i != 0; i = store_.before[i - 1]) note(i - 1);
      return;
    }
    const U4 want = {prefix_, prefix_, prefix_, prefix_};
    const int size = *store_.size;
    for (int i = 0; i < size; i += 8) {
      unsigned hits = lane_bits(prefixes(i) == want) | lane_bits(prefixes(i + 4) == want) << 4;
      if (i + 8 > size) hits &= (1U << (size - i)) - 1;  // what is past the last entry is 0
      if (hits == 0xff) {                                // most entries of a target come in a row
        for (int k = 0; k < 8; ++k) note(i + k);
        continue;
      }
      for (; hits != 0; hits &= hits - 1) note(i + std::countr_zero(hits));
    }
  }
  void chain(int at, std::uint32_t prefix) {
    if (store_.last == nullptr) return;
    store_.before[at] = store_.last[prefix];
    store_.last[prefix] = static_cast<std::uint16_t>(at + 1);
  }
  void note(int at) {
    const std::uint32_t entry = store_.entry[static_cast<std::size_t>(at)];
    const std::uint32_t cell = entry >> 13 & 511U;
    table_->place[cell] = static_cast<std::uint16_t>(at);
    table_->worth[cell] = worth_of(entry);
  }
  static float worth_of(std::uint32_t entry) {
    const std::uint32_t binade = entry & 15U;
    if (binade == kStraight) return LearnedTables::kUnasked;
    return static_cast<float>(entry >> 4 & 511U) + kExcess[binade];
  }
  [[nodiscard]] U4 prefixes(int i) const {
    U4 v;
    std::memcpy(&v, &store_.entry[static_cast<std::size_t>(i)], sizeof v);
    return v >> 22;
  }

  void put(int x, int y, float value, std::uint32_t binade) {
    const int cell = y * rules_.side + x;
    const bool plain = value <= straight(x, y);
    std::uint16_t& place = table_->place[cell];
    if (place == LearnedTables::kNowhere) {
      if (plain) return;
      if (*store_.size == store_.capacity) forget();
      place = (*store_.size)++;
      chain(place, prefix_);
      note_change(x, y);
    }
    const auto k = static_cast<std::uint32_t>(value);
    const std::uint32_t code = plain ? kStraight : k << 4 | binade;
    std::uint32_t& entry = store_.entry[place];
    const std::uint32_t now = (prefix_ << 9 | static_cast<std::uint32_t>(cell)) << 13 | code;
    if (entry != now) note_change(x, y);
    entry = now;
    // Who stands on the map's edge may be in a cell beside it, whose number is another's: not even
    // a straight distance is kept for that one.
    table_->worth[cell] = worth_of(now);
  }

  void note_change(int x, int y) {
    if (store_.routes == nullptr) return;
    changed_ = true;
    changes_[y] |= 1U << x;
  }

  void forget();

  const EngineRules& rules_;
  const State& state_;
  LearnedStore store_;
  LearnedTables::Table* table_ = nullptr;  // of this search, where it is active
  int tx_, ty_;
  std::uint32_t prefix_;
  bool active_;
  bool changed_ = false;
  std::array<std::uint32_t, kMaxSide> changes_;  // bit x of row y; only for who remembers routes
};

}  // namespace ludus::rts
