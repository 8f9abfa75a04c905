// MOBA: heroes of two teams, creeps, towers and an ancient a side on one lane; each hero a seat.
// docs/games/moba.md has the rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "games/rts/moba/world.hpp"

namespace ludus {

struct Moba {
  static constexpr const char* kName = "moba";
  using Rules = rts::MobaRules;
  using State = rts::MobaWorld;

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static void copy(const Rules& rules, State& to, const State& from);  // without unused memory
  // All heroes, the dead too: their time counts, and they have one choice.
  static SeatMask to_act(const Rules& rules, const State& s);
  // An order, a target, a place; see orders.hpp. GameError for what the mask forbids.
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
  // Alive; benchmarks give nanoseconds per unit.
  static int units(const Rules&, const State& s) { return s.world.units[0] + s.world.units[1]; }
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<Moba>);

}  // namespace ludus
