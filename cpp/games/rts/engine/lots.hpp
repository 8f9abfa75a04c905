// Ties broken by lot, where the rules do not keep the original's order of seats: whose commands
// come first in a tick, and which of left and right. The game deals the lots, so that the engine
// needs no random numbers.
#pragma once

#include "base/rng.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kLotTicks = 32;  // for which State::lots is dealt at once

// Of a game's rules: those with lots are the second version, the original's order is the first.
[[nodiscard]] constexpr int rules_version(const EngineRules& rules) {
  return rules.quirks.seat_order ? 1 : 2;
}

// Before the first tick of a match: which seat has which place. Exchanging the seats of a match and
// this bit gives the same match.
inline void draw_turn(const EngineRules& rules, State& state, Rng& rng) {
  if (!rules.quirks.seat_order) state.turned = rng.coin();
}

// Before every tick.
inline void deal_lots(const EngineRules& rules, State& state, Rng& rng) {
  if (!rules.quirks.seat_order && state.tick % kLotTicks == 0) state.lots = rng.next();
}

// The slots whose commands run after those of all others in this tick.
[[nodiscard]] inline std::uint64_t late_slots(const EngineRules& rules, const State& state) {
  if (rules.quirks.seat_order) return 0;
  const bool first = (state.lots >> state.tick % kLotTicks & 1) != 0;
  const int late = first != state.turned ? 0 : 1;
  const int size = rules.capacity(late);
  return ((std::uint64_t{1} << size) - 1) << rules.first_slot[late];
}

// 1, or -1 where right comes before left in this tick.
[[nodiscard]] inline float leftward(const EngineRules& rules, const State& state) {
  if (rules.quirks.seat_order) return 1.0F;
  return (state.lots >> (kLotTicks + state.tick % kLotTicks) & 1) != 0 ? -1.0F : 1.0F;
}

}  // namespace ludus::rts
