#include "games/rts/engine/path_memory.hpp"

#include <algorithm>
#include <cstdlib>

namespace ludus::rts {

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

namespace {

// Whether the taken cells have kept a search that found its target from nothing: it would never
// have looked at any of them, because at every moment something else was better.
bool taken_in_vain(const EngineRules& rules, const State& state, int start, const Taken& taken,
                   const Learned& learned, const Search& search) {
  bool vain = true;
  taken.each(start, [&](int cx, int cy, std::uint32_t) {
    if (!inside(rules, cx, cy) || walled(state, cx, cy)) return;
    int i = 0;  // reached from the first of its neighbours that was looked at
    const auto beside = [&](int cell) {
      return std::abs(wide_x(cell) - cx) + std::abs(wide_y(cell) - cy) == 1;
    };
    while (i < search.pops && !beside(Search::cell_of(search.popped[i]))) ++i;
    if (i == search.pops) return;
    const int steps = Search::steps_of(search.popped[i]) + 1;
    const Search::Item item = Search::item_of(wide(cx, cy), steps, learned.estimate(cx, cy));
    vain &= std::all_of(search.popped.begin() + i + 1, search.popped.begin() + search.pops,
                        [&](Search::Item better) { return better < item; });
  });
  return vain;
}

}  // namespace

bool make_route(const EngineRules& rules, const State& state, int start, int target,
                const Taken& taken, const Learned& learned, const Search& search,
                const Outlook& outlook, Routes::Route& route) {
  if (wraps_to(rules, target) || search.pops >= kMaxPops) return false;
  if (!taken_in_vain(rules, state, start, taken, learned, search)) return false;
  route = {};
  for (int cell = Search::cell_of(search.popped[search.pops - 1]); cell >= 0;
       cell = search.from[cell]) {
    if (cell != target && !outlook.may_see(cell)) continue;
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

}  // namespace ludus::rts
