#include <cstring>

#include "games/tic_tac_toe/tic_tac_toe.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

using T = TicTacToe;
constexpr int kRandom = 0;
constexpr int kPerfect = 1;

struct Match {
  T::Rules rules = T::make_rules({});
  T::State s{};
  explicit Match(MatchSeed seed = {}) { T::reset(rules, s, seed); }
  void play(std::int32_t cell) {
    T::act(rules, s, s.to_move, {&cell, 1});
    T::advance(rules, s);
  }
  float result(int seat) {
    float out[2];
    T::outcome(rules, s, out);
    return out[seat];
  }
};

TEST_CASE("tic_tac_toe: a row wins and pays both seats") {
  Match m;
  for (const int cell : {0, 3, 1, 4, 2}) m.play(cell);
  CHECK(T::status(m.rules, m.s).over);
  CHECK_FALSE(T::status(m.rules, m.s).truncated);
  CHECK(m.result(0) == 1.0F);
  CHECK(m.result(1) == -1.0F);
  CHECK(T::to_act(m.rules, m.s) == 0);
}

TEST_CASE("tic_tac_toe: a full board without a row is a draw") {
  Match m;
  for (const int cell : {0, 1, 2, 4, 3, 5, 7, 6, 8}) m.play(cell);
  CHECK(T::status(m.rules, m.s).over);
  CHECK(m.result(0) == 0.0F);
  CHECK(m.result(1) == 0.0F);
}

TEST_CASE("tic_tac_toe: illegal decisions are refused and change nothing") {
  Match m;
  m.play(4);
  const T::State before = m.s;
  const std::int32_t taken = 4;
  const std::int32_t outside = 9;
  const std::int32_t good = 0;
  CHECK_THROWS_AS(T::act(m.rules, m.s, 1, {&taken, 1}), GameError);
  CHECK_THROWS_AS(T::act(m.rules, m.s, 1, {&outside, 1}), GameError);
  CHECK_THROWS_AS(T::act(m.rules, m.s, 0, {&good, 1}), GameError);
  CHECK_THROWS_AS(T::advance(m.rules, m.s), GameError);
  CHECK(std::memcmp(&before, &m.s, sizeof before) == 0);
}

TEST_CASE("tic_tac_toe: masks and observations follow the board") {
  Match m;
  m.play(4);
  m.play(0);
  std::uint8_t mask[9];
  T::legal(m.rules, m.s, 0, mask);
  for (int c = 0; c < 9; ++c) CHECK(mask[c] == (c == 4 || c == 0 ? 0 : 1));
  std::byte bytes[3];
  std::byte* tensors[] = {bytes};
  T::observe(m.rules, m.s, 1, tensors);
  const unsigned bits = static_cast<unsigned>(bytes[0]) | static_cast<unsigned>(bytes[1]) << 8 |
                        static_cast<unsigned>(bytes[2]) << 16;
  CHECK(bits == (1U << 0 | 1U << (9 + 4)));
}

TEST_CASE("tic_tac_toe: perfect never loses, and draws against itself") {
  int wins = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    Match m({.seed = 7, .match = i});
    const int perfect = static_cast<int>(i % 2);
    const bool mirror = i % 3 == 0;
    while (!T::status(m.rules, m.s).over) {
      const int seat = m.s.to_move;
      T::bot(m.rules, m.s, seat, mirror || seat == perfect ? kPerfect : kRandom);
      T::advance(m.rules, m.s);
    }
    if (mirror) {
      CHECK(m.result(0) == 0.0F);
    } else {
      CHECK(m.result(perfect) >= 0.0F);
      wins += m.result(perfect) > 0.0F ? 1 : 0;
    }
  }
  CHECK(wins > 120);
}

TEST_CASE("tic_tac_toe: opens") {
  const T::Rules second = T::make_rules(Params{{"opens", "seat1"}});
  const T::Rules random = T::make_rules(Params{{"opens", "random"}});
  T::State s{};
  T::reset(second, s, {});
  CHECK(T::to_act(second, s) == 2);
  int ones = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    T::reset(random, s, {.seed = 1, .match = i});
    ones += s.to_move;
  }
  CHECK(ones > 430);
  CHECK(ones < 570);
}

}  // namespace
}  // namespace ludus
