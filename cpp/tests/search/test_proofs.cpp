// Proofs from the ends of matches, against values found by looking at everything.
#include <algorithm>
#include <array>
#include <optional>

#include "games/connect_four/connect_four.hpp"
#include "games/connect_four/solver.hpp"
#include "search/endgame.hpp"
#include "search/search.hpp"
#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"

using namespace ludus;
using namespace ludus::tests;

namespace {

// Connect Four for which alpha-beta has nothing but the rules.
struct Unforeseen : ConnectFour {
  static void static_evaluation();
};
static_assert(Game<Unforeseen> && !HasStaticEvaluation<Unforeseen>);

}  // namespace

TEST_CASE("search: what a solver proves is true, and it is played") {
  for (const int leaves : {1, 4}) {
    constexpr int kMost = 20000;
    Search<T> s = search_of({.visits = kMost, .leaves = leaves, .solver = true});
    Rng rng({3, 0}, 0);
    std::array<int, 3> seen{};
    for (std::uint64_t match = 0; match < 30; ++match) {
      s.reset(0, {7, match});
      while (!s.status(0).over) {
        const int ply = 9 - static_cast<int>(std::ranges::count(s.legal(0), 1));
        if (ply < 3 || rng.uniform() < 0.3) {  // anywhere
          const auto legal = s.legal(0);
          auto move = static_cast<int>(rng.below(9));
          while (legal[static_cast<std::size_t>(move)] == 0) move = (move + 1) % 9;
          s.play(0, move);
          continue;
        }
        const int value = exact_value(s.rules(), s.state(0));
        run(s, 0, kMost, rng);
        const Tree& tree = s.tree(0);
        REQUIRE(tree.proven());
        REQUIRE(static_cast<int>(tree.value()) == value);
        REQUIRE(tree.visits() < kMost);
        REQUIRE(tree.consistent());
        ++seen[static_cast<std::size_t>(value + 1)];
        std::array<float, 9> target{};
        s.target(0, target);
        for (std::int32_t move = 0; move < 9; ++move) {  // what is taught keeps the value
          if (target[static_cast<std::size_t>(move)] == 0.0F) continue;
          T::State next = s.state(0);
          T::act(s.rules(), next, s.state(0).to_move, std::span(&move, 1));
          T::advance(s.rules(), next);
          std::array<float, 2> out{};
          const bool over = T::status(s.rules(), next).over;
          if (over) T::outcome(s.rules(), next, out);
          const int after = over ? static_cast<int>(out[static_cast<std::size_t>(s.seat(0))])
                                 : -exact_value(s.rules(), next);
          REQUIRE(after == value);
        }
        s.play(0, s.choose(0, rng.uniform() < 0.5 ? 1.0F : 0.0F, rng));
      }
    }
    CHECK(*std::ranges::min_element(seen) > 3);  // wins, draws and losses came up
  }
}

TEST_CASE("search: no move is played that promises less than another is proven to give") {
  // Its evaluator returns anything, so that many visits go against a proof.
  Search<T> s = search_of({.visits = 200, .solver = true});
  Rng rng({11, 0}, 0);
  int bounded = 0;
  for (std::uint64_t match = 0; match < 400; ++match) {
    s.reset(0, {13, match});
    while (!s.status(0).over) {
      run(s, 0, 10 + static_cast<int>(rng.below(60)), rng);
      const Tree& tree = s.tree(0);
      const Node& n = tree.node(tree.root());
      const Columns c = tree.columns(n);
      const std::span<const MoveKey> keys = tree.keys(n);
      const int move = s.choose(0, rng.uniform() < 0.5 ? 1.0F : 0.0F, rng);
      if (n.low == 0 && n.high > 0) {
        ++bounded;
        for (int i = 0; i < n.tried; ++i) {
          if (!tree.worth(n, c, i) || tree.bounds(n, c, i).low >= 0) continue;
          const float mean = c.sum[i] / static_cast<float>(std::max(c.visits[i], 1));
          if (mean >= 0.0F) continue;
          REQUIRE(key_move(keys[static_cast<std::size_t>(i)]) != move);
        }
      }
      s.play(0, move);
    }
  }
  CHECK(bounded > 50);
}

TEST_CASE("endgame: what it finds is the value, in as many calls as its positions need") {
  const T::Rules rules = T::make_rules(Params());
  const GameSpec spec = T::spec(rules);
  constexpr int kMany = 1 << 20;
  Endgame<T> whole(spec, 9, kMany), short_sighted(spec, 5, kMany), poor(spec, 9, 20);
  Rng rng({5, 0}, 0);
  std::array<int, 3> seen{};
  int late = 0, given_up = 0;
  for (std::uint64_t match = 0; match < 60; ++match) {
    T::State state{};
    T::reset(rules, state, {5, match});
    while (!T::status(rules, state).over) {
      const int value = exact_value(rules, state);
      REQUIRE(whole.solve(rules, state, kMany) == value);
      const bool near = static_cast<int>(T::tick(state)) + 5 >= spec.max_ticks;
      REQUIRE(short_sighted.solve(rules, state, kMany).has_value() == near);
      late += near;
      std::optional<int> found = poor.solve(rules, state, 20);
      for (int calls = 0; !found; ++calls) {
        REQUIRE(calls < 1000);  // what was found before is not looked for again
        ++given_up;
        found = poor.solve(rules, state, 20);
      }
      REQUIRE(found == value);
      ++seen[static_cast<std::size_t>(value + 1)];
      std::array<std::uint8_t, 9> mask{};
      T::legal(rules, state, state.to_move, mask.data());
      auto move = static_cast<std::int32_t>(rng.below(9));
      while (mask[static_cast<std::size_t>(move)] == 0) move = (move + 1) % 9;
      T::act(rules, state, state.to_move, std::span(&move, 1));
      T::advance(rules, state);
    }
  }
  CHECK(*std::ranges::min_element(seen) > 10);
  CHECK(late > 100);
  CHECK(given_up > 50);
}

TEST_CASE_TEMPLATE("endgame: a larger game, against its own solver", F, ConnectFour, Unforeseen) {
  constexpr std::uint32_t kToGo = 16;
  const typename F::Rules rules = F::make_rules(Params());
  const GameSpec spec = F::spec(rules);
  constexpr int kMany = 1 << 20, kFew = HasStaticEvaluation<F> ? 30 : 300;
  Endgame<F> endgame(spec, kToGo, kMany), poor(spec, kToGo, kFew);
  ConnectFourSolver solver(16);
  Rng rng({23, 0}, 0);
  std::array<int, 3> seen{};
  int given_up = 0;
  for (std::uint64_t match = 0; match < 2000; ++match) {
    typename F::State state{};
    F::reset(rules, state, {23, match});
    while (!F::status(rules, state).over) {
      if (F::tick(state) + kToGo == F::kCells) {
        const int score = solver.solve(
            {.own = state.stones[state.to_move], .all = state.stones[0] | state.stones[1]}, true);
        const int value = (score > 0) - (score < 0);
        REQUIRE(endgame.solve(rules, state, kMany) == value);
        const std::optional<int> found = poor.solve(rules, state, 20);
        REQUIRE(found.value_or(value) == value);
        given_up += !found;
        ++seen[static_cast<std::size_t>(value + 1)];
        break;
      }
      std::array<std::uint8_t, F::kColumns> mask{};
      F::legal(rules, state, state.to_move, mask.data());
      auto column = static_cast<std::int32_t>(rng.below(F::kColumns));
      while (mask[static_cast<std::size_t>(column)] == 0) column = (column + 1) % F::kColumns;
      F::act(rules, state, state.to_move, std::span(&column, 1));
      F::advance(rules, state);
    }
  }
  CHECK(*std::ranges::min_element(seen) > 5);
  CHECK(given_up > 5);
}

TEST_CASE("search: the root's own moves may have more positions for their ends than leaves") {
  const auto proven = [](int root_nodes) {
    const SearchOptions o{.visits = 200,
                          .solver = true,
                          .endgame_plies = 22,
                          .endgame_nodes = 1,
                          .endgame_root_nodes = root_nodes};
    Search<ConnectFour> s(Params(), o, 1, o.visits);
    s.set_evaluator(std::make_unique<HashEvaluator<ConnectFour>>(s.spec()));
    Rng rng({31, 0}, 0);
    int count = 0;
    for (std::uint64_t match = 0; match < 60; ++match) {
      s.reset(0, {31, match});
      while (!s.status(0).over && s.state(0).tick < 21) {
        auto column = static_cast<int>(rng.below(ConnectFour::kColumns));
        while (s.legal(0)[static_cast<std::size_t>(column)] == 0) column = (column + 1) % 7;
        s.play(0, column);
      }
      if (s.status(0).over) continue;
      run(s, 0, o.visits, rng);
      count += s.tree(0).proven() ? 1 : 1000;
    }
    return std::array{count % 1000, count / 1000};
  };
  const auto [few, open] = proven(0);
  CHECK(open > 5);
  const auto [all, none] = proven(1 << 20);
  CHECK(all == few + open);
  CHECK(none == 0);
  CHECK_THROWS_AS(validate(SearchOptions{.endgame_root_nodes = -1}), SearchError);
}

TEST_CASE("search: with an endgame that reaches to the end a root is proven by its moves alone") {
  Search<T> s = search_of({.visits = 100, .solver = true, .endgame_plies = 9});
  Rng rng({17, 0}, 0);
  for (std::uint64_t match = 0; match < 40; ++match) {
    s.reset(0, {19, match});
    while (!s.status(0).over) {
      const int value = exact_value(s.rules(), s.state(0));
      run(s, 0, 100, rng);
      REQUIRE(s.tree(0).proven());
      REQUIRE(static_cast<int>(s.tree(0).value()) == value);
      REQUIRE(s.tree(0).visits() < 100);
      REQUIRE(s.tree(0).consistent());
      const auto legal = s.legal(0);
      auto move = static_cast<int>(rng.below(9));
      while (legal[static_cast<std::size_t>(move)] == 0) move = (move + 1) % 9;
      s.play(0, move);
    }
  }
  CHECK_THROWS_WITH_AS(validate(SearchOptions{.endgame_plies = 3}),
                       "search: endgame_plies wants solver, and no score_share", SearchError);
}
