#include "games/rts/engine/search.hpp"

namespace ludus::rts {

Rows passable(const EngineRules& rules, const State& state, int target) {
  const int side = rules.side;
  const std::uint64_t row = ((std::uint64_t{1} << side) - 1) << 1;
  Rows rows;
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

int search_path(const EngineRules& rules, int start, int target, const Taken& taken,
                Learned& learned, Search& search) {
  const int tx = wide_x(target);
  const int ty = wide_y(target);
  const int edge = rules.side - 1;
  const bool wraps = wraps_to(rules, target);
  taken.each(start, [&](int cx, int cy, std::uint32_t) { search.close(cx, cy); });
  search.close(wide_x(start), wide_y(start));
  search.push(start, 0, learned.estimate(wide_x(start), wide_y(start)), -1);
  int end = -1;
  float length = 0.0F;
  for (int pop = 1; !search.empty(); ++pop) {
    const Search::Item item = search.pop();
    const int cell = Search::cell_of(item);
    if (cell == target || pop == kMaxPops) {
      end = cell;
      length = Search::cost_of(item);
      break;
    }
    const int cx = wide_x(cell);
    const int cy = wide_y(cell);
    const int steps = search.g[cell] + 1;
    const auto reach = [&](int nx, int ny) {
      if (!search.may_reach(nx, ny)) return;
      search.close(nx, ny);
      search.push(wide(nx, ny), steps, learned.estimate(nx, ny), cell);
    };
    reach(cx + 1, cy);
    reach(cx, cy + 1);
    reach(cx - 1, cy);
    reach(cx, cy - 1);
    if (wraps &&
        ((tx == 0 && cx == edge && cy == ty - 1) || (tx == edge && cx == 0 && cy == ty + 1))) {
      reach(tx, ty);
    }
  }
  if (end < 0) return -1;
  for (int cell = end; cell >= 0; cell = search.from[cell]) {
    learned.on_path(wide_x(cell), wide_y(cell), length, static_cast<float>(search.g[cell]));
    search.reopen(wide_x(cell), wide_y(cell));
  }
  for (int i = 0; i < search.pops; ++i) {
    const int cell = Search::cell_of(search.popped[i]);
    if (search.may_reach(wide_x(cell), wide_y(cell))) continue;  // reopened: on the path
    learned.off_path(wide_x(cell), wide_y(cell), length, static_cast<float>(search.g[cell]));
  }
  return end;
}

}  // namespace ludus::rts
