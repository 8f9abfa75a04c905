// What path planning remembers: answers, searches that found nothing, and searches that would find
// the same again.
#pragma once

#include <bit>
#include <cstdint>

#include "games/rts/engine/lines.hpp"
#include "games/rts/engine/routes.hpp"
#include "games/rts/engine/search.hpp"

namespace ludus::rts {

// The answer that is remembered under `key`, or none. It becomes the unit's last one.
[[nodiscard]] const PathEntry* recall(const EngineRules& rules, State& state, int slot,
                                      std::uint32_t key, int now);

void remember(State& state, int slot, std::uint32_t key, int now, int waypoint);

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

// After a search that found no way: those of the taken cells that are enough to bar it, whichever
// others are taken. They are those next to what was reached from which the target can be reached
// without coming back there: a way would leave what was reached for good through one of them.
[[nodiscard]] std::uint32_t barrier(const EngineRules& rules, const State& state, int start,
                                    int target, const Taken& taken, const Search& search);

[[nodiscard]] inline bool may_remember_routes(const EngineRules& rules, int start) {
  return rules.terrain && rules.side <= Routes::kSide &&
         inside(rules, wide_x(start), wide_y(start));
}

// Writes down what a search has found that learned nothing, if the next one will find the same as
// long as nobody stands in a cell that this one has looked at. What stands elsewhere cannot draw it
// aside: the search never looked there, though it could have.
[[nodiscard]] bool make_route(const EngineRules& rules, const State& state, int start, int target,
                              const Taken& taken, const Learned& learned, const Search& search,
                              const Outlook& outlook, Routes::Route& route);

}  // namespace ludus::rts
