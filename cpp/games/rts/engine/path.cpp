#include "games/rts/engine/path.hpp"

#include <algorithm>

#include "games/rts/engine/learned.hpp"

namespace ludus::rts {

bool line_free(const EngineRules& rules, const State& state, int slot, float sx, float sy, float tx,
               float ty) {
  const float dist = std::sqrt(distance2(sx, sy, tx, ty));
  const int n = static_cast<int>(static_cast<double>(dist * 10.0F) + 0.5);
  if (n < 2) return true;
  const float vx = (tx - sx) / dist;
  const float vy = (ty - sy) / dist;
  const float step = dist / static_cast<float>(n);
  const float stepx = vx * step;
  const float stepy = vy * step;
  const int start = cell_of(rules, sx, sy);
  const int target = cell_of(rules, tx, ty);
  int last = -1;
  for (int i = 1; i < n; ++i) {
    const float x = sx + stepx * static_cast<float>(i);
    const float y = sy + stepy * static_cast<float>(i);
    const int cell = cell_of(rules, x, y);
    if (cell == last) continue;
    last = cell;
    if (cell != start && cell != target && !can_pass(rules, state, x, y, slot)) return false;
  }
  return true;
}

namespace {

std::uint32_t pair_key(const EngineRules& rules, int owner, int from, int to) {
  // Cells outside the map (a unit may stand a little beyond its edge) stay distinct: the original
  // keys by the same number, which may be negative or wrap.
  const auto span = static_cast<std::uint32_t>(rules.cells() + 4 * kMaxSide);
  const auto a = static_cast<std::uint32_t>(from + 2 * kMaxSide);
  const auto b = static_cast<std::uint32_t>(to + 2 * kMaxSide);
  return (static_cast<std::uint32_t>(owner) * span + a) * span + b + 1;
}

const PathEntry* recall(const EngineRules& rules, State& state, std::uint32_t key, int now) {
  // Entries age in order, except that a counter-attack's first run stamps the tick before.
  while (state.path_size > 0 &&
         static_cast<int>(state.tick) - state.path[state.path_head].tick > rules.path_cache_ticks) {
    state.path_head = static_cast<std::uint8_t>((state.path_head + 1) % kPathEntries);
    --state.path_size;
  }
  for (int i = state.path_size - 1; i >= 0; --i) {
    const PathEntry& entry = state.path[(state.path_head + i) % kPathEntries];
    if (entry.key == key) {
      return now - entry.tick < rules.path_cache_ticks ? &entry : nullptr;
    }
  }
  return nullptr;
}

void remember(State& state, std::uint32_t key, int now, int waypoint) {
  if (state.path_size == kPathEntries) {
    state.path_head = static_cast<std::uint8_t>((state.path_head + 1) % kPathEntries);
    --state.path_size;
  }
  state.path[(state.path_head + state.path_size) % kPathEntries] = {
      key, static_cast<std::uint16_t>(now), static_cast<std::int16_t>(waypoint)};
  ++state.path_size;
}

struct Search {
  struct Item {
    float cost, g;
    int cell;
  };
  // True when a comes after b: larger cost, then larger g, then smaller cell.
  static bool after(const Item& a, const Item& b) {
    if (a.cost != b.cost) return a.cost > b.cost;
    if (a.g != b.g) return a.g > b.g;
    return a.cell < b.cell;
  }

  static constexpr int kCells = kMaxSide * kMaxSide;
  Item heap[kCells];
  int heap_size = 0;
  float g[kCells];
  std::int16_t from[kCells];
  bool seen[kCells];
  std::int16_t popped[kCells];
  int pops = 0;
};

constexpr int kMaxPops = 1000;

}  // namespace

int plan_path(const EngineRules& rules, State& state, int slot, float tx, float ty, int now) {
  const float sx = state.x[slot];
  const float sy = state.y[slot];
  const int owner = rules.owner_of(slot);
  const int start = cell_of(rules, sx, sy);
  const int target = cell_of(rules, tx, ty);
  const std::uint32_t key = pair_key(rules, owner, start, target);
  if (const PathEntry* entry = recall(rules, state, key, now)) return entry->waypoint;
  if (line_free(rules, state, slot, sx, sy, tx, ty)) {
    remember(state, key, now, -1);
    return -1;
  }

  const bool learning = Learned::fits(rules, owner);
  Learned learned(rules, state, owner, target);
  const auto heuristic = [&](int cell) {
    return learning ? learned.estimate(cell) : straight_distance(rules, cell, target);
  };
  Search search;
  std::fill_n(search.seen, rules.cells(), false);
  const auto push = [&](int cell, float g, int from) {
    search.seen[cell] = true;
    search.g[cell] = g;
    search.from[cell] = static_cast<std::int16_t>(from);
    search.heap[search.heap_size++] = {g + heuristic(cell), g, cell};
    std::push_heap(search.heap, search.heap + search.heap_size, Search::after);
  };
  push(start, 0.0F, -1);
  int end = -1;
  float length = 0.0F;
  for (int pop = 1; search.heap_size > 0; ++pop) {
    const Search::Item item = search.heap[0];
    std::pop_heap(search.heap, search.heap + search.heap_size, Search::after);
    --search.heap_size;
    search.popped[search.pops++] = static_cast<std::int16_t>(item.cell);
    if (item.cell == target || pop == kMaxPops) {
      end = item.cell;
      length = item.cost;
      break;
    }
    const int cx = item.cell % rules.side;
    const int cy = item.cell / rules.side;
    constexpr int kDx[4] = {1, 0, -1, 0};
    constexpr int kDy[4] = {0, 1, 0, -1};
    for (int d = 0; d < 4; ++d) {
      const int nx = cx + kDx[d];
      const int ny = cy + kDy[d];
      const int next = ny * rules.side + nx;
      const bool within = inside(rules, nx, ny);
      if (!within && (next != target || !rules.quirks.wrapped_target)) continue;
      if (search.seen[next]) continue;
      if (next != target) {
        const auto fx = static_cast<float>(nx);
        const auto fy = static_cast<float>(ny);
        // Far cells are taken to be free: what stands there now will have moved.
        if (distance2(sx, sy, fx, fy) < 4.0F && !disc_free(rules, state, fx, fy, slot)) continue;
      }
      push(next, item.g + 1.0F, item.cell);
    }
  }
  if (end < 0) return -1;  // unreachable: nothing is remembered

  std::int16_t path[Search::kCells];
  int steps = 0;
  for (int cell = end; cell >= 0; cell = search.from[cell]) {
    path[steps++] = static_cast<std::int16_t>(cell);
    if (learning) learned.on_path(cell, length, search.g[cell]);
    search.seen[cell] = false;  // from here on: seen, but off the path
  }
  for (int i = 0; i < search.pops; ++i) {
    const int cell = search.popped[i];
    if (learning && search.seen[cell]) learned.off_path(cell, length, search.g[cell]);
  }
  for (int i = 0; i < steps; ++i) {
    const int cell = path[i];
    if (line_free(rules, state, slot, sx, sy, static_cast<float>(cell % rules.side),
                  static_cast<float>(cell / rules.side))) {
      remember(state, key, now, cell);
      return cell;
    }
  }
  remember(state, key, now, -1);
  return -1;
}

}  // namespace ludus::rts
