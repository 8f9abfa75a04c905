// Rows, groups and shards of a pool: fixed when the pool is made.
//
//   slots   0 1 2 3 | 4 5 6 7         a slot is the place of one match
//   groups  0       | 1               contiguous slots, sent and received as one
//   shards  0  | 1  | 2  | 3          contiguous slots of a group, played by one worker at a time
//   rows    slot-major, then by seat; only seats whose plan can draw a learned policy have one
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pool/lineup.hpp"

namespace ludus {

struct Range {
  int begin = 0, end = 0;
  [[nodiscard]] int size() const { return end - begin; }
};

struct Layout {
  int slots = 0, seats = 0, rows = 0, policies = 0;
  std::vector<int> row_begin;          // [slots + 1] first row of a slot
  std::vector<std::int32_t> row_slot;  // [rows]
  std::vector<std::int32_t> row_seat;  // [rows]
  std::vector<int> plan_at;            // [turns * seats] plan of (slot % turns, seat)
  std::vector<Range> group_slots, group_rows, group_shards;
  std::vector<Range> shards;  // slots of each shard

  [[nodiscard]] int plan(int slot, int seat) const {
    const int turns = static_cast<int>(plan_at.size()) / seats;
    return plan_at[static_cast<std::size_t>((slot % turns) * seats + seat)];
  }
  [[nodiscard]] int row_of(int slot, int seat) const {  // -1: the seat is a bot's
    for (int row = row_begin[static_cast<std::size_t>(slot)];
         row < row_begin[static_cast<std::size_t>(slot) + 1]; ++row) {
      if (row_seat[static_cast<std::size_t>(row)] == seat) return row;
    }
    return -1;
  }
  [[nodiscard]] int group_of(int slot) const {
    int g = 0;
    while (slot >= group_slots[static_cast<std::size_t>(g)].end) ++g;
    return g;
  }
};

// `turns`: the rotations of the seats that slots go through, GameSpec::turns().
[[nodiscard]] inline Layout make_layout(int seats, const std::vector<int>& turns,
                                        const PoolOptions& o) {
  Layout l;
  l.slots = o.slots;
  l.seats = seats;
  for (const int turn : turns) {
    for (int seat = 0; seat < seats; ++seat) {
      l.plan_at.push_back(o.lineup.rotate ? (seat - turn + seats) % seats : seat);
    }
  }
  std::vector<bool> can_draw_policy;
  for (const SeatPlan& p : o.lineup.plans) {
    bool any = false;
    for (const Controller& c : p.controllers) {
      any = any || c.policy >= 0;
      l.policies = std::max(l.policies, c.policy + 1);
    }
    can_draw_policy.push_back(any);
  }
  for (int slot = 0; slot < l.slots; ++slot) {
    l.row_begin.push_back(l.rows);
    for (int seat = 0; seat < seats; ++seat) {
      if (!can_draw_policy[static_cast<std::size_t>(l.plan(slot, seat))]) continue;
      l.row_slot.push_back(slot);
      l.row_seat.push_back(seat);
      ++l.rows;
    }
  }
  l.row_begin.push_back(l.rows);

  // A shard is small enough to stay in a core's cache and to leave every worker some shards.
  constexpr int kShardSlots = 32, kShardsPerWorker = 4;
  for (int g = 0; g < o.groups; ++g) {
    const auto cut = [&](int i) {
      return static_cast<int>(static_cast<std::int64_t>(l.slots) * i / o.groups);
    };
    const Range s{cut(g), cut(g + 1)};
    l.group_slots.push_back(s);
    l.group_rows.push_back({l.row_begin[static_cast<std::size_t>(s.begin)],
                            l.row_begin[static_cast<std::size_t>(s.end)]});
    const int workers = std::max(1, o.threads);
    const int wanted = workers == 1 ? 1 : workers * kShardsPerWorker;
    const int size = std::clamp(s.size() / wanted, 1, kShardSlots);
    const int first = static_cast<int>(l.shards.size());
    for (int b = s.begin; b < s.end; b += size) l.shards.push_back({b, std::min(b + size, s.end)});
    l.group_shards.push_back({first, static_cast<int>(l.shards.size())});
  }
  return l;
}

}  // namespace ludus
