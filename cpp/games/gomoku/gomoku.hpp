// Gomoku: five stones in a row on a board of 5 to 19 lines, one bit a cell and row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "game/turns.hpp"

namespace ludus {

struct Gomoku {
  static constexpr const char* kName = "gomoku";
  static constexpr int kMaxSize = 19;

  struct Rules {
    int size = 15;
    int length = 5;         // stones in a row that win
    bool overlines = true;  // more than `length` win too
    Opens opens = Opens::seat0;
  };

  struct State {
    using Stones = std::array<std::uint32_t, kMaxSize>;  // bit x of element y; y = 0 is the top row
    Rng rng;
    std::array<Stones, 2> stones{};
    std::int16_t chosen = -1;  // cell y * size + x queued by act/bot, played by advance
    std::int16_t last = -1;    // cell of the last move, or -1
    std::uint16_t tick = 0;
    std::uint8_t to_move = 0;
    std::int8_t winner = -1;  // seat, or -1 while no one has won
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

static_assert(Game<Gomoku>);

}  // namespace ludus
