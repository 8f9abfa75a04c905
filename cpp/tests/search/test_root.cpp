// Differences at the root: a kept root's noise and forced playouts, the rounds of Gumbel's
// halving, and the visits that a pruned target keeps.
#include <array>
#include <cmath>
#include <vector>

#include "search/root.hpp"
#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"

using namespace ludus;
using namespace ludus::tests;

namespace {

std::array<float, 9> priors_of(const Search<T>& s) {
  std::array<float, 9> prior{};
  const Tree& tree = s.tree(0);
  for (const MoveKey k : tree.keys(tree.node(tree.root()))) {
    prior[static_cast<std::size_t>(key_move(k))] = key_prior(k);
  }
  return prior;
}

std::vector<int> halving_order(int considered, int simulations) {
  HalvingSchedule h;
  h.plan(considered, simulations);
  std::vector<int> visits;
  for (int i = 0; i < simulations; ++i) visits.push_back(h.visits_at(i));
  return visits;
}

// A root of one visit whose moves have the given priors, visits and means.
struct Move {
  float prior;
  int visits;
  float mean;
};
NodeId grow_root(Tree& tree, const std::vector<Move>& moves) {
  const std::vector<std::uint8_t> mask(moves.size(), 1);
  std::vector<float> policy;
  for (const Move& m : moves) policy.push_back(m.prior);
  const NodeId root = tree.add(0, 0, 0, mask);
  tree.expand(root, policy, 0.0F);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const int place = tree.slot_of(root, static_cast<int>(i));
    const NodeId child = tree.add(root, place, 1, mask);
    tree.expand(child, {}, -moves[i].mean);
    for (int n = 1; n < moves[i].visits; ++n) tree.back_up(child, -moves[i].mean);
  }
  return root;
}

}  // namespace

TEST_CASE("search: a root kept from the previous move gets fresh noise") {
  Search<T> s = search_of({.visits = 200, .noise_share = 0.5F});
  Rng rng({21, 0}, 0);
  run(s, 0, 200, rng);
  s.play(0, s.choose(0, 0.0F, rng));
  REQUIRE(s.tree(0).visits() > 10);
  const std::array<float, 9> before = priors_of(s);
  s.begin(0, 200, false, rng);
  CHECK(priors_of(s) == before);  // a search without noise leaves them
  s.begin(0, 200, true, rng);
  const std::array<float, 9> after = priors_of(s);
  float moved = 0.0F, total = 0.0F;
  for (std::size_t i = 0; i < 9; ++i) {
    moved += std::abs(after[i] - before[i]);
    total += after[i];
    CHECK(after[i] >= 0.49F * before[i]);
  }
  CHECK(moved > 0.1F);
  CHECK(total == doctest::Approx(1.0).epsilon(0.01));
}

TEST_CASE("search: a kept root forces playouts in a search with noise alone") {
  constexpr float kForced = 8.0F;
  // Visits of the second search's root after a first one, each with noise or without. There is no
  // noise to add: only the playouts are forced.
  const auto second = [](bool first_noise, bool second_noise) {
    Search<T> s = search_of({.visits = 400, .forced_playouts = kForced});
    Rng rng({22, 0}, 0);
    run(s, 0, 100, rng, first_noise);
    s.play(0, 4);
    REQUIRE(s.tree(0).visits() > 1);
    run(s, 0, 400, rng, second_noise);
    const Tree& tree = s.tree(0);
    const Node& n = tree.node(tree.root());
    const Columns c = tree.columns(n);
    int fewer = 0;  // moves with less than sqrt(k P N) visits
    for (int i = 0; i < n.tried; ++i) {
      const float prior = key_prior(tree.keys(n)[static_cast<std::size_t>(i)]);
      fewer += c.visits[i] > 0 &&
               static_cast<float>(c.visits[i]) + 1.0F < std::sqrt(kForced * prior * 399.0F);
    }
    return fewer;
  };
  CHECK(second(false, true) == 0);
  CHECK(second(true, true) == 0);
  CHECK(second(false, false) > 0);
  CHECK(second(true, false) > 0);
}

TEST_CASE("search: Gumbel's rounds are the next power of two's, as in mctx") {
  // ceil(log2(6)) = 3 rounds of 24 / 3 simulations: 6 moves once, 3 moves twice, then 2 moves.
  CHECK(halving_order(6, 24) ==
        std::vector<int>{0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8});
  // 2 rounds: 3 moves twice, 2 moves three times.
  CHECK(halving_order(3, 12) == std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4});
  // 3 rounds: 5 moves twice, 2 moves five times.
  CHECK(halving_order(5, 30) == std::vector<int>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2,  3,  3,  4,
                                                 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11});
}

TEST_CASE("search: a pruned target keeps the visits that a move has earned, to the visit") {
  // 100 visits below the root; sqrt(2 * 1/8 * 100) = 5 of each lesser move's may be forced.
  // PUCT of the most visited: 0.5 + 1/2 * sqrt(101) / 50 = 0.6005.
  Tree tree(1 << 16);
  grow_root(tree, {{.prior = 0.5F, .visits = 49, .mean = 0.5F},
                   // Its 28th visit was forced, at 0.5548 + 1/8 * sqrt(101) / 28 = 0.5997; its
                   // 27th was not, at 0.6013.
                   {.prior = 0.125F, .visits = 30, .mean = 0.5548F},
                   {.prior = 0.125F, .visits = 10, .mean = -0.5F},  // the five that may be
                   {.prior = 0.125F, .visits = 5, .mean = -0.5F},
                   {.prior = 0.125F, .visits = 6, .mean = -0.5F}});  // one visit is none
  const SearchOptions o{.c_puct = 1.0F, .forced_playouts = 2.0F};
  Rng rng;
  Root root;
  std::array<float, 5> target{};
  root.prepare(tree, o, rng, 101, true);
  root.target(tree, o, target);
  const std::array<float, 5> kept = {49.0F, 27.0F, 5.0F, 0.0F, 0.0F};
  for (std::size_t i = 0; i < 5; ++i) CHECK(target[i] * 81.0F == doctest::Approx(kept[i]));
  root.prepare(tree, o, rng, 101, false);  // nothing was forced
  root.target(tree, o, target);
  CHECK(target[1] == doctest::Approx(0.3));
  CHECK(target[3] == doctest::Approx(0.05));
}
