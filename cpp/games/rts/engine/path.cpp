#include "games/rts/engine/path.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "games/rts/engine/learned.hpp"

namespace ludus::rts {

namespace {

// The samples of a line: point i of n at start + (direction * step) * i.
struct Line {
  const EngineRules& rules;
  float sx, sy, stepx, stepy;
  int start, target;  // cells that are not looked at

  [[nodiscard]] float x(int i) const { return sx + stepx * static_cast<float>(i); }
  [[nodiscard]] float y(int i) const { return sy + stepy * static_cast<float>(i); }
  [[nodiscard]] int cell(int i) const { return cell_of(rules, x(i), y(i)); }

  // Whether a disc of `slot` may be at every sample of [first, last] that is looked at: the first
  // one in each cell it enters.
  [[nodiscard]] bool free(const State& state, int slot, int first, int last) const {
    int before = first == 1 ? -1 : cell(first - 1);
    for (int i = first; i <= last; ++i) {
      const int now = cell(i);
      if (now == before) continue;
      before = now;
      if (now != start && now != target && !can_pass(rules, state, x(i), y(i), slot)) return false;
    }
    return true;
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

bool line_free(const EngineRules& rules, const State& state, int slot, float sx, float sy, float tx,
               float ty) {
  const int scx = cell_coord(sx);
  const int scy = cell_coord(sy);
  const int tcx = cell_coord(tx);
  const int tcy = cell_coord(ty);
  const bool plain =
      state.irregular == 0 && well_inside(rules, sx, sy) && well_inside(rules, tx, ty);

  // Only samples near a disc can fail, so only those are looked at: first the units in the columns
  // and rows that the line crosses, then those of them that are near the line.
  std::uint64_t near = 0;
  if (plain) {
    std::uint64_t columns = 0;
    std::uint64_t rows = 0;
    for (int c = std::min(scx, tcx); c <= std::max(scx, tcx) + 2; ++c) columns |= state.column[c];
    for (int r = std::min(scy, tcy); r <= std::max(scy, tcy) + 2; ++r) rows |= state.row[r];
    near = columns & rows & ~(std::uint64_t{1} << slot);
    // A disc in the middle of the target cell touches no sample outside of that cell.
    if (tx == static_cast<float>(tcx) && ty == static_cast<float>(tcy)) {
      for_bits(near & state.column[tcx + 1] & state.row[tcy + 1], [&](int i) {
        if (state.x[i] == tx && state.y[i] == ty) near &= ~(std::uint64_t{1} << i);
      });
    }
    if (near == 0) return true;
  }

  const float dist = std::sqrt(distance2(sx, sy, tx, ty));
  const int n = static_cast<int>(static_cast<double>(dist * 10.0F) + 0.5);
  if (n < 2) return true;
  const float vx = (tx - sx) / dist;
  const float vy = (ty - sy) / dist;
  const float step = dist / static_cast<float>(n);
  const Line line{
      rules, sx, sy, vx * step, vy * step, scy * rules.side + scx, tcy * rules.side + tcx};
  if (!plain) return line.free(state, slot, 1, n - 1);
  for (; near != 0; near &= near - 1) {
    const int i = std::countr_zero(near);
    const float dx = state.x[i] - sx;
    const float dy = state.y[i] - sy;
    if (std::abs(dx * vy - dy * vx) > kReach) continue;
    const float along = dx * vx + dy * vy;
    if (along < -kReach || along > dist + kReach) continue;
    const int first = std::max(1, static_cast<int>((along - kReach) / step) - 1);
    const int last = std::min(n - 1, static_cast<int>((along + kReach) / step) + 1);
    if (first <= last && !line.free(state, slot, first, last)) return false;
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

// A*, four-connected, unit steps. Cells are reached once: the first way found to a cell stays.
struct Search {
  static constexpr int kCells = kMaxSide * kMaxSide;
  // (cost, g, cell) in one number that sorts as the search wants: smaller cost first (positive
  // floats sort like their bits), then smaller g, then larger cell.
  using Item = std::uint64_t;

  // What is to be looked at, best last. New cells are most often among the best, so that inserting
  // moves few: faster than a heap at the two dozen cells of a usual search.
  std::array<Item, kCells> open;
  int open_size = 0;
  std::array<std::uint32_t, kMaxSide> seen{};  // bit x of row y
  std::array<std::int16_t, kCells> g;
  std::array<std::int16_t, kCells> from;
  std::array<std::int16_t, kCells> popped;
  int pops = 0;

  [[nodiscard]] bool was_seen(int cx, int cy) const { return (seen[cy] >> cx & 1) != 0; }

  void push(int cell, int steps, float estimate, int parent) {
    seen[wide_y(cell)] |= 1U << wide_x(cell);
    g[cell] = static_cast<std::int16_t>(steps);
    from[cell] = static_cast<std::int16_t>(parent);
    const float cost = static_cast<float>(steps) + estimate;
    const Item item = static_cast<Item>(std::bit_cast<std::uint32_t>(cost)) << 32 |
                      static_cast<Item>(steps) << 16 | static_cast<Item>(kCells - 1 - cell);
    int at = open_size++;
    for (; at > 0 && open[at - 1] < item; --at) open[at] = open[at - 1];
    open[at] = item;
  }
  Item pop() {
    const Item item = open[--open_size];
    popped[pops++] = static_cast<std::int16_t>(cell_of(item));
    return item;
  }
  static int cell_of(Item item) { return kCells - 1 - static_cast<int>(item & 0xffff); }
  static float cost_of(Item item) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(item >> 32));
  }
};

constexpr int kMaxPops = 1000;

// The cells near the unit, as bit x of row y, whose middle is taken by another disc. A disc covers
// the middle of at most one cell: the one it stands in.
std::array<std::uint32_t, kMaxSide> taken_cells(const EngineRules& rules, const State& state,
                                                int slot, int start) {
  constexpr int kNear = 2;  // middles within distance 2 of the unit are looked at
  std::array<std::uint32_t, kMaxSide> taken{};
  const int side = rules.side;
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;
  const int cx = wide_x(start);
  const int cy = wide_y(start);
  for (int c = std::max(0, cx - kNear); c <= std::min(side - 1, cx + kNear); ++c) {
    columns |= state.column[c + 1];
  }
  for (int r = std::max(0, cy - kNear); r <= std::min(side - 1, cy + kNear); ++r) {
    rows |= state.row[r + 1];
  }
  for_bits(columns & rows & ~(std::uint64_t{1} << slot), [&](int i) {
    const int ux = cell_coord(state.x[i]);
    const int uy = cell_coord(state.y[i]);
    const float d2 =
        distance2(static_cast<float>(ux), static_cast<float>(uy), state.x[i], state.y[i]);
    if (d2 < kTouch2) taken[uy] |= 1U << ux;
  });
  return taken;
}

// Searches from the unit's cell to the target's. Returns the last cell of the path, or -1 when
// there is none, and teaches `learned` what it found.
int search_path(const EngineRules& rules, const State& state, int slot, int start, int target,
                Learned& learned, Search& search) {
  const float sx = state.x[slot];
  const float sy = state.y[slot];
  const int side = rules.side;
  const auto estimate = [&](int cell) { return learned.estimate(wide_x(cell), wide_y(cell)); };
  const std::array<std::uint32_t, kMaxSide> taken = taken_cells(rules, state, slot, start);
  const bool plain = state.irregular == 0;
  search.push(start, 0, estimate(start), -1);
  int end = -1;
  float length = 0.0F;
  for (int pop = 1; search.open_size > 0; ++pop) {
    const Search::Item item = search.pop();
    const int cell = Search::cell_of(item);
    if (cell == target || pop == kMaxPops) {
      end = cell;
      length = Search::cost_of(item);
      break;
    }
    const int cx = wide_x(cell);
    const int cy = wide_y(cell);
    constexpr int kDx[4] = {1, 0, -1, 0};
    constexpr int kDy[4] = {0, 1, 0, -1};
    for (int d = 0; d < 4; ++d) {
      int nx = cx + kDx[d];
      int ny = cy + kDy[d];
      if (!inside(rules, nx, ny)) {
        // The original numbers cells row by row, so a step off a row's end is the next row's start;
        // it only notices for cells other than the target.
        if (!rules.quirks.wrapped_target || ny != cy) continue;
        nx = nx < 0 ? side - 1 : 0;
        ny = nx == 0 ? cy + 1 : cy - 1;
        if (wide(nx, ny) != target) continue;
      }
      if (search.was_seen(nx, ny)) continue;
      const int next = wide(nx, ny);
      if (next != target) {
        const auto fx = static_cast<float>(nx);
        const auto fy = static_cast<float>(ny);
        // Far cells are taken to be free: what stands there now will have moved.
        if (distance2(sx, sy, fx, fy) < 4.0F) {
          const bool blocked =
              plain ? (taken[ny] >> nx & 1) != 0 : !disc_free(rules, state, fx, fy, slot);
          if (blocked) continue;
        }
      }
      search.push(next, search.g[cell] + 1, estimate(next), cell);
    }
  }
  if (end < 0) return -1;
  for (int cell = end; cell >= 0; cell = search.from[cell]) {
    learned.on_path(wide_x(cell), wide_y(cell), length, static_cast<float>(search.g[cell]));
    search.seen[wide_y(cell)] &= ~(1U << wide_x(cell));  // from here on: seen, but off the path
  }
  for (int i = 0; i < search.pops; ++i) {
    const int cell = search.popped[i];
    if (!search.was_seen(wide_x(cell), wide_y(cell))) continue;
    learned.off_path(wide_x(cell), wide_y(cell), length, static_cast<float>(search.g[cell]));
  }
  return end;
}

}  // namespace

int plan_path_afresh(const EngineRules& rules, State& state, int slot, float tx, float ty,
                     int start, int target, std::uint32_t key, int now) {
  if (const PathEntry* entry = recall(rules, state, slot, key, now)) return entry->waypoint;
  const float sx = state.x[slot];
  const float sy = state.y[slot];
  if (line_free(rules, state, slot, sx, sy, tx, ty)) {
    remember(state, slot, key, now, -1);
    return -1;
  }
  Learned learned(rules, state, rules.owner_of(slot), wide_x(target), wide_y(target));
  Search search;
  int waypoint = search_path(rules, state, slot, start, target, learned, search);
  if (waypoint < 0) return -1;  // unreachable: nothing is remembered
  // The far end of the path that can be walked to straight.
  while (waypoint >= 0 &&
         !line_free(rules, state, slot, sx, sy, static_cast<float>(wide_x(waypoint)),
                    static_cast<float>(wide_y(waypoint)))) {
    waypoint = search.from[waypoint];
  }
  remember(state, slot, key, now, waypoint);
  return waypoint;
}

}  // namespace ludus::rts
