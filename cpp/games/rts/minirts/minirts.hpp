// MiniRTS: gather, build, train, and destroy the other base. The game of the ELF paper
// (NIPS 2017) on the RTS engine; docs/games/minirts.md has the rules.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "games/rts/engine/learned_heuristic.hpp"
#include "games/rts/minirts/rules.hpp"
#include "games/rts/minirts/strategy.hpp"

namespace ludus {

struct MiniRts {
  static constexpr const char* kName = "minirts";
  static constexpr bool kObservesParts = true;
  using Rules = rts::MiniRules;

  // Manoeuvres of a seat's last decision, where they are ordered again by themselves.
  struct Standing {
    rts::ActionSet orders = 0;
    std::uint32_t since = 0;  // tick of the decision
  };

  struct State {
    rts::State world;
    Rng rng;  // the start position, then the bot `random`
    std::array<Standing, rts::kMiniSeats> standing;
    rts::HeuristicTables tables;  // cache of the learned heuristic
  };

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static void copy(const Rules& rules, State& to, const State& from);  // without the tables
  static SeatMask to_act(const Rules& rules, const State& s);
  // commands = strategic: one choice, a rts::Action. A choice that the mask forbids is allowed and
  // does nothing but send idle workers to gather, as in the original; a number outside the head
  // throws GameError. The other levels: engine/decisions.hpp (combined),
  // engine/tactical_commands.hpp, engine/unit_commands.hpp.
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
  // Units alive, of both seats: benchmarks report nanoseconds per unit.
  static int units(const Rules&, const State& s) { return s.world.units[0] + s.world.units[1]; }
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<MiniRts>);

}  // namespace ludus
