#include "game/match.hpp"
#include "game/perft.hpp"
#include "games/gomoku/gomoku.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

struct Match {
  Gomoku::Rules rules;
  Gomoku::State s{};
  explicit Match(const Params& params = {}) : rules(Gomoku::make_rules(params)) {
    Gomoku::reset(rules, s, {});
  }
  void play(int x, int y) {
    const std::int32_t cell = y * rules.size + x;
    Gomoku::act(rules, s, s.to_move, {&cell, 1});
    Gomoku::advance(rules, s);
  }
};

TEST_CASE("gomoku: five in a row win in every direction, also at the edges") {
  const std::array<std::array<int, 4>, 6> lines = {
      {{0, 0, 1, 0}, {14, 10, 0, 1}, {10, 10, 1, 1}, {14, 0, -1, 1}, {4, 7, 1, 0}, {0, 14, 1, -1}}};
  for (const auto& [x, y, dx, dy] : lines) {
    Match m;
    for (int i = 0; i < 5; ++i) {
      CHECK_FALSE(Gomoku::status(m.rules, m.s).over);
      m.play(x + i * dx, y + i * dy);
      if (i < 4) m.play(2 * i + 3, i % 2 == 0 ? 3 : 5);
    }
    INFO(x, " ", y, " ", dx, " ", dy);
    CHECK(m.s.winner == 0);
  }
}

TEST_CASE("gomoku: an overline wins in freestyle and is nothing under the standard rule") {
  for (const bool wins : {true, false}) {
    Match m(Params{{"overlines", wins ? "win" : "ignored"}});
    for (const int x : {1, 2, 3, 5, 6, 4}) {
      m.play(x, 7);
      if (x != 4) m.play(2 * x, 12);
    }
    CHECK((m.s.winner == 0) == wins);
  }
}

TEST_CASE("gomoku: rows do not run over the edge") {
  Match m(Params{{"size", "5"}, {"length", "4"}});
  m.play(3, 0);
  m.play(0, 4);
  m.play(4, 0);
  m.play(1, 4);
  m.play(0, 1);
  m.play(4, 3);
  m.play(1, 1);
  CHECK_FALSE(Gomoku::status(m.rules, m.s).over);
}

TEST_CASE("gomoku: parameters that no match fits are refused") {
  CHECK_THROWS_WITH_AS(Gomoku::make_rules(Params{{"size", "5"}, {"length", "6"}}),
                       "gomoku.length = 6: no row of that length fits on size = 5", ParamError);
  CHECK_THROWS_AS(Gomoku::make_rules(Params{{"size", "20"}}), ParamError);
}

TEST_CASE("gomoku: perft on 5x5 is the falling factorial until a row can be complete") {
  CHECK(perft<Gomoku>(Params{{"size", "5"}}, {}, 0, 3) == 25 * 24 * 23);
  // Length 3, the opener on the centre, the other seat in a corner: of the 12 rows of three through
  // the centre 11 are open. The opener completes one at ply 5 by 2 orders of its cells, while the
  // other seat plays one of 21 cells outside it; those matches have no ply 6.
  Match m(Params{{"size", "5"}, {"length", "3"}});
  m.play(2, 2);
  m.play(0, 0);
  MatchContext<Gomoku> c(Params{{"size", "5"}, {"length", "3"}});
  CHECK(Perft<Gomoku>(c, 1).count(m.s, 4) == (23 * 22 * 21 - 11 * 2 * 21) * 20);
}

TEST_CASE("gomoku: observation holds own, opponent and last stone") {
  Match m(Params{{"size", "7"}});
  m.play(1, 0);
  m.play(6, 6);
  std::array<std::byte, 19> bytes{};
  std::byte* tensors[] = {bytes.data()};
  Gomoku::observe(m.rules, m.s, 1, tensors);
  for (int i = 0; i < 147; ++i) {
    const bool set =
        (std::to_integer<unsigned>(bytes[static_cast<std::size_t>(i) / 8]) >> i % 8 & 1U) != 0;
    INFO(i);
    CHECK(set == (i == 48 || i == 49 + 1 || i == 98 + 48));
  }
}

TEST_CASE("gomoku: pattern completes five, stops four, and beats random") {
  Match win;
  for (int x = 3; x < 7; ++x) {
    win.play(x, 7);
    win.play(x, 9);
  }
  Gomoku::bot(win.rules, win.s, 0, 1);
  CHECK((win.s.chosen == 7 * 15 + 2 || win.s.chosen == 7 * 15 + 7));
  MatchContext<Gomoku> c{Params{{"size", "9"}}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto pattern = static_cast<std::size_t>(i % 2);
    std::vector<SeatDriver> drivers(2);
    drivers[pattern].bot = 1;
    drivers[1 - pattern].bot = 0;
    CHECK(record_match<Gomoku>(c, {}, {3, i}, drivers, 16).outcome[pattern] > 0);
  }
}

}  // namespace
}  // namespace ludus
