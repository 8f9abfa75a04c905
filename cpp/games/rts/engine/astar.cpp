#include "games/rts/engine/astar.hpp"

#include <utility>

namespace ludus::rts {

BitGrid passable(const EngineRules& rules, const State& state, int target) {
  const int side = rules.side;
  const std::uint64_t row = ((std::uint64_t{1} << side) - 1) << 1;
  BitGrid rows;
  rows[0] = 0;
  for (int y = 1; y <= side; ++y) rows[y] = row;
  rows[side + 1] = 0;
  if (!rules.terrain) return rows;
  for (int y = 0; y < side; ++y) {
    rows[y + 1] &= ~(static_cast<std::uint64_t>(state.wall[y]) << 1);
  }
  if (wide_x(target) < side && wide_y(target) < side) {
    rows[wide_y(target) + 1] |= row_bit(wide_x(target));
  }
  return rows;
}

bool wraps_to(const EngineRules& rules, int target) {
  const int tx = wide_x(target);
  const int ty = wide_y(target);
  const int edge = rules.side - 1;
  return rules.quirks.wrapped_target && ((tx == 0 && ty > 0) || (tx == edge && ty < edge));
}

namespace {

// The open list: the best node pushed since the last pop, and the rest unordered with its minimum
// known. A search with a good heuristic pops what it has just pushed and never scans the rest;
// other searches hold about six nodes, for which a scan is faster than a heap.
class Frontier {
 public:
  using Item = AStar::Item;

  void push(Item item) {
    if (item < top_) std::swap(item, top_);
    if (item == kNothing) return;
    if (item < least_) {
      least_ = item;
      least_at_ = size_;
    }
    rest_[size_++] = item;
  }
  [[nodiscard]] bool empty() const { return top_ == kNothing && size_ == 0; }
  Item pop() {
    if (top_ < least_) return std::exchange(top_, kNothing);
    const Item item = least_;
    rest_[least_at_] = rest_[--size_];
    least_ = kNothing;
    for (int i = 0; i < size_; ++i) {
      const Item other = rest_[i];
      least_at_ = other < least_ ? i : least_at_;
      least_ = other < least_ ? other : least_;
    }
    return item;
  }

 private:
  static constexpr Item kNothing = ~Item{0};
  Item top_ = kNothing;
  Item least_ = kNothing;
  int least_at_ = 0;
  int size_ = 0;
  std::array<Item, AStar::kCells> rest_;
};

}  // namespace

int search_path(const EngineRules& rules, int start, int target, const BlockedCells& blocked,
                LearnedHeuristic& heuristic, AStar& search) {
  const int tx = wide_x(target);
  const int ty = wide_y(target);
  const int edge = rules.side - 1;
  const bool wraps = wraps_to(rules, target);
  blocked.each(start, [&](int cx, int cy, std::uint32_t) { search.close(cx, cy); });
  search.close(wide_x(start), wide_y(start));
  Frontier frontier;
  search.parent[start] = -1;
  frontier.push(AStar::item_of(start, 0, 0.0F));  // the only node: its cost does not matter
  int end = -1;
  float length = 0.0F;
  int expansions = 0;
  while (!frontier.empty()) {
    const AStar::Item item = frontier.pop();
    search.expanded[expansions++] = item;
    const int cell = AStar::cell_of(item);
    if (cell == target || expansions == kMaxExpansions) {
      end = cell;
      length = AStar::cost_of(item);
      break;
    }
    const int cx = wide_x(cell);
    const int cy = wide_y(cell);
    const int steps = AStar::steps_of(item) + 1;
    const auto reach = [&](int nx, int ny) {
      const int next = wide(nx, ny);
      search.parent[next] = static_cast<std::int16_t>(cell);
      frontier.push(AStar::item_of(next, steps, heuristic.estimate(nx, ny)));
    };
    // All four neighbours are reached now or have been before.
    std::uint64_t* row = &search.unvisited[cy + 1];
    const std::uint64_t here = row[0] >> cx;
    const std::uint64_t below = row[1] >> cx;
    const std::uint64_t above = row[-1] >> cx;
    row[0] &= ~(std::uint64_t{5} << cx);
    row[1] &= ~row_bit(cx);
    row[-1] &= ~row_bit(cx);
    if ((here & 4) != 0) reach(cx + 1, cy);
    if ((below & 2) != 0) reach(cx, cy + 1);
    if ((here & 1) != 0) reach(cx - 1, cy);
    if ((above & 2) != 0) reach(cx, cy - 1);
    if (wraps &&
        ((tx == 0 && cx == edge && cy == ty - 1) || (tx == edge && cx == 0 && cy == ty + 1))) {
      if (search.may_reach(tx, ty)) {
        search.close(tx, ty);
        reach(tx, ty);
      }
    }
  }
  search.expansions = expansions;
  if (end < 0) return -1;
  int g = AStar::steps_of(search.expanded[expansions - 1]);
  for (int cell = end; cell >= 0; cell = search.parent[cell], --g) {
    heuristic.on_path(wide_x(cell), wide_y(cell), length, static_cast<float>(g));
    search.reopen(wide_x(cell), wide_y(cell));
  }
  for (int i = 0; i < search.expansions; ++i) {
    const AStar::Item item = search.expanded[i];
    const int cell = AStar::cell_of(item);
    if (search.may_reach(wide_x(cell), wide_y(cell))) continue;  // reopened: on the path
    heuristic.off_path(wide_x(cell), wide_y(cell), length,
                       static_cast<float>(AStar::steps_of(item)));
  }
  return end;
}

}  // namespace ludus::rts
