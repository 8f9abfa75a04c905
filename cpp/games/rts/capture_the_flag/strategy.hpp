// The five actions of Capture the Flag: a decision of a whole side, turned into orders to its
// athletes.
#pragma once

#include "games/rts/capture_the_flag/rules.hpp"

namespace ludus::rts {

enum FlagAction : std::uint8_t {
  kFlagStart,
  kGetFlag,
  kAttackFlag,
  kEscortFlag,
  kProtectFlag,
  kFlagActions
};
inline constexpr std::array<const char*, kFlagActions> kFlagActionNames = {
    "start", "get_flag", "attack_flag", "escort_flag", "protect_flag"};

// A set of actions, bit a = FlagAction(a). Players choose one, the scripted bot several at once.
using FlagActionSet = std::uint8_t;
[[nodiscard]] constexpr FlagActionSet flag_action_bit(int a) {
  return static_cast<FlagActionSet>(1U << a);
}

// Where the flag is. Every team knows whether it lies free or who has it.
struct FlagPlace {
  int free = kNone;     // slot of the flag that lies about
  int carrier = kNone;  // slot of who carries it
  int owner = -1;       // of the carrier
};
[[nodiscard]] FlagPlace find_flag(const CtfRules& rules, const State& state);

// Units that the seat sees, and where the flag is, as in the paper.
[[nodiscard]] std::uint64_t known_units(const CtfRules& rules, const State& state, int seat,
                                        const FlagPlace& flag);

// Sends a unit for the flag in slot `flag`.
[[nodiscard]] inline Order get_flag_order(int flag) {
  return {Cmd::get_flag, static_cast<std::uint8_t>(flag), 0, 0.0F, 0.0F};
}
// Sends a unit home with the flag that it has.
[[nodiscard]] inline Order escort_flag_order() { return {Cmd::escort_flag, kNone, 0, 0.0F, 0.0F}; }

// Gives the orders that follow from the chosen actions.
void act_flag(const CtfRules& rules, State& state, int seat, FlagActionSet actions);

// Which of the five would give a unit an order; kFlagStart is always among them.
[[nodiscard]] FlagActionSet useful_flag_actions(const CtfRules& rules, const State& state,
                                                int seat);

// Orders of the original's scripted bot.
[[nodiscard]] FlagActionSet flag_simple_decision(const CtfRules& rules, const State& state,
                                                 int seat);

// A decision of the original's scripted bot.
void play_flag_simple(const CtfRules& rules, State& state, int seat);

}  // namespace ludus::rts
