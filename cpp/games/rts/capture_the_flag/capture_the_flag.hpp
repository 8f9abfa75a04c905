// Capture the Flag: five athletes a side fetch one flag and carry it home, slowly, five times. The
// second real-time game of the ELF paper (NIPS 2017); docs/games/capture_the_flag.md has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "games/rts/capture_the_flag/rules.hpp"

namespace ludus {

struct CaptureTheFlag {
  static constexpr const char* kName = "capture_the_flag";
  using Rules = rts::CtfRules;

  struct State {
    rts::State world;
    Rng rng;              // the start, where the flag comes back, tie-breaks, then the bot `random`
    float earned = 0.0F;  // what the last tick was worth to seat 0, without the end of the match
    float flag_x = 0.0F;  // where the flag was last known to be carried
    rts::FlagHeuristic heuristic;
  };

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static void copy(const Rules& rules, State& to, const State& from);  // without the tables
  static SeatMask to_act(const Rules& rules, const State& s);
  // By the parameter `commands`. "strategic": one choice, a rts::FlagAction; a choice that the mask
  // forbids is allowed and does nothing, as in the original. "tactical": tactical_orders.hpp.
  // "units": unit_orders.hpp. GameError: a number outside a head, or, on the lower levels, what the
  // mask forbids.
  static void act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action);
  static void bot(const Rules& rules, State& s, int seat, int bot);
  static void bot_choice(const Rules& rules, State& s, int seat, int bot,
                         std::span<std::int32_t> action);
  static void advance(const Rules& rules, State& s);
  static std::uint32_t tick(const State& s) { return s.world.tick; }
  static Status status(const Rules& rules, const State& s);
  static void rewards(const Rules& rules, const State& s, std::span<float> out);
  static void outcome(const Rules& rules, const State& s, std::span<float> out);
  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors);
  static void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);
  static std::uint64_t hash(const Rules& rules, const State& s);
  // Alive, the flag among them; benchmarks give nanoseconds per unit.
  static int units(const Rules&, const State& s) {
    return s.world.units[0] + s.world.units[1] + s.world.units[rts::kFlagOwner];
  }
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<CaptureTheFlag>);

}  // namespace ludus
