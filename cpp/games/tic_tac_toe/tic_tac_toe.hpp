// Tic-tac-toe: the annotated skeleton. Copy this folder to add a game; every line that is not a
// rule of tic-tac-toe is one that a new game needs too. See docs/guides/add_a_game.md.
//
// A game is two structs and static functions (cpp/game/game.hpp describes who calls them and when).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "game/turns.hpp"

namespace ludus {

struct TicTacToe {
  static constexpr const char* kName = "tic_tac_toe";
  static constexpr int kCells = 9;
  static constexpr int kBoards = 19683;  // 3^9: a cell is empty, seat 0 or seat 1

  // Immutable, shared by all matches of a pool. Tables and parsed parameters belong here; it may
  // own heap memory, since nothing copies or changes it after make_rules.
  struct Rules {
    Opens opens = Opens::seat0;
    // Value of a board (base-3 number) to seat 0 under perfect play, seat 0 or seat 1 to move.
    std::array<std::array<std::int8_t, kBoards>, 2> value{};
  };

  // One match. Trivially copyable, no pointers: clone, restore and checkpoint are a memcpy. Give
  // every byte a value (no padding holes that hash() or memcmp would see differently).
  struct State {
    Rng rng;                               // the match's own stream, for bots that draw
    std::array<std::uint16_t, 2> marks{};  // bit c = cell c, one set a seat
    std::uint8_t to_move = 0;
    std::int8_t winner = -1;  // seat, or -1 while no one has three in a row
    std::int8_t chosen = -1;  // queued by act/bot, played by advance
    std::uint8_t tick = 0;
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

static_assert(Game<TicTacToe>);

}  // namespace ludus
