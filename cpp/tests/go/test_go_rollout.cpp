// Go: random matches to the end, as a search evaluates positions.
#include "game/match.hpp"
#include "games/go/go.hpp"
#include "tests/doctest.hpp"
#include "tests/go/diagrams.hpp"

namespace ludus {
namespace {

TEST_CASE("go: a rollout ends, changes nothing, and its wins add up") {
  MatchContext<Go> c{Params{{"size", "9"}, {"komi", "0"}}};
  Go::State s{};
  Go::reset(c.rules, s, {});
  const std::uint64_t before = Go::hash(c.rules, s);
  Rng rng({5, 5}, 5);
  double sum = 0;
  double turns = 0;
  for (int i = 0; i < 2000; ++i) {
    std::array<float, 2> out{};
    turns += Go::rollout(c.rules, s, rng, out);
    CHECK(out[0] == -out[1]);
    sum += out[0];
  }
  CHECK(Go::hash(c.rules, s) == before);
  CHECK(sum / 2000 > 0.0);  // Black moves first
  CHECK(sum / 2000 < 0.3);
  CHECK(turns / 2000 > 100);
  CHECK(turns / 2000 < 125);
}

TEST_CASE("go: a rollout pays White for handicap stones, as the count does") {
  // No seat has a move but filling its own eyes. Black has 41 points, its two handicap stones on c3
  // and g7 among them, White 40.
  const char* settled = R"(
    . O . O O O O O O
    O O O O O O O O O
    O O O O X X . X X
    X X X X X X X X X
    X . X . X X X X X
    X X X X X X X X X
    X X . X X X X X X
    O O O O O O O O O
    . O . O O O O O O)";
  for (const auto& [scoring, winner] : {std::pair{"tromp_taylor", 1.0F}, {"chinese", -1.0F}}) {
    INFO(scoring);
    const GoMatch m(settled, "black", {{"handicap", "2"}, {"komi", "0.5"}, {"scoring", scoring}});
    CHECK(Go::margin2(m.rules, m.s) == (winner > 0.0F ? 2 - 1 : 2 - 1 - 4));
    Rng rng({5, 5}, 5);
    std::array<float, 2> out{};
    CHECK(Go::rollout(m.rules, m.s, rng, out) == 2);  // the passes
    CHECK(out[0] == winner);
    CHECK(out[1] == -winner);
  }
}

}  // namespace
}  // namespace ludus
