// Go: what is read of a position: planes, life, ladders, dead stones.
#include <algorithm>

#include "game/any_match.hpp"
#include "games/go/features.hpp"
#include "tests/doctest.hpp"
#include "tests/go/diagrams.hpp"

namespace ludus {
namespace {

using M = GoMatch;

struct Planes {
  std::vector<std::byte> bytes;
  int size;
  Planes(const M& m, int seat) : size(m.rules.size) {
    bytes.resize(Go::spec(m.rules).observation[0].bytes());
    std::byte* tensors[] = {bytes.data()};
    Go::observe(m.rules, m.s, seat, tensors);
  }
  [[nodiscard]] bool at(int plane, int point) const {
    const auto i = static_cast<std::size_t>(plane * size * size + point);
    return (std::to_integer<unsigned>(bytes[i / 8]) >> i % 8 & 1U) != 0;
  }
  [[nodiscard]] std::string points(int plane, const M& m) const {
    std::string out;
    for (int p = 0; p < size * size; ++p) {
      if (at(plane, p)) out += (out.empty() ? "" : " ") + m.name(p);
    }
    return out;
  }
};

TEST_CASE("go: history planes hold eight positions of both seats, newest first") {
  M m(Params{{"size", "5"}});
  for (const char* move : {"a5", "e1", "b4", "b5", "a4", "pass"}) m.play(move);
  const Planes black(m, 0);
  CHECK(black.points(0, m) == "a5 a4 b4");
  CHECK(black.points(1, m) == "b5 e1");
  CHECK(black.points(2, m) == "a5 a4 b4");  // before the pass: the same board
  CHECK(black.points(4, m) == "a5 b4");
  CHECK(black.points(5, m) == "b5 e1");
  CHECK(black.points(7, m) == "e1");
  CHECK(black.points(10, m) == "a5");
  CHECK(black.points(12, m).empty());
  CHECK(black.points(14, m).empty());
  CHECK(black.points(17, m).empty());
  CHECK(black.points(16, m).size() == 25 * 3 - 1);
  const Planes white(m, 1);
  CHECK(white.points(0, m) == "b5 e1");
  CHECK(white.points(1, m) == "a5 a4 b4");
  m.play("c5");  // takes b5: planes of the past keep it
  const Planes after(m, 1);
  CHECK(after.points(0, m) == "e1");
  CHECK(after.points(2, m) == "b5 e1");
  CHECK(after.points(1, m) == "a5 c5 a4 b4");
  CHECK(after.points(16, m).empty());
}

TEST_CASE("go: the oldest board shown is seven turns old") {
  M m(Params{{"size", "5"}});
  const auto shown = [&](int plane) { return Planes(m, m.s.to_move).points(plane, m); };
  for (const char* move : {"a1", "b2", "c3", "d4", "e5", "a5", "b4"}) m.play(move);
  m.play("d2");
  CHECK(shown(14) == "a1");  // Black's stone after the first of eight turns
  CHECK(shown(15).empty());
  m.play("e1");
  CHECK(shown(14) == "b2");  // White's, after the second
  CHECK(shown(15) == "a1");
}

TEST_CASE("go: rich planes") {
  M m(R"(
    . X . . . . .
    X O X . . . .
    . . . . . . .
    . . . O O . .
    . . . . X . .
    . . . . . . .
    . . . . . . .)",
      "black", {{"features", "rich"}});
  m.play("g1");
  m.play("f3");
  const Planes p(m, 0);
  const auto labels = Go::spec(m.rules).observation[0].labels;
  const auto plane = [&](const std::string& name) {
    const auto it = std::ranges::find(labels, name);
    REQUIRE(it != labels.end());
    return p.points(static_cast<int>(it - labels.begin()), m);
  };
  CHECK(plane("own") == "b7 a6 c6 e3 g1");
  CHECK(plane("opponent_1_liberty") == "b6");
  CHECK(plane("own_2_liberties") == "b7 a6 e3 g1");
  CHECK(plane("own_3_liberties") == "c6");
  CHECK(plane("opponent_2_liberties").empty());
  CHECK(plane("opponent_3_liberties") == "f3");
  CHECK(plane("forbidden").empty());
  CHECK(plane("move_1_ago") == "f3");
  CHECK(plane("move_2_ago") == "g1");
  CHECK(plane("move_3_ago").empty());
  CHECK(plane("own_alive").empty());
  CHECK(plane("opponent_laddered") == "b6");
  CHECK(plane("black_to_move").size() == 49 * 3 - 1);
  CHECK(plane("white_to_move").empty());
  CHECK(plane("board").size() == 49 * 3 - 1);
  const Planes other(m, 1);
  CHECK(other.points(8, m) == "a7");  // forbidden to White: suicide of a single stone
}

go::Points<7> alive(const M& m, int c, bool territory) {
  const auto& position = *reinterpret_cast<const go::Position<7>*>(m.s.position.data());
  const go::PassAlive<7> life(position.board, c);
  return territory ? life.territory() : life.stones();
}
std::string names(const M& m, const go::Points<7>& set) {
  std::string out;
  set.for_each([&](int p) { out += (out.empty() ? "" : " ") + m.name(p); });
  return out;
}

TEST_CASE("go: two eyes live, one large eye is not certain, false eyes die") {
  M two(R"(
    . X . X . . .
    X X X X . . .
    . . . . . . .
    . . . . . O .
    . . . . O . O
    . . . . . O .
    . . . . . . .)",
        "black");
  CHECK(names(two, alive(two, 0, false)) == "b7 d7 a6 b6 c6 d6");
  CHECK(names(two, alive(two, 0, true)) == "a7 c7");
  CHECK(names(two, alive(two, 1, false)).empty());
  M one(R"(
    . . . X . . .
    X X X X . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .)",
        "black");
  CHECK(names(one, alive(one, 0, false)).empty());
  // Chains that share their eyes live together.
  M shared(R"(
    . X X . . . .
    X . X . . . .
    X X . X X . .
    . . X . X . .
    . . X X X . .
    . . . . . . .
    . . . . . . .)",
           "black");
  CHECK(names(shared, alive(shared, 0, true)) == "a7 b6 c5 d4");
  // a6 has one eye only, so it can be taken, and then a7 is no eye for the others either.
  M chained(R"(
    . X X . X . .
    X O X X X . .
    . O . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .)",
            "black");
  CHECK(names(chained, alive(chained, 0, false)).empty());
}

TEST_CASE("go: stones inside sure territory are dead") {
  M m(R"(
    O . X . X . .
    . X X X X . .
    X X . . . . .
    . . . . . . .
    O O O O O O O
    O . O . O O O
    O O . O O X .)",
      "black", {{"komi", "0"}});
  const std::vector<int> dead = Go::dead_stones(m.rules, m.s, 0, Rng({1, 1}, 1));
  CHECK(dead == std::vector<int>{m.point("a7"), m.point("f1")});
  const std::vector<int> guessed = Go::dead_stones(m.rules, m.s, 200, Rng({1, 1}, 1));
  CHECK(std::ranges::count(guessed, m.point("f1")) == 1);
}

TEST_CASE("go: a ladder works on an open board, and not with a breaker in its way") {
  const char* open = R"(
    . . . . . . . . .
    . . X X . . . . .
    . X O . . . . . .
    . X . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .)";
  M works(open, "black");
  CHECK(Go::ladder_takes(works.rules, works.s, works.point("c7"), false));
  CHECK_FALSE(Go::ladder_takes(works.rules, works.s, works.point("c7"), true));  // not in atari
  std::string broken = open;
  const auto cell = [&](int column, int row_from_top) {
    return static_cast<std::size_t>(broken.find(". . . . . . . . .")) +
           static_cast<std::size_t>(row_from_top * (17 + 5) + column * 2);
  };
  broken[cell(5, 5)] = 'O';
  M breaker(broken, "black");
  CHECK_FALSE(Go::ladder_takes(breaker.rules, breaker.s, breaker.point("c7"), false));

  const Go::Ladder taken = Go::read_ladder(works.rules, works.s, works.point("c7"), false, 1000);
  CHECK(taken.taken);
  CHECK(taken.settled);
  CHECK(taken.line.size() > 15);
  REQUIRE(taken.right.size() == 2);
  CHECK(std::ranges::count(taken.right, taken.line.front()) == 1);
  CHECK(taken.tries.size() == 2);
  const Go::Ladder away =
      Go::read_ladder(breaker.rules, breaker.s, breaker.point("c7"), false, 1000);
  CHECK_FALSE(away.taken);
  CHECK(away.settled);
  CHECK(away.right.empty());
  CHECK(away.line.size() < taken.line.size());
  const Go::Ladder hasty = Go::read_ladder(works.rules, works.s, works.point("c7"), false, 5);
  CHECK_FALSE(hasty.settled);
  CHECK_FALSE(hasty.taken);
  CHECK(hasty.line.empty());
  CHECK(hasty.reads <= 5);
}

TEST_CASE("go: reading a ladder to its end finds what the quick reader finds") {
  Rng rng({11, 0}, 1);
  int taken = 0;
  int read = 0;
  for (std::uint64_t n = 0; n < 40; ++n) {
    MatchOf<Go> match({{"size", "7"}}, {n, 0});
    const int moves = 8 + static_cast<int>(rng.below(30));
    for (int i = 0; i < moves && !match.status().over; ++i) {
      match.bot(match.raw().to_move, 0);
      match.advance();
    }
    for (int p = 0; p < 49; ++p) {
      for (const bool owner : {false, true}) {
        if (Go::stone(match.rules(), match.raw(), p) > 1) continue;
        const Go::Ladder ladder = Go::read_ladder(match.rules(), match.raw(), p, owner, 100000);
        if (ladder.tries.empty()) continue;
        ++read;
        taken += ladder.taken ? 1 : 0;
        CHECK(ladder.settled);
        CHECK(ladder.taken == Go::ladder_takes(match.rules(), match.raw(), p, owner));
        CHECK(ladder.right.empty() == (ladder.taken == owner));
        CHECK(!ladder.line.empty());
      }
    }
  }
  CHECK(read > 100);
  CHECK(taken > 20);
  CHECK(taken < read);
}

TEST_CASE("go: a chain in a ladder gets away by taking a stone that holds it") {
  // White a1 runs along the edge and is taken at its end, unless b1 can be taken from b2.
  const auto taken = [](const char* picture) {
    const M m(picture, "white");
    return Go::ladder_takes(m.rules, m.s, m.point("a1"), true);
  };
  CHECK(taken(R"(
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    O X . . . . .)"));
  CHECK_FALSE(taken(R"(
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    O X O . . . .)"));
}

}  // namespace
}  // namespace ludus
