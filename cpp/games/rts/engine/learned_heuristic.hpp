// Learned heuristic of path search, in the manner of LRTA* and adaptive A*. As in the original, it
// lasts for the whole match: after a search to a target, h of a cell on the path is its true
// remaining length, and h of any other expanded cell is (length + 1e-5) - g. Later searches to the
// same target use these values instead of the Euclidean distance, so they decide which of several
// paths is taken.
//
// An entry is 32 bits: owner (1), target cell (9), cell (9), value (13). A value is an integer k,
// or k plus the float32 rounding of 1e-5 next to the length, which only depends on the length's
// binade: 9 bits of k and 4 of binade encode every value that occurs exactly. Entries are in the
// order of their first insertion. When the store is full, the oldest entries whose target holds no
// building are evicted; one match in some hundreds gets there.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "games/rts/engine/simd.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// Dense tables of the most recent targets, indexed by cell: a cache over the entries, so that the
// next search to one of them need not gather its entries. It is derived data: a copy of a match may
// start with an empty one.
struct HeuristicTables {
  static constexpr int kTables = 8;
  static constexpr int kCells = 512;
  static constexpr std::uint16_t kNoEntry = 0xffff;
  static constexpr float kUnset = -1.0F;

  struct Table {
    std::array<float, kCells> value{};          // h of the cell, or kUnset
    std::array<std::uint16_t, kCells> place{};  // index of the cell's entry, or kNoEntry
  };

  // Most recently used first. A key is an owner and a target, plus 1; 0: empty.
  std::array<std::uint32_t, kTables> key{};
  std::array<std::uint8_t, kTables> which{};
  std::array<Table, kTables> table{};

  HeuristicTables() { clear(); }
  void clear() {
    key.fill(0);
    for (int i = 0; i < kTables; ++i) which[i] = static_cast<std::uint8_t>(i);
  }

  // The table of a key, and whether it is filled. If not, it replaces the least recently used table
  // and the caller fills it.
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

// The heuristic of one search: all values of one owner for one target.
class LearnedHeuristic {
 public:
  static constexpr int kCellLimit = HeuristicTables::kCells;

  // Whether an entry can encode the owner and the cells of the map.
  [[nodiscard]] static bool fits(const EngineRules& rules, int owner) {
    return rules.quirks.learned_paths && rules.cells() <= kCellLimit && owner < 2;
  }

  LearnedHeuristic(const EngineRules& rules, const State& state, const HeuristicStore& store,
                   int owner, int tx, int ty)
      : rules_(rules),
        state_(state),
        store_(store),
        tx_(tx),
        ty_(ty),
        prefix_(static_cast<std::uint32_t>(owner << 9 | (ty * rules.side + tx))),
        active_(fits(rules, owner)) {
    if (store_.path_cache != nullptr) changes_.fill(0);
    if (!active_) return;
    const auto [table, filled] = store.tables->find(prefix_ + 1);
    table_ = &table;
    if (!filled) index();
  }

  // h: the estimated distance from (x, y), a cell of the map, to the target.
  [[nodiscard]] float estimate(int x, int y) const {
    if (!active_) return straight_distance(x, y);
    float& value = table_->value[y * rules_.side + x];
    if (value < 0.0F) value = straight_distance(x, y);
    return value;
  }

  // Whether this search has changed any value, and of which cells.
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const std::array<std::uint32_t, kMaxSide>& changed_cells() const {
    return changes_;
  }

  // After a search that found the target at distance `length`: a cell on the path, or another
  // expanded cell, g steps from the start.
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

  // The rounded kEpsilon after adding it to a length of each binade; 0 for binade 0.
  static constexpr std::array<float, 16> kExcess = [] {
    std::array<float, 16> excess{};
    for (unsigned binade = 1; binade < kStraight; ++binade) {
      const auto length = static_cast<float>(1U << (binade - 1));
      const float sum = length + kEpsilon;
      excess[binade] = sum - length;
    }
    return excess;
  }();

  [[nodiscard]] float straight_distance(int x, int y) const {
    const int dx = x - tx_;
    const int dy = y - ty_;
    return std::sqrt(static_cast<float>(dx * dx + dy * dy));
  }

  // Fills the table with the entries of this search, found eight at a time.
  void index() {
    table_->value.fill(HeuristicTables::kUnset);
    table_->place.fill(HeuristicTables::kNoEntry);
    if (store_.last != nullptr) {
      for (int i = store_.last[prefix_]; i != 0; i = store_.before[i - 1]) load(i - 1);
      return;
    }
    const U4 want = {prefix_, prefix_, prefix_, prefix_};
    const int size = *store_.size;
    for (int i = 0; i < size; i += 8) {
      unsigned hits = lane_bits(prefixes(i) == want) | lane_bits(prefixes(i + 4) == want) << 4;
      if (i + 8 > size) hits &= (1U << (size - i)) - 1;  // what is past the last entry is 0
      if (hits == 0xff) {                                // most entries of a target are consecutive
        for (int k = 0; k < 8; ++k) load(i + k);
        continue;
      }
      for (; hits != 0; hits &= hits - 1) load(i + std::countr_zero(hits));
    }
  }
  void link(int at, std::uint32_t prefix) {
    if (store_.last == nullptr) return;
    store_.before[at] = store_.last[prefix];
    store_.last[prefix] = static_cast<std::uint16_t>(at + 1);
  }
  void load(int at) {
    const std::uint32_t entry = store_.entry[static_cast<std::size_t>(at)];
    const std::uint32_t cell = entry >> 13 & 511U;
    table_->place[cell] = static_cast<std::uint16_t>(at);
    table_->value[cell] = value_of(entry);
  }
  static float value_of(std::uint32_t entry) {
    const std::uint32_t binade = entry & 15U;
    if (binade == kStraight) return HeuristicTables::kUnset;
    return static_cast<float>(entry >> 4 & 511U) + kExcess[binade];
  }
  [[nodiscard]] U4 prefixes(int i) const {
    U4 v;
    std::memcpy(&v, &store_.entry[static_cast<std::size_t>(i)], sizeof v);
    return v >> 22;
  }

  void put(int x, int y, float value, std::uint32_t binade) {
    const int cell = y * rules_.side + x;
    const bool plain = value <= straight_distance(x, y);
    std::uint16_t& place = table_->place[cell];
    if (place == HeuristicTables::kNoEntry) {
      if (plain) return;
      if (*store_.size == store_.capacity) evict();
      place = (*store_.size)++;
      link(place, prefix_);
      note_change(x, y);
    }
    const auto k = static_cast<std::uint32_t>(value);
    const std::uint32_t code = plain ? kStraight : k << 4 | binade;
    std::uint32_t& entry = store_.entry[place];
    const std::uint32_t now = (prefix_ << 9 | static_cast<std::uint32_t>(cell)) << 13 | code;
    if (entry != now) note_change(x, y);
    entry = now;
    // A unit on the map's edge may be in a cell outside the map, which shares its number with
    // another cell: not even a Euclidean distance is kept there.
    table_->value[cell] = value_of(now);
  }

  void note_change(int x, int y) {
    if (store_.path_cache == nullptr) return;
    changed_ = true;
    changes_[y] |= 1U << x;
  }

  void evict();

  const EngineRules& rules_;
  const State& state_;
  HeuristicStore store_;
  HeuristicTables::Table* table_ = nullptr;  // of this search, where it is active
  int tx_, ty_;
  std::uint32_t prefix_;
  bool active_;
  bool changed_ = false;
  std::array<std::uint32_t, kMaxSide> changes_;  // bit x of row y; only with a path cache
};

}  // namespace ludus::rts
