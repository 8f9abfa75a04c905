// Go: stones, captures, suicide, counting, parameters.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "game/state.hpp"
#include "games/go/go.hpp"
#include "tests/doctest.hpp"
#include "tests/go/diagrams.hpp"
#include "tests/go/slow_go.hpp"

namespace ludus {
namespace {

using M = GoMatch;

// A random match in both implementations: every legal point, every board, the count at the end. One
// move in `passes` is a pass.
void compare(int size, const char* ko, bool suicide, std::uint64_t match,
             std::uint32_t passes = 64) {
  INFO(size, " ", ko, " ", suicide, " ", match);
  M m(Params{{"size", std::to_string(size)},
             {"ko", ko},
             {"suicide", suicide ? "allowed" : "forbidden"},
             {"max_moves", std::to_string(std::max(3 * size * size, 60))}});
  const std::string name = ko;
  SlowGo slow{size,
              name == "positional"    ? SlowGo::Ko::positional
              : name == "situational" ? SlowGo::Ko::situational
              : name == "simple"      ? SlowGo::Ko::simple
                                      : SlowGo::Ko::none,
              suicide};
  Rng rng({7, match}, 1);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(m.rules.points()) + 1);
  while (m.s.over == 0) {
    const int c = m.s.to_move;
    Go::legal(m.rules, m.s, c, mask.data());
    std::vector<int> legal;
    for (int p = 0; p < m.rules.points(); ++p) {
      const bool fast = mask[static_cast<std::size_t>(p)] != 0;
      REQUIRE(fast == slow.legal(c, p));
      REQUIRE(fast == Go::is_legal(m.rules, m.s, c, p));
      if (fast) legal.push_back(p);
    }
    // Eyes are filled too, so that whole boards are taken and come back.
    const int pick = legal.empty() || rng.below(passes) == 0
                         ? m.rules.pass()
                         : legal[rng.below(static_cast<std::uint32_t>(legal.size()))];
    m.play(pick);
    slow.play(c, pick == m.rules.pass() ? -1 : pick);
    for (int p = 0; p < m.rules.points(); ++p) {
      REQUIRE(Go::stone(m.rules, m.s, p) == SlowGo::at(slow.grid, p));
    }
  }
  CHECK(m.s.margin2 == 2 * slow.margin() - m.rules.komi2);
  std::vector<std::int8_t> owner(static_cast<std::size_t>(m.rules.points()));
  CHECK(Go::final_score(m.rules, m.s, owner) == static_cast<float>(m.s.margin2) / 2.0F);
  CHECK(std::accumulate(owner.begin(), owner.end(), 0) == slow.margin());
}

// Owner of each point: X, O, or . for neutral; with the points, or `none` where nothing is
// counted.
std::string counted(const M& m) {
  std::vector<std::int8_t> owner(static_cast<std::size_t>(m.rules.points()));
  const auto points = Go::final_score(m.rules, m.s, owner);
  if (!points) return "none";
  std::string out = std::to_string(static_cast<int>(2 * *points)) + " halves";
  for (int p = 0; p < m.rules.points(); ++p) {
    out += p % m.rules.size == 0 ? "\n    " : " ";
    out += ".XO"[static_cast<std::size_t>((3 + owner[static_cast<std::size_t>(p)]) % 3)];
  }
  return out;
}

TEST_CASE("go: who owns what in the end, under both countings") {
  const auto end = [](const char* scoring) {
    M m(R"(
    . X O . X
    X X X X X
    . . . . .
    O O O O O
    . . . . .)",
        "black", {{"komi", "0.5"}, {"scoring", scoring}});
    CHECK(counted(m) == "none");  // not over
    m.play("pass");
    m.play("pass");
    return counted(m);
  };
  // White c5 stands as it is, and what lies between it and Black is neutral.
  CHECK(end("tromp_taylor") == R"(-7 halves
    X X O . X
    X X X X X
    . . . . .
    O O O O O
    O O O O O)");
  CHECK(end("chinese") == R"(-1 halves
    X X X X X
    X X X X X
    . . . . .
    O O O O O
    O O O O O)");
  M m(Params{{"size", "5"}, {"resignation", "on"}});
  m.play("c3");
  m.play(m.rules.resign());
  CHECK(m.s.over == 1);
  CHECK(counted(m) == "none");
}

TEST_CASE("go: random matches agree with the plain rules, all boards, kos and suicides") {
  std::uint64_t match = 0;
  for (const char* ko : {"positional", "situational", "simple", "none"}) {
    for (const bool suicide : {false, true}) {
      for (int i = 0; i < rounds(6); ++i) compare(5, ko, suicide, match++);
      if (!kThorough) continue;
      compare(6, ko, suicide, match++);
      compare(7, ko, suicide, match++);
    }
  }
  if (!kThorough) return;
  compare(9, "positional", false, match++);
  compare(8, "situational", true, match++);
}

TEST_CASE("go: the smallest boards agree with the plain rules, with passes between the moves") {
  std::uint64_t match = 1000;
  for (const char* ko : {"positional", "situational", "simple", "none"}) {
    for (const bool suicide : {false, true}) {
      for (const int size : {2, 3, 4}) {
        for (int i = 0; i < rounds(30); ++i) compare(size, ko, suicide, match++, 5);
      }
    }
  }
}

TEST_CASE("go: a taken chain leaves the board, and its liberties come back") {
  M m(R"(
    . X . . .
    X O O X .
    . X X . .
    . . . . .
    . . . . .)",
      "black");
  m.play("c5");
  CHECK(m.text() == R"(
    . X X . .
    X . . X .
    . X X . .
    . . . . .
    . . . . .)");
  CHECK((m.s.captured & 0xffff) == 2);
  m.play("b4");  // White again, with the other freed point as its liberty
  m.play("c4");
  CHECK((m.s.captured & 0xffff) == 3);
  CHECK_FALSE(m.legal("b4"));  // White: no liberty, takes nothing
  m.play("e1");
  CHECK(m.legal("b4"));  // Black may fill its own
}

TEST_CASE("go: suicide where it is allowed; of one stone it repeats the board") {
  const char* corner = R"(
    . O . . .
    X O . . .
    O . . . .
    . . . . .
    . . . . .)";
  M forbidden(corner, "black");
  CHECK_FALSE(forbidden.legal("a5"));
  M allowed(corner, "black", {{"suicide", "allowed"}});
  CHECK(allowed.legal("a5"));
  allowed.play("a5");
  CHECK(allowed.text() == R"(
    . O . . .
    . O . . .
    O . . . .
    . . . . .
    . . . . .)");
  CHECK((allowed.s.captured & 0xffff) == 0);
  CHECK((allowed.s.captured >> 16) == 2);  // White has them
  M one(R"(
    . O . . .
    O . . . .
    . . . . .
    . . . . .
    . . . . .)",
        "black", {{"suicide", "allowed"}});
  CHECK_FALSE(one.legal("a5"));
  M situational(R"(
    . O . . .
    O . . . .
    . . . . .
    . . . . .
    . . . . .)",
                "black", {{"suicide", "allowed"}, {"ko", "situational"}});
  CHECK(situational.legal("a5"));  // the same board with the other seat to move
  situational.play("a5");
  situational.play("pass");
  CHECK_FALSE(situational.legal("a5"));
}

TEST_CASE("go: two passes end it, area is counted, komi decides") {
  const char* board = R"(
    . X . O .
    X X O O .
    . X O . .
    X X O O O
    . X X O .)";
  // Black 9 stones and a5, a3, a1; White 9 and e5, e4, d3, e3, e1; c5 touches both.
  M m(board, "black", {{"komi", "2.5"}});
  m.play("pass");
  CHECK(m.s.over == 0);
  m.play("pass");
  CHECK(m.s.over == 1);
  CHECK(m.s.margin2 == 2 * (12 - 14) - 5);
  CHECK(m.result() == -1.0F);
  M draw(board, "black", {{"komi", "-2"}});
  draw.play("pass");
  draw.play("pass");
  CHECK(draw.result() == 0.0F);
}

TEST_CASE("go: chinese counting takes off what cannot live and pays handicap stones") {
  const char* board = R"(
    . X . X .
    X X X X X
    . . . . .
    O O O O O
    X . O . O)";
  M area(board, "black", {{"komi", "0"}});
  M chinese(board, "black", {{"komi", "0"}, {"scoring", "chinese"}});
  // a1 stands in White's corner: neither counts b1 while it stands, both of it is White's without
  // it.
  CHECK(Go::margin2(area.rules, area.s) == 2 * (10 + 1 - (7 + 1)));
  CHECK(Go::margin2(chinese.rules, chinese.s) == 2 * (10 - 10));
  const Go::Rules handicap = Go::make_rules(
      Params{{"size", "9"}, {"komi", "0.5"}, {"scoring", "chinese"}, {"handicap", "4"}});
  Go::State s{};
  Go::reset(handicap, s, {});
  CHECK(s.to_move == 1);
  CHECK(Go::margin2(handicap, s) == 2 * 81 - 1 - 8);
}

TEST_CASE("go: the match ends at its limit, and by resignation") {
  M m(Params{{"size", "5"}, {"max_moves", "3"}});
  for (const char* move : {"a1", "b2", "c3"}) m.play(move);
  CHECK(m.s.over == 1);
  CHECK_FALSE(Go::status(m.rules, m.s).truncated);
  M r(Params{{"size", "5"}, {"resignation", "on"}});
  CHECK(Go::spec(r.rules).heads[0].size == 27);
  r.play("a1");
  const std::int32_t give_up = r.rules.resign();
  Go::act(r.rules, r.s, 1, {&give_up, 1});
  Go::advance(r.rules, r.s);
  CHECK(r.s.over == 1);
  CHECK(r.result() == 1.0F);
}

TEST_CASE("go: handicap stones stand where GTP puts them") {
  const auto stones = [](int size, int n) {
    M m(Params{{"size", std::to_string(size)}, {"handicap", std::to_string(n)}});
    std::string out;
    for (const Go::Stone& s : m.rules.setup) out += m.name(s.point) + " ";
    return out;
  };
  CHECK(stones(19, 4) == "d4 q16 d16 q4 ");
  CHECK(stones(19, 5) == "d4 q16 d16 q4 k10 ");
  CHECK(stones(19, 8) == "d4 q16 d16 q4 d10 q10 k4 k16 ");
  CHECK(stones(9, 9) == "c3 g7 c7 g3 c5 g5 e3 e7 e5 ");
  CHECK(stones(13, 2) == "d4 k10 ");
  CHECK_THROWS_WITH_AS(stones(8, 5), "go.handicap = 5: expected 0 or 2 to 4 on size = 8",
                       ParamError);
}

TEST_CASE("go: set-up positions are checked") {
  const auto refused = [](const char* setup) {
    try {
      Go::make_rules(Params{{"size", "5"}, {"setup", setup}});
    } catch (const ParamError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  CHECK(refused("a1") == "go.setup: 'a1': expected black or white first");
  CHECK(refused("black f1") == "go.setup: 'f1': expected a point from a1 to e5");
  CHECK(refused("black i1") == "go.setup: 'i1': expected a point from a1 to e5");
  CHECK(refused("black a6") == "go.setup: 'a6': expected a point from a1 to e5");
  CHECK(refused("black a") == "go.setup: 'a': expected a point from a1 to e5");
  CHECK(refused("black a1 white a1") == "go.setup: two stones on a1");
  CHECK(refused("black a1 white a2 b1") == "go.setup: the stone on a1 has no liberty");
  CHECK(refused("white a2 b1 black a3 b2 c1") == "accepted");
  CHECK_THROWS_WITH_AS(Go::make_rules(Params{{"komi", "7.3"}}),
                       "go.komi = 7.3: expected a multiple of 0.5", ParamError);
}

TEST_CASE("go: copying what is in use copies the match") {
  for (const char* size : {"5", "9", "19"}) {
    MatchContext<Go> c{Params{{"size", size}}};
    Go::State a{};
    Go::reset(c.rules, a, {3, 4});
    const std::vector<SeatDriver> drivers(2);
    Rng rng({1, 1}, 1);
    Go::State b;
    std::memset(static_cast<void*>(&b), 0x5a, sizeof b);
    while (a.over == 0) {
      copy_state<Go>(c.rules, b, a);
      CHECK(Go::hash(c.rules, a) == Go::hash(c.rules, b));
      Rng twin = rng;
      decide<Go>(c, a, drivers, rng);
      decide<Go>(c, b, drivers, twin);
      Go::advance(c.rules, a);
      Go::advance(c.rules, b);
      REQUIRE(Go::hash(c.rules, a) == Go::hash(c.rules, b));
      if (a.tick > 250) break;
    }
  }
  static_assert(sizeof(go::Board<19>) + sizeof(go::Position<19>::past) < 3072);
  static_assert(offsetof(go::Position<19>, keys) < 3584);
}

}  // namespace
}  // namespace ludus
