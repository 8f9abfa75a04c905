// Pommerman (Resnick et al. 2018): four bombers on a small board, everyone for themselves or in
// teams, as the `playground` package 0.2.0 plays it. docs/games/pommerman.md has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "games/pommerman/rules.hpp"
#include "games/pommerman/world.hpp"

namespace ludus {

struct Pommerman {
  static constexpr const char* kName = "pommerman";
  using Rules = pommerman::Rules;
  using State = pommerman::State;

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  // Living seats; all act at once.
  static SeatMask to_act(const Rules& rules, const State& s);
  // The dead of a free-for-all. In teams the dead still win or lose with the others.
  static SeatMask out(const Rules& rules, const State& s);
  // An Action, with radio also two words. What the mask leaves out is accepted and does nothing.
  static void act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action);
  static void bot(const Rules& rules, State& s, int seat, int bot);
  static void bot_choice(const Rules& rules, State& s, int seat, int bot,
                         std::span<std::int32_t> action);
  static void advance(const Rules& rules, State& s);
  static std::uint32_t tick(const State& s) { return s.steps; }
  static Status status(const Rules& rules, const State& s);
  static void rewards(const Rules& rules, const State& s, std::span<float> out);
  // The original's `info`: +1 for winners and -1 for the others, all 0 in a tie.
  static void outcome(const Rules& rules, const State& s, std::span<float> out);
  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors);
  static void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);
  static std::uint64_t hash(const Rules& rules, const State& s);
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<Pommerman>);

}  // namespace ludus
