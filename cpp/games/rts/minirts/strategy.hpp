// The strategic actions: a decision of a whole side, turned into orders to its units. Nine are the
// original's; one more exists where several can be given at once.
#pragma once

#include <span>

#include "games/rts/engine/fog.hpp"
#include "games/rts/minirts/rules.hpp"

namespace ludus::rts {

enum Action : std::uint8_t {
  kStart,
  kBuildWorker,
  kBuildBarrack,
  kBuildMelee,
  kBuildRange,
  kAttack,
  kAttackInRange,
  kHitAndRun,
  kDefend,
  kActions,
  kFocusFire = kActions,  // each troop attacks the weakest enemy troop that it reaches
  kAllActions
};
inline constexpr std::array<const char*, kAllActions> kAllActionNames = {"start",
                                                                         "build_worker",
                                                                         "build_barrack",
                                                                         "build_melee_troop",
                                                                         "build_range_troop",
                                                                         "attack",
                                                                         "attack_in_range",
                                                                         "hit_and_run",
                                                                         "defend",
                                                                         "focus_fire"};
inline constexpr auto kActionNames = std::span(kAllActionNames).first<kActions>();

// A set of actions, bit a = Action(a). Players choose one, the scripted bots several at once.
using ActionSet = std::uint16_t;
[[nodiscard]] constexpr ActionSet action_bit(int a) { return static_cast<ActionSet>(1U << a); }
// Orders that can be given repeatedly without being paid for twice.
inline constexpr ActionSet kManoeuvres = action_bit(kAttack) | action_bit(kAttackInRange) |
                                         action_bit(kHitAndRun) | action_bit(kDefend) |
                                         action_bit(kFocusFire);

// Gives the orders that follow from the chosen actions.
void act_strategy(const MiniRules& rules, State& state, int seat, ActionSet actions);

// Which would do anything beyond sending idle workers to gather, judged by what the
// seat may know: its own side, what it sees, and who hit it.
[[nodiscard]] ActionSet useful_actions(const MiniRules& rules, const State& state, int seat);

// The same for who knows already what the seat sees (visible_units).
[[nodiscard]] ActionSet useful_actions(const MiniRules& rules, const State& state, int seat,
                                       std::uint64_t seen);

// A decision of a scripted bot. They know every unit of both sides, as in the original.
void play_simple(const MiniRules& rules, State& state, int seat);
void play_hit_and_run(const MiniRules& rules, State& state, int seat);

// The orders of that decision which would do anything; act_strategy gives them with the same
// effect. kDefend is always kept: it gives new targets to attackers too.
[[nodiscard]] ActionSet simple_orders(const MiniRules& rules, const State& state, int seat);
[[nodiscard]] ActionSet hit_and_run_orders(const MiniRules& rules, const State& state, int seat);

}  // namespace ludus::rts
