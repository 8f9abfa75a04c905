// Go: what may not come back, and how many ways there are to play.
#include "game/conformance.hpp"
#include "game/perft.hpp"
#include "games/go/go.hpp"
#include "tests/doctest.hpp"
#include "tests/go/diagrams.hpp"

namespace ludus {
namespace {

using M = GoMatch;

TEST_CASE("go: perft on 5x5 from the plain rules") {
  // Two plies: 25 points and the pass, then again, less what is taken; a pass to a pass is the end.
  const Params p{{"size", "5"}};
  CHECK(perft<Go>(p, {}, 0, 1) == 26);
  CHECK(perft<Go>(p, {}, 0, 2) == 25 * 25 + 26);
  // Three: after stone, stone 23 + 1; after stone, pass 24 + 1; after pass, stone 24 + 1.
  CHECK(perft<Go>(p, {}, 0, 3) == 25ULL * 24 * 24 + 25 * 25 + 25 * 25);
}

// Decision paths of each depth up to `depth`, passes counted, suicide forbidden.
std::vector<std::uint64_t> paths(const char* size, const char* ko, int depth) {
  std::vector<std::uint64_t> counts;
  for (int d = 1; d <= depth; ++d) {
    counts.push_back(perft<Go>(Params{{"size", size}, {"ko", ko}}, {}, 0, d));
  }
  return counts;
}

TEST_CASE("go: perft on the smallest boards agrees with published tables") {
  using Counts = std::vector<std::uint64_t>;
  CHECK(paths("2", "positional", 9) == Counts{5, 21, 68, 156, 316, 604, 1088, 2184, 4184});
  CHECK(paths("2", "none", 9) == Counts{5, 21, 68, 156, 316, 604, 1168, 2592, 5768});
  CHECK(paths("3", "positional", 6) == Counts{10, 91, 738, 5281, 33384, 179712});
  CHECK(paths("3", "none", 6) == Counts{10, 91, 738, 5281, 33384, 179744});
}

TEST_CASE("go: the smallest boards conform") {
  for (const char* size : {"2", "3", "4"}) {
    for (const char* features : {"history", "rich"}) {
      Conformance<Go> c(Params{{"size", size}, {"ko", "none"}, {"features", features}}, 5, 200);
      const Findings& f = c.run(4);
      INFO(f.json());
      CHECK(f.clean());
    }
  }
}

TEST_CASE("go: simple ko forbids the retake at once and allows it later") {
  M m(R"(
    . X O . .
    X O . O .
    . X O . .
    . . . . .
    . . . . .)",
      "black", {{"ko", "simple"}});
  m.play("c4");
  CHECK(m.text() == R"(
    . X O . .
    X . X O .
    . X O . .
    . . . . .
    . . . . .)");
  CHECK_FALSE(m.legal("b4"));
  m.play("e1");
  m.play("e5");
  CHECK(m.legal("b4"));
}

// Black has taken a stone of White's.
constexpr const char* kTakenKo = R"(
    . X O . .
    X . X O .
    . X O . .
    . . . . .
    . . . . .)";

TEST_CASE("go: a pass lifts a simple ko") {
  M m(kTakenKo, "white", {{"ko", "simple"}});
  m.play("b4");
  CHECK_FALSE(m.legal("c4"));
  m.play("pass");
  m.play("e1");
  CHECK(m.legal("c4"));
  M filled(kTakenKo, "white", {{"ko", "simple"}});
  filled.play("b4");
  CHECK_FALSE(filled.legal("c4"));
  filled.play("pass");
  CHECK(filled.legal("c4"));  // White connects at the point that Black might not retake at
}

TEST_CASE("go: without a ko rule a stone is retaken at once") {
  M m(kTakenKo, "white", {{"ko", "none"}});
  const std::string before = m.text();
  for (int cycle = 0; cycle < 3; ++cycle) {
    REQUIRE(m.legal("b4"));
    m.play("b4");
    REQUIRE(m.legal("c4"));
    m.play("c4");
    CHECK(m.text() == before);
  }
  CHECK((m.s.captured & 0xffff) == 3);
}

TEST_CASE("go: a pass gives the turn to a seat, and situational superko remembers the board so") {
  for (const std::string ko : {"positional", "situational", "simple", "none"}) {
    INFO(ko);
    M m(R"(
    . X O . . . .
    X . X O . . .
    . X O . . . .
    . . . . . . .
    . X O . . . .
    X . X O . . .
    . X O . . . .)",
        "black", {{"ko", ko}});
    m.play("pass");  // both kos are Black's, and White is to move
    for (const char* move : {"b6", "pass", "b2", "c6", "pass"}) m.play(move);
    // Black has one of them again; the other would repeat that position.
    CHECK(m.legal("c2") == (ko == "simple" || ko == "none"));
  }
}

TEST_CASE("go: sending two and taking one back") {
  // White c5 sends two, Black a5 takes them, White b5 takes one: the first board again, Black to
  // move.
  for (const std::string ko : {"positional", "situational", "simple", "none"}) {
    INFO(ko);
    M m(R"(
    . O . X .
    O X X X .
    O . . . .
    . . . . .
    . . . . .)",
        "white", {{"ko", ko}});
    m.play("c5");
    m.play("a5");
    CHECK((m.s.captured & 0xffff) == 2);
    CHECK(m.legal("b5") == (ko != "positional"));
    if (ko == "positional") continue;
    m.play("b5");
    m.play("pass");
    CHECK(m.legal("c5") ==
          (ko == "simple" || ko == "none"));  // that board stood there with Black to move
  }
}

}  // namespace
}  // namespace ludus
