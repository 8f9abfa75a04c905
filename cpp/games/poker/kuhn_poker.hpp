// Kuhn poker: three cards, one bet. The smallest game in which bluffing pays; its equilibria are
// known (Kuhn 1950).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"

namespace ludus {

struct KuhnPoker {
  static constexpr const char* kName = "kuhn_poker";
  static constexpr int kCards = 3;

  struct Rules {};

  struct State {
    Rng rng;
    std::array<std::uint8_t, 2> card{};  // 0, 1, 2 of the seats
    std::uint8_t length = 0;             // decisions so far
    std::uint8_t bets = 0;               // bit i: decision i was a bet
    std::int8_t chosen = -1;
    std::uint8_t tick = 0;
    std::array<std::uint8_t, 2> unused{};  // padding with a value
  };

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static SeatMask to_act(const Rules& rules, const State& s);
  static void act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action);
  static void bot(const Rules& rules, State& s, int seat, int bot);
  static void bot_choice(const Rules& rules, State& s, int seat, int bot,
                         std::span<std::int32_t> action);
  static void advance(const Rules& rules, State& s);
  static std::uint32_t tick(const State& s) { return s.tick; }
  static Status status(const Rules& rules, const State& s);
  static void rewards(const Rules& rules, const State& s, std::span<float> out);
  static void outcome(const Rules& rules, const State& s, std::span<float> out);
  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors);
  static void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);
  static std::uint64_t hash(const Rules& rules, const State& s);
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<KuhnPoker>);

}  // namespace ludus
