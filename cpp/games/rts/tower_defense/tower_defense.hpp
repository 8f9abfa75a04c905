// Tower Defense: build towers on the walls of a maze before ever larger waves reach the base. The
// third real-time game of the ELF paper (NIPS 2017); docs/games/tower_defense.md has the rules.
//
// The original has a second player, who only ever sends waves; here that is part of the rules, and
// the game has one seat.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "games/rts/engine/learned_heuristic.hpp"
#include "games/rts/engine/path_cache.hpp"
#include "games/rts/tower_defense/rules.hpp"

namespace ludus {

struct TowerDefense {
  static constexpr const char* kName = "tower_defense";
  using Rules = rts::TdRules;

  struct State {
    rts::State world;
    Rng rng;                      // the maze, then the bot `random`
    float earned = 0.0F;          // what the last tick was worth, without the end of the match
    rts::PathCache path_cache;    // results of whole path searches
    rts::HeuristicTables tables;  // cache of the learned heuristic
  };

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static void copy(const Rules& rules, State& to, const State& from);  // without these
  static SeatMask to_act(const Rules& rules, const State& s);
  // By the parameter `commands`. "strategic": one choice, see rts::kTowerActions; a choice that the
  // mask forbids is allowed and builds nothing, as in the original. "tactical" and "units":
  // tower_orders.hpp. GameError: a number outside a head, or, on the lower levels, what the mask
  // forbids.
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
  // Alive, of both sides; benchmarks give nanoseconds per unit.
  static int units(const Rules&, const State& s) { return s.world.units[0] + s.world.units[1]; }
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<TowerDefense>);

}  // namespace ludus
