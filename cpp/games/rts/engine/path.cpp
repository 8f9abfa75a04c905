#include "games/rts/engine/path.hpp"

#include <algorithm>

#include "games/rts/engine/lines.hpp"
#include "games/rts/engine/path_memory.hpp"
#include "games/rts/engine/search.hpp"

namespace ludus::rts {

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
    if (make_route(rules, state, start, target, taken, learned, search, outlook,
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
