// The game `rts`: a rulebook on the RTS engine. Unit types, actions, observations
// and bots come from the rulebook; docs/games/rts.md has its keys.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "games/rts/engine/decisions.hpp"
#include "games/rts/engine/learned_heuristic.hpp"
#include "games/rts/rulebook/book.hpp"

namespace ludus {

struct Rts {
  static constexpr const char* kName = "rts";

  struct Rules {
    rts::Book book;
    rts::Commands commands = rts::Commands::strategic;
  };

  struct State {
    rts::State world;
    rts::Numbers numbers;                        // of this match: drawn when the rules say so
    Rng rng;                                     // start position, then the bot `random`
    std::uint64_t drawn;                         // hash of the numbers that were drawn
    std::array<float, rts::kStartSeats> earned;  // in the last tick
    rts::HeuristicTables tables;                 // cache of the learned heuristic
  };

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static void copy(const Rules& rules, State& to, const State& from);  // without the tables
  static SeatMask to_act(const Rules& rules, const State& s);
  // By the parameter `commands`. "strategic": one choice of choice_labels; a choice that the mask
  // forbids is allowed and only sends idle gatherers to work. "tactical":
  // engine/tactical_commands.hpp. "units": engine/unit_commands.hpp. GameError: a number outside a
  // head, or, on the lower levels, what the mask forbids.
  static void act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action);
  static void bot(const Rules& rules, State& s, int seat, int bot);
  static void advance(const Rules& rules, State& s);
  static std::uint32_t tick(const State& s) { return s.world.tick; }
  static Status status(const Rules& rules, const State& s);
  static void rewards(const Rules& rules, const State& s, std::span<float> out);
  static void outcome(const Rules& rules, const State& s, std::span<float> out);
  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors);
  static void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);
  static std::uint64_t hash(const Rules& rules, const State& s);
  static int units(const Rules&, const State& s) { return s.world.units[0] + s.world.units[1]; }
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<Rts>);

}  // namespace ludus
