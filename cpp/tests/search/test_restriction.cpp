// Root restrictions: moves that a search leaves out.

#include <vector>

#include "search/search_of.hpp"
#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"

namespace ludus {
namespace {

using tests::run;
using tests::T;

constexpr std::size_t kCells = 9;

// Every move of the tree with the depth and the seat that plays it.
void moves_below(const Tree& tree, NodeId id, int depth, const auto& see) {
  const Node& n = tree.node(id);
  if (n.state != Node::open) return;
  const Columns c = tree.columns(n);
  for (int i = 0; i < n.moves; ++i) {
    see(depth, n.seat, key_move(tree.keys(n)[static_cast<std::size_t>(i)]));
    if (i < n.tried && c.child[i] != 0) moves_below(tree, c.child[i], depth + 1, see);
  }
}

TEST_CASE("search: a seat's barred moves are missing down to the depth named, and no others") {
  Search<T> s = tests::search_of({.visits = 3000});
  Rng rng({1, 0}, 0);
  std::vector<std::uint8_t> barred(kCells, 0);
  barred[0] = barred[4] = 1;
  s.restrict(0, 0, barred, 3);  // the first seat's moves at depths 0 and 2
  run(s, 0, 3000, rng);
  int barred_early = 0, barred_late = 0, of_other = 0, others = 0;
  moves_below(s.tree(0), s.tree(0).root(), 0, [&](int depth, int seat, int move) {
    if (barred[static_cast<std::size_t>(move)] == 0) {
      ++others;
    } else if (seat == 1) {
      ++of_other;
    } else {
      (depth < 3 ? barred_early : barred_late) += 1;
    }
  });
  CHECK(barred_early == 0);
  CHECK(barred_late > 0);
  CHECK(of_other > 0);
  CHECK(others > 0);
}

TEST_CASE("search: a lifted restriction leaves the tree of a search without one") {
  Search<T> plain = tests::search_of({.visits = 500});
  Search<T> lifted = tests::search_of({.visits = 500});
  Rng a({1, 0}, 0), b({1, 0}, 0);
  std::vector<std::uint8_t> barred(kCells, 0);
  barred[2] = 1;
  lifted.restrict(0, 0, barred, 1);
  run(lifted, 0, 100, b);
  lifted.restrict(0, 0, {}, 0);
  CHECK(lifted.tree(0).root() == 0);
  b = Rng({1, 0}, 0);
  run(plain, 0, 500, a);
  run(lifted, 0, 500, b);
  const Node& x = plain.tree(0).node(plain.tree(0).root());
  const Node& y = lifted.tree(0).node(lifted.tree(0).root());
  REQUIRE(x.moves == y.moves);
  for (int i = 0; i < x.tried; ++i) {
    CHECK(plain.tree(0).columns(x).visits[i] == lifted.tree(0).columns(y).visits[i]);
  }
}

TEST_CASE("search: where every move is barred, all stay") {
  Search<T> s = tests::search_of({.visits = 50});
  Rng rng({1, 0}, 0);
  const std::vector<std::uint8_t> barred(kCells, 1);
  s.restrict(0, 0, barred, 1);
  run(s, 0, 50, rng);
  CHECK(s.tree(0).node(s.tree(0).root()).moves == 9);
}

TEST_CASE("search: a restriction names a seat, a depth and every move") {
  SearchOf<T> s(Params(), {.visits = 50}, {.kind = "uniform"}, 1);
  const std::vector<std::uint8_t> barred(kCells, 0), few(3, 0);
  CHECK_THROWS_AS(s.restrict(0, 2, barred, 1), SearchError);
  CHECK_THROWS_AS(s.restrict(0, 0, barred, -1), SearchError);
  CHECK_THROWS_AS(s.restrict(0, 0, few, 1), SearchError);
  CHECK_THROWS_AS(s.restrict(1, 0, barred, 1), SearchError);
}

TEST_CASE("search: a line reports how often each of its moves was tried") {
  SearchOf<T> s(Params(), {.visits = 400}, {.kind = "uniform"}, 1);
  s.begin(0, 400, false, 1);
  s.collect(1000);
  const RootReport r = s.report(0);
  const std::vector<LineMove> line = s.line(0, -1, 16);
  REQUIRE(line.size() > 2);
  std::int32_t most = 0;
  for (const std::int32_t v : r.move_visits) most = std::max(most, v);
  CHECK(line[0].visits == most);
  for (std::size_t i = 1; i < line.size(); ++i) CHECK(line[i].visits < line[i - 1].visits);
}

}  // namespace
}  // namespace ludus
