// Matrix games (normal-form games): both seats choose one action at once, a table holds what that
// is worth. Zero-sum, one tick, equilibria known exactly: the yardstick of self-play methods.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "game/game.hpp"

namespace ludus {

struct Matrix {
  static constexpr const char* kName = "matrix";
  static constexpr int kMaxActions = 128;

  struct Rules {
    int rows = 0, columns = 0;  // actions of seat 0, of seat 1
    bool symmetric = false;     // payoff(i, j) = -payoff(j, i): seats do not matter
    std::vector<float> payoff;  // [rows, columns], to seat 0, in [-1, 1]
    std::vector<std::string> labels;
    [[nodiscard]] float at(int i, int j) const {
      return payoff[static_cast<std::size_t>(i) * static_cast<std::size_t>(columns) +
                    static_cast<std::size_t>(j)];
    }
  };

  struct State {
    Rng rng;  // bots that draw, and the result
    std::array<std::int16_t, 2> chosen{-1, -1};
    std::int16_t result = 0;  // to seat 0: +1, 0, -1
    std::uint16_t tick = 0;
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

static_assert(Game<Matrix>);

}  // namespace ludus
