// Random tie-breaking, where the rules do not keep the original's order of seats: whose commands
// come first in a tick, and whether left or right does. The game draws the bits, so that the engine
// needs no random numbers.
#pragma once

#include "base/rng.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kTieBreakTicks = 32;  // for which State::tie_breaks is drawn at once

// Version of a game's rules: 1 has the original's order, 2 random tie-breaking.
[[nodiscard]] constexpr int rules_version(const EngineRules& rules) {
  return rules.quirks.seat_order ? 1 : 2;
}

// Before the first tick of a match: which seat plays which side. Exchanging the seats and this bit
// gives the same match.
inline void draw_turn(const EngineRules& rules, State& state, Rng& rng) {
  if (!rules.quirks.seat_order) state.turned = rng.coin();
}

// Before every tick.
inline void draw_tie_breaks(const EngineRules& rules, State& state, Rng& rng) {
  if (!rules.quirks.seat_order && state.tick % kTieBreakTicks == 0) state.tie_breaks = rng.next();
}

// The slots whose commands run last in this tick.
[[nodiscard]] inline std::uint64_t late_slots(const EngineRules& rules, const State& state) {
  if (rules.quirks.seat_order) return 0;
  const bool first = (state.tie_breaks >> state.tick % kTieBreakTicks & 1) != 0;
  const int late = first != state.turned ? 0 : 1;
  const int size = rules.capacity(late);
  return ((std::uint64_t{1} << size) - 1) << rules.first_slot[late];
}

// 1, or -1 if right comes before left in this tick.
[[nodiscard]] inline float leftward(const EngineRules& rules, const State& state) {
  if (rules.quirks.seat_order) return 1.0F;
  return (state.tie_breaks >> (kTieBreakTicks + state.tick % kTieBreakTicks) & 1) != 0 ? -1.0F
                                                                                       : 1.0F;
}

}  // namespace ludus::rts
