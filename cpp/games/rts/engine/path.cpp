#include "games/rts/engine/path.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "games/rts/engine/learned.hpp"
#include "games/rts/engine/routes.hpp"

namespace ludus::rts {

namespace {

// The samples of a line: point i of n at start + (direction * step) * i.
struct Line {
  float sx, sy, stepx, stepy;
  int n;
  int start, target;  // wide cells that are not looked at

  // Whether a disc of `slot` may be at every sample that is looked at: the first in each cell.
  [[nodiscard]] bool free(const EngineRules& rules, const State& state, int slot, float tx,
                          float ty) const {
    const int from = cell_of(rules, sx, sy);
    const int to = cell_of(rules, tx, ty);
    int before = -1;
    for (int i = 1; i < n; ++i) {
      const float x = sx + stepx * static_cast<float>(i);
      const float y = sy + stepy * static_cast<float>(i);
      const int now = cell_of(rules, x, y);
      if (now == before) continue;
      before = now;
      if (now != from && now != to && !can_pass(rules, state, x, y, slot)) return false;
    }
    return true;
  }

  // Whether a disc at (ux, uy) is touched by one of the samples that are looked at, on a line well
  // inside the map. Samples before `begin` and after `end` are too far away to.
  [[nodiscard]] bool meets(int begin, int end, float ux, float uy) const {
    F4 i = all4(static_cast<float>(begin - 1)) + F4{0.0F, 1.0F, 2.0F, 3.0F};
    I4 before{};
    I4 asked = {0, -1, -1, -1};
    for (int k = begin - 1; k <= end; k += 4) {
      const F4 x4 = sx + stepx * i;
      const F4 y4 = sy + stepy * i;
      const I4 now = cells4(y4) * kMaxSide + cells4(x4);
      const I4 entered = now != __builtin_shufflevector(before, now, 3, 4, 5, 6);
      const F4 dx = x4 - ux;
      const F4 dy = y4 - uy;
      const I4 touched = (dx * dx + dy * dy < kTouch2) & (i < static_cast<float>(n));
      if (lane_bits(asked & entered & touched & (now != start) & (now != target)) != 0) return true;
      before = now;
      asked = I4{-1, -1, -1, -1};
      i += 4.0F;
    }
    return false;
  }
};

constexpr float kReach = 0.501F;   // discs further than this from a line do not touch its samples
constexpr float kMargin = 0.125F;  // of map edge inside which rounding cannot leave the map

bool well_inside(const EngineRules& rules, float x, float y) {
  const float low = -0.5F + kMargin;
  const float high = static_cast<float>(rules.side) - 0.5F - kMargin;
  return x > low && x < high && y > low && y < high;
}

}  // namespace

namespace {

// Where a line goes from cell to cell along one axis. Its samples are those of line_free, so that
// the first sample in a cell is found to the last bit.
struct Axis {
  float from, step, inverse;
  int samples;

  Axis(float start, float by, int n)
      : from(start), step(by), inverse(by == 0.0F ? 0.0F : 1.0F / by), samples(n) {}

  [[nodiscard]] float at(int i) const { return from + step * static_cast<float>(i); }

  // The first sample after i that is in another cell than c, or `samples`.
  [[nodiscard]] int leaves(int i, int c) const {
    if (step == 0.0F) return samples;
    const float edge = static_cast<float>(c) + (step > 0.0F ? 0.5F : (c > 0 ? -0.5F : -1.5F));
    const auto beyond = [&](int k) { return step > 0.0F ? at(k) >= edge : at(k) < edge; };
    const float guess = (edge - from) * inverse;
    int k =
        guess < static_cast<float>(samples) ? std::max(i + 1, static_cast<int>(guess)) : samples;
    while (k > i + 1 && beyond(k - 1)) --k;
    while (k < samples && !beyond(k)) ++k;
    return k;
  }
};

// Whether a wall stands where a line is looked at: at its first sample in each cell.
// `from` and `to` are the cells of its ends, which are not looked at.
bool wall_between(const EngineRules& rules, const State& state, const Line& line, int from,
                  int to) {
  const int n = line.n;
  // A few samples on the way, whichever they are, mostly find a wall sooner than the walk.
  if (n >= 8) {
    const I4 some = I4{n, 3 * n, 5 * n, 7 * n} >> 3;
    const F4 i = __builtin_convertvector(some, F4);
    const I4 at = cells4(line.sy + line.stepy * i) << kWideBits | cells4(line.sx + line.stepx * i);
    for (int k = 0; k < 4; ++k) {
      const int cx = wide_x(at[k]);
      const int cy = wide_y(at[k]) & (kMaxSide - 1);
      if (!walled(state, cx, cy)) continue;
      const int now = cy * rules.side + cx;
      if (now != from && now != to) return true;
    }
  }
  const Axis across(line.sx, line.stepx, n);
  const Axis down(line.sy, line.stepy, n);
  int cx = cell_coord(across.at(1));
  int cy = cell_coord(down.at(1));
  int next_x = across.leaves(1, cx);
  int next_y = down.leaves(1, cy);
  for (;;) {
    const int now = cy * rules.side + cx;
    if (now != from && now != to) {
      if (!inside(rules, cx, cy) || walled(state, cx, cy)) return true;
    }
    const int i = std::min(next_x, next_y);
    if (i >= n) return false;
    if (next_x == i) {
      cx = cell_coord(across.at(i));
      next_x = across.leaves(i, cx);
    }
    if (next_y == i) {
      cy = cell_coord(down.at(i));
      next_y = down.leaves(i, cy);
    }
  }
}

}  // namespace

bool line_free(const EngineRules& rules, const State& state, int slot, float sx, float sy, float tx,
               float ty, int& first) {
  const float lx = tx - sx;
  const float ly = ty - sy;
  const float dist = std::sqrt(lx * lx + ly * ly);
  const int n = static_cast<int>(static_cast<double>(dist * 10.0F) + 0.5);
  if (n < 2) return true;
  const float step = dist / static_cast<float>(n);
  const Line line{sx,
                  sy,
                  lx / dist * step,
                  ly / dist * step,
                  n,
                  wide(cell_coord(sx), cell_coord(sy)),
                  wide(cell_coord(tx), cell_coord(ty))};
  if (rules.terrain &&
      wall_between(rules, state, line, cell_of(rules, sx, sy), cell_of(rules, tx, ty))) {
    return false;
  }
  if (!well_inside(rules, sx, sy) || !well_inside(rules, tx, ty)) {
    return line.free(rules, state, slot, tx, ty);
  }
  // Only samples near a disc can fail, so only those are looked at.
  const float reach = kReach * dist;
  const auto samples = static_cast<float>(n) / (dist * dist);  // a unit of `along`
  const auto blocks = [&](int i) {
    const float ux = state.x[i];
    const float uy = state.y[i];
    const float along = (ux - sx) * lx + (uy - sy) * ly;
    const int begin = std::max(1, static_cast<int>((along - reach) * samples));
    const int end = std::min(n - 1, static_cast<int>((along + reach) * samples));
    return line.meets(begin, end, ux, uy);
  };
  if (first != kNone && blocks(first)) return false;
  const F4 far = all4(reach * reach);
  const F4 low = all4(-reach);
  const F4 high = all4(dist * dist + reach);
  std::uint64_t near = 0;
  for_fours(state, [&](int i) {
    const F4 dx = load4(&state.x[i]) - sx;
    const F4 dy = load4(&state.y[i]) - sy;
    const F4 across = dx * ly - dy * lx;
    const F4 along = dx * lx + dy * ly;
    const I4 here = (across * across < far) & (along > low) & (along < high);
    near |= static_cast<std::uint64_t>(lane_bits(here)) << i;
  });
  near &= ~(state.irregular | std::uint64_t{1} << slot);
  const bool middle =
      tx == static_cast<float>(cell_coord(tx)) && ty == static_cast<float>(cell_coord(ty));
  for (; near != 0; near &= near - 1) {
    const int i = std::countr_zero(near);
    // A disc in the middle of the target cell touches no sample outside of that cell.
    if (middle && state.x[i] == tx && state.y[i] == ty) continue;
    if (blocks(i)) {
      first = i;
      return false;
    }
  }
  return true;
}

namespace {

const PathEntry* recall(const EngineRules& rules, State& state, int slot, std::uint32_t key,
                        int now) {
  // Entries age in order, except that a counter-attack's first run stamps the tick before.
  while (state.path_size > 0 &&
         static_cast<int>(state.tick) - state.path[state.path_head].tick > rules.path_cache_ticks) {
    state.path_head = static_cast<std::uint8_t>((state.path_head + 1) % kPathEntries);
    --state.path_size;
  }
  for (int i = state.path_size - 1; i >= 0; --i) {
    const int at = (state.path_head + i) % kPathEntries;
    const PathEntry& entry = state.path[at];
    if (entry.key == key) {
      if (now - entry.tick >= rules.path_cache_ticks) return nullptr;
      state.path_hint[slot] = static_cast<std::uint8_t>(at);
      return &entry;
    }
  }
  return nullptr;
}

void remember(State& state, int slot, std::uint32_t key, int now, int waypoint) {
  if (state.path_size == kPathEntries) {
    state.path_head = static_cast<std::uint8_t>((state.path_head + 1) % kPathEntries);
    --state.path_size;
  }
  const int at = (state.path_head + state.path_size) % kPathEntries;
  state.path[at] = {key, static_cast<std::uint16_t>(now), static_cast<std::int16_t>(waypoint)};
  state.path_hint[slot] = static_cast<std::uint8_t>(at);
  ++state.path_size;
}

// Cells as bit x + 1 of row y + 1, with nothing around the map.
using Rows = std::array<std::uint64_t, kMaxSide + 2>;

constexpr std::uint64_t row_bit(int cx) { return std::uint64_t{2} << cx; }

// All cells but the walls; the target is one even when it is a wall.
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

// A*, four-connected, unit steps. Cells are reached once: the first way found to a cell stays.
struct Search {
  static constexpr int kCells = kMaxSide * kMaxSide;
  // (cost, g, cell) in one number that sorts as the search wants: smaller cost first (positive
  // floats sort like their bits), then smaller g, then larger cell.
  using Item = std::uint64_t;

  // What is to be looked at: the best of what was reached since `top` was last taken, and the rest
  // in no order, of which the best is known. A search that knows its way takes what it has just
  // reached, and never looks through the rest; others have half a dozen cells to choose from.
  static constexpr Item kNothing = ~Item{0};
  Item top = kNothing;
  std::array<Item, kCells> open;
  int open_size = 0;
  Item least = kNothing;
  int least_at = 0;
  Rows left;  // cells that may still be reached
  std::array<std::int16_t, kCells> g;
  std::array<std::int16_t, kCells> from;
  std::array<Item, kCells> popped;
  int pops = 0;

  Search(const EngineRules& rules, const State& state, int target)
      : left(passable(rules, state, target)) {}
  [[nodiscard]] bool may_reach(int cx, int cy) const { return (left[cy + 1] >> (cx + 1) & 1) != 0; }
  void close(int cx, int cy) { left[cy + 1] &= ~row_bit(cx); }
  void reopen(int cx, int cy) { left[cy + 1] |= row_bit(cx); }

  void push(int cell, int steps, float estimate, int parent) {
    g[cell] = static_cast<std::int16_t>(steps);
    from[cell] = static_cast<std::int16_t>(parent);
    Item worse = item_of(cell, steps, estimate);
    if (worse < top) std::swap(worse, top);
    if (worse == kNothing) return;
    if (worse < least) {
      least = worse;
      least_at = open_size;
    }
    open[open_size++] = worse;
  }
  [[nodiscard]] bool empty() const { return top == kNothing && open_size == 0; }
  Item pop() {
    Item item = top;
    if (top < least) {
      top = kNothing;
    } else {
      item = least;
      open[least_at] = open[--open_size];
      find_least();
    }
    popped[pops++] = item;
    return item;
  }
  void find_least() {
    least = kNothing;
    for (int i = 0; i < open_size; ++i) {
      const Item other = open[i];
      least_at = other < least ? i : least_at;
      least = other < least ? other : least;
    }
  }
  static Item item_of(int cell, int steps, float estimate) {
    const float cost = static_cast<float>(steps) + estimate;
    return static_cast<Item>(std::bit_cast<std::uint32_t>(cost)) << 32 |
           static_cast<Item>(steps << 16 | (kCells - 1 - cell));
  }
  static int cell_of(Item item) { return kCells - 1 - static_cast<int>(item & 0xffff); }
  static float cost_of(Item item) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(item >> 32));
  }
};

// The cells that a straight line from the middle of nowhere in one cell can possibly end in:
// samples of a line go from cell to cell like a king who never turns back on either axis, and walls
// stop him. A few words of bits instead of a walk along each line; what is left is walked.
class Outlook {
 public:
  Outlook(const EngineRules& rules, const State& state, int start)
      : state_(state), side_(rules.side), all_(0xffffffffU >> (32 - rules.side)) {
    for (const int down : {-1, 1}) {
      look<true>(wide_x(start), wide_y(start), down);
      look<false>(wide_x(start), wide_y(start), down);
    }
  }

  [[nodiscard]] bool may_see(int cell) const {
    return (row_[wide_y(cell)] >> wide_x(cell) & 1) != 0;
  }

 private:
  // Along a row, from `from` as far as `open` goes.
  static std::uint32_t rightwards(std::uint32_t from, std::uint32_t open) {
    return (((open + from) ^ open) & open) | from;  // the carry runs through what is open
  }
  static std::uint32_t leftwards(std::uint32_t from, std::uint32_t open) {
    for (int by = 1; by < kMaxSide; by *= 2) {
      from |= open & from >> by;
      open &= open >> by;
    }
    return from;
  }

  template <bool kRight>
  void look(int cx, int cy, int down) {
    std::uint32_t here = 1U << cx;
    std::uint32_t open = (~state_.wall[cy] & all_) | here;
    for (int y = cy;;) {
      here = kRight ? rightwards(here, open) : leftwards(here, open);
      row_[y] |= here;
      y += down;
      if (y < 0 || y >= side_) return;
      open = ~state_.wall[y] & all_;
      here = (here | (kRight ? here << 1 : here >> 1)) & open;
      if (here == 0) return;
    }
  }

  const State& state_;
  int side_;
  std::uint32_t all_;
  std::array<std::uint32_t, kMaxSide> row_{};
};

constexpr int kMaxPops = 1000;  // a search that gives up goes to the cell that it looks at

// The cells near a unit in which another disc covers the middle, all but the target, as bits of a
// square around the unit's cell, row by row. Far cells are taken to be free: what stands there now
// will have moved.
struct Taken {
  static constexpr int kAround = 2;
  static constexpr int kSide = 2 * kAround + 1;
  static constexpr int kCells = kSide * kSide;
  std::uint32_t bits = 0;

  Taken(const State& state, int slot, int start, int target) {
    constexpr float kNear2 = 4.0F;
    const float sx = state.x[slot];
    const float sy = state.y[slot];
    constexpr float kAway = 2.6F;  // who is further from the unit than this is in no such cell
    std::uint64_t near = 0;
    for_fours(state, [&](int i) {
      const F4 dx = load4(&state.x[i]) - sx;
      const F4 dy = load4(&state.y[i]) - sy;
      near |= static_cast<std::uint64_t>(lane_bits(dx * dx + dy * dy < kAway * kAway)) << i;
    });
    // A disc covers the middle of at most one cell: the one it stands in.
    for_bits(near & ~(state.irregular | std::uint64_t{1} << slot), [&](int i) {
      const int cx = cell_coord(state.x[i]);
      const int cy = cell_coord(state.y[i]);
      const auto mx = static_cast<float>(cx);
      const auto my = static_cast<float>(cy);
      if (distance2(mx, my, state.x[i], state.y[i]) >= kTouch2) return;
      if (distance2(sx, sy, mx, my) >= kNear2 || wide(cx, cy) == target) return;
      // Both stand in the map, so that no more than two cells are between them on either axis.
      bits |= bit_of(start, cx, cy);
    });
  }

  // 0 for cells outside the square.
  static std::uint32_t bit_of(int start, int cx, int cy) {
    const int column = cx - wide_x(start) + kAround;
    const int row = cy - wide_y(start) + kAround;
    if (column < 0 || column >= kSide || row < 0 || row >= kSide) return 0;
    return 1U << (row * kSide + column);
  }

  // Calls f(x, y, bit) for each of the cells.
  template <class F>
  void each(int start, F&& f) const {
    for_bits(bits, [&](int i) {
      f(wide_x(start) + i % kSide - kAround, wide_y(start) + i / kSide - kAround, 1U << i);
    });
  }
};

// The original numbers cells row by row, so a step off a row's end is the next row's start; it only
// notices for cells other than the target.
bool wraps_to(const EngineRules& rules, int target) {
  const int tx = wide_x(target);
  const int ty = wide_y(target);
  const int edge = rules.side - 1;
  return rules.quirks.wrapped_target && ((tx == 0 && ty > 0) || (tx == edge && ty < edge));
}

// Searches from the unit's cell to the target's. Returns the last cell of the path, or -1 when
// there is none, and teaches `learned` what it found.
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

// After a search that found no way: those of the taken cells that are enough to bar it, whichever
// others are taken. They are those next to what was reached from which the target can be reached
// without coming back there: a way would leave what was reached for good through one of them.
std::uint32_t barrier(const EngineRules& rules, const State& state, int start, int target,
                      const Taken& taken, const Search& search) {
  // Steps across the map's edge, and searches that may end for want of patience, are not looked
  // into: all of them bar it.
  if (wraps_to(rules, target) || rules.cells() >= kMaxPops) return taken.bits;
  const int side = rules.side;
  const int tx = wide_x(target);
  const int ty = wide_y(target);
  if (tx >= side || ty >= side) return 0;
  const Rows ground = passable(rules, state, target);
  Rows reached;
  for (int y = 0; y <= side + 1; ++y) reached[y] = ground[y] & ~search.left[y];
  taken.each(start, [&](int cx, int cy, std::uint32_t) { reached[cy + 1] &= ~row_bit(cx); });
  reached[wide_y(start) + 1] |= row_bit(wide_x(start));
  Rows beyond{};  // from where the target can be reached
  beyond[ty + 1] = row_bit(tx);
  for (bool more = true; more;) {
    more = false;
    for (int y = 1; y <= side; ++y) {
      const std::uint64_t free = ground[y] & ~reached[y];
      std::uint64_t row = beyond[y] | ((beyond[y - 1] | beyond[y + 1]) & free);
      for (std::uint64_t before = 0; row != before;) {
        before = row;
        row |= (row << 1 | row >> 1) & free;
      }
      more |= row != beyond[y];
      beyond[y] = row;
    }
  }
  std::uint32_t bars = 0;
  taken.each(start, [&](int cx, int cy, std::uint32_t bit) {
    const std::uint64_t* row = &reached[cy + 1];
    const std::uint64_t near = row[-1] | row[0] << 1 | row[0] >> 1 | row[1];
    if ((near & beyond[cy + 1] & row_bit(cx)) != 0) bars |= bit;
  });
  return bars;
}

// Whether the taken cells have kept a search that found its target from nothing: it would never
// have looked at any of them, because at every moment something else was better.
bool taken_in_vain(const State& state, int start, const Taken& taken, const Learned& learned,
                   const Search& search) {
  bool vain = true;
  taken.each(start, [&](int cx, int cy, std::uint32_t) {
    if (walled(state, cx, cy)) return;
    int i = 0;  // reached from the first of its neighbours that was looked at
    const auto beside = [&](int cell) {
      return std::abs(wide_x(cell) - cx) + std::abs(wide_y(cell) - cy) == 1;
    };
    while (i < search.pops && !beside(Search::cell_of(search.popped[i]))) ++i;
    if (i == search.pops) return;
    const int steps = search.g[Search::cell_of(search.popped[i])] + 1;
    const Search::Item item = Search::item_of(wide(cx, cy), steps, learned.estimate(cx, cy));
    vain &= std::all_of(search.popped.begin() + i + 1, search.popped.begin() + search.pops,
                        [&](Search::Item better) { return better < item; });
  });
  return vain;
}

// Writes down what a search has found that learned nothing, if the next one will find the same as
// long as nobody stands in a cell that this one has looked at. What stands elsewhere cannot draw it
// aside: the search never looked there, though it could have.
template <class InSight>
bool make_route(const EngineRules& rules, const State& state, int start, int target,
                const Taken& taken, const Learned& learned, const Search& search,
                InSight&& in_sight, Routes::Route& route) {
  if (wraps_to(rules, target) || search.pops >= kMaxPops) return false;
  if (!taken_in_vain(state, start, taken, learned, search)) return false;
  route = {};
  for (int cell = Search::cell_of(search.popped[search.pops - 1]); cell >= 0;
       cell = search.from[cell]) {
    if (!in_sight(cell)) continue;
    if (route.steps == Routes::kSteps) return false;
    route.step[route.steps++] = static_cast<std::uint16_t>(cell);
  }
  for (int i = 0; i < search.pops; ++i) {
    const int cell = Search::cell_of(search.popped[i]);
    const int cx = wide_x(cell);
    const int cy = wide_y(cell);
    route.matters[cy] |= (7U << cx) >> 1;
    if (cy > 0) route.matters[cy - 1] |= 1U << cx;
    if (cy + 1 < rules.side) route.matters[cy + 1] |= 1U << cx;
    if (cell != start) route.looked_at |= Taken::bit_of(start, cx, cy);
  }
  return true;
}

bool may_remember_routes(const EngineRules& rules, int start) {
  return rules.terrain && rules.side <= Routes::kSide &&
         inside(rules, wide_x(start), wide_y(start));
}

// What failed searches from a cell to a cell have told: which taken cells bar the way.
class Hopeless {
 public:
  Hopeless(State& state, Routes* routes, int start, int target)
      : asked_((std::uint64_t{1} << 37 | static_cast<std::uint64_t>(start) << 10 |
                static_cast<std::uint64_t>(target))
               << Taken::kCells),
        one_(place(state, routes, start, 0)),
        all_(place(state, routes, start, 1)) {}

  [[nodiscard]] bool barred(std::uint32_t taken) const {
    return (one_ >> Taken::kCells == asked_ >> Taken::kCells && (one_ & taken) != 0) ||
           (kAll | asked_ | (all_ & taken)) == all_;
  }
  void note(std::uint32_t bars) {
    if (std::has_single_bit(bars)) {  // one more that is enough alone
      one_ = (one_ >> Taken::kCells == asked_ >> Taken::kCells ? one_ : asked_) | bars;
    } else {
      all_ = kAll | asked_ | bars;
    }
  }

 private:
  static constexpr std::uint64_t kAll = std::uint64_t{1} << 63;

  // Those who stand in line ask from cells side by side. `half`: 1 is half the table further.
  static std::uint64_t& place(State& state, Routes* routes, int start, int half) {
    if (routes != nullptr) {
      return routes->hopeless[Routes::place(start) ^ half * Routes::kEntries / 2];
    }
    static_assert(kHopelessBits == 4);
    return state.hopeless[((wide_x(start) & 3) | (wide_y(start) & 3) << 2) ^ half * 8];
  }

  std::uint64_t asked_;
  std::uint64_t& one_;  // cells each of which is enough
  std::uint64_t& all_;  // cells that are enough together
};

}  // namespace

int plan_path_afresh(const EngineRules& rules, State& state, const LearnedStore& store, int slot,
                     float tx, float ty, int start, int target, std::uint32_t key, int now) {
  if (const PathEntry* entry = recall(rules, state, slot, key, now)) return entry->waypoint;
  const float sx = state.x[slot];
  const float sy = state.y[slot];
  int blocker = kNone;
  if (line_free(rules, state, slot, sx, sy, tx, ty, blocker)) {
    remember(state, slot, key, now, -1);
    return -1;
  }
  // Who is hemmed in asks again at every tick. That there is no way depends on nothing but walls
  // and these cells, and a search that finds none teaches nothing.
  const Taken taken(state, slot, start, target);
  Routes* routes = may_remember_routes(rules, start) ? store.routes : nullptr;
  Hopeless hopeless(state, routes, start, target);
  if (hopeless.barred(taken.bits)) return -1;
  // What was in the way of one line is the first guess for the next.
  const auto may_go = [&](int cell) {
    const auto wx = static_cast<float>(wide_x(cell));
    const auto wy = static_cast<float>(wide_y(cell));
    if (wx == tx && wy == ty) return false;  // the line from above
    return line_free(rules, state, slot, sx, sy, wx, wy, blocker);
  };
  const auto follow = [&](const Routes::Route& route) {
    const auto* end = route.step.begin() + route.steps;
    const auto* step = std::find_if(route.step.begin(), end, may_go);
    const int waypoint = step == end ? -1 : *step;
    remember(state, slot, key, now, waypoint);
    return waypoint;
  };
  if (routes != nullptr) {
    const int place = Routes::place(start);
    const Routes::Route& route = routes->route[place];
    if (routes->key[place] == key && (route.looked_at & taken.bits) == 0) return follow(route);
  }
  Learned learned(rules, state, store, rules.owner_of(slot), wide_x(target), wide_y(target));
  Search search(rules, state, target);
  int waypoint = search_path(rules, start, target, taken, learned, search);
  if (waypoint < 0) {  // unreachable
    hopeless.note(barrier(rules, state, start, target, taken, search));
    return -1;
  }
  // The far end of the path that can be walked to straight.
  if (!rules.terrain) {
    while (waypoint >= 0 && !may_go(waypoint)) waypoint = search.from[waypoint];
    remember(state, slot, key, now, waypoint);
    return waypoint;
  }
  if (routes != nullptr && learned.changed()) routes->forget(key, learned.changed_cells());
  const Outlook outlook(rules, state, start);
  const auto in_sight = [&](int cell) { return cell == target || outlook.may_see(cell); };
  if (routes != nullptr && !learned.changed()) {
    const int place = Routes::place(start);
    if (make_route(rules, state, start, target, taken, learned, search, in_sight,
                   routes->route[place])) {
      routes->key[place] = key;
      return follow(routes->route[place]);
    }
    routes->key[place] = 0;
  }
  while (waypoint >= 0 && !(in_sight(waypoint) && may_go(waypoint))) {
    waypoint = search.from[waypoint];
  }
  remember(state, slot, key, now, waypoint);
  return waypoint;
}

}  // namespace ludus::rts
