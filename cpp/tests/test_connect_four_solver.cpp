#include <algorithm>
#include <vector>

#include "games/connect_four/solver.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

using Solver = ConnectFourSolver;

// The same scores without bounds, table or order.
int plain(const Solver::Position& p) {
  if (p.ply() == ConnectFour::kCells) return 0;
  int best = -100;
  for (int c = 0; c < ConnectFour::kColumns; ++c) {
    if (p.full(c)) continue;
    const Solver::Position next = p.played(c);
    best = std::max(best, next.lost() ? (ConnectFour::kCells + 1 - p.ply()) / 2 : -plain(next));
  }
  return best;
}

// A random match of so many plies that is not over.
Solver::Position random_position(Rng& rng, int plies) {
  for (;;) {
    Solver::Position p;
    while (p.ply() < plies && !p.lost()) {
      const int c = static_cast<int>(rng.below(ConnectFour::kColumns));
      if (!p.full(c)) p = p.played(c);
    }
    if (!p.lost()) return p;
  }
}

TEST_CASE("connect_four solver: agrees with plain minimax at the end of matches") {
  Solver solver(4);
  Rng rng({1, 1}, 1);
  for (int i = 0; i < 300; ++i) {
    const Solver::Position p = random_position(rng, 31 + i % 11);
    const int score = plain(p);
    CHECK(solver.solve(p, false) == score);
    CHECK(solver.solve(p, true) == (score > 0) - (score < 0));
  }
}

TEST_CASE("connect_four solver: a position is worth its best move, a mirror image the same") {
  Solver solver(16);
  Solver fresh(1);  // a table that forgets nearly everything must not matter
  Rng rng({2, 2}, 1);
  for (int i = 0; i < 30; ++i) {
    const Solver::Position p = random_position(rng, 18 + i % 6);
    const auto moves = solver.analyse(p, false);
    const int score = solver.solve(p, false);
    CHECK(score == *std::ranges::max_element(moves));
    CHECK(fresh.solve(p, false) == score);
    const auto signs = solver.analyse(p, true);
    for (std::size_t c = 0; c < 7; ++c) {
      CHECK(signs[c] ==
            (moves[c] == Solver::kIllegal ? moves[c] : (moves[c] > 0) - (moves[c] < 0)));
    }
  }
}

TEST_CASE("connect_four solver: bad positions are refused") {
  const auto after = [](std::vector<int> columns) { return Solver::after(columns); };
  CHECK_THROWS_AS(after({0, 0, 0, 0, 0, 0, 0}), GameError);
  CHECK_THROWS_AS(after({7}), GameError);
  CHECK_THROWS_AS(after({0, 1, 0, 1, 0, 1, 0, 1}), GameError);
  Solver solver(1);
  CHECK_THROWS_AS(solver.solve(after({0, 1, 0, 1, 0, 1, 0}), true), GameError);
  CHECK_THROWS_AS(Solver(0), ParamError);
}

}  // namespace
}  // namespace ludus
