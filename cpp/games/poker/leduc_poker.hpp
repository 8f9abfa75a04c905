// Leduc hold'em (Southey et al. 2005): six cards, one private and one public, two betting rounds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"

namespace ludus {

struct LeducPoker {
  static constexpr const char* kName = "leduc_poker";
  static constexpr int kCards = 6;  // card / 2 is the rank
  static constexpr int kRounds = 2;
  static constexpr int kMaxActions = 4;  // decisions of a round

  struct Rules {};

  struct State {
    Rng rng;
    std::array<std::uint8_t, 3> card{};  // of seat 0, of seat 1, public
    std::uint8_t round = 0;
    std::array<std::uint8_t, kRounds> length{};  // decisions in each round
    std::array<std::uint8_t, kRounds> raised{};  // bit i: decision i of the round was a raise
    std::array<std::uint8_t, 2> paid{};          // chips in the pot, of each seat
    std::uint8_t to_move = 0;
    std::uint8_t raises = 0;  // in this round
    std::int8_t folded = -1;  // seat
    std::int8_t chosen = -1;
    std::uint8_t tick = 0;
    std::uint8_t unused = 0;  // padding with a value
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

static_assert(Game<LeducPoker>);

}  // namespace ludus
