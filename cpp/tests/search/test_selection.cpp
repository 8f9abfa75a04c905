// Which move a descent takes: the value of untried moves, and leaves that are still under way.
#include <array>
#include <memory>
#include <vector>

#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"
#include "tests/search/slow_tree.hpp"

using namespace ludus;
using namespace ludus::tests;

namespace {

// Searches the slot with `leaves` in every batch, each answered by HashEvaluator's rule.
void run_in_batches(Search<T>& s, int visits, int leaves) {
  const auto rows = static_cast<std::size_t>(leaves);
  std::vector<std::byte> memory(3 * rows);
  auto own = std::make_unique<BatchEvaluator<T>>(s.spec());
  std::byte* base = memory.data();
  own->attach(std::span(&base, 1), leaves);
  s.set_evaluator(std::move(own));
  s.reset(0, {1, 0});
  Rng rng;
  s.begin(0, visits, false, rng);
  std::vector<float> policy(9 * rows), value(rows), one(9);
  while (!s.done(0)) {
    for (int leaf = 0; leaf < leaves;) {
      const Simulated r = s.simulate(0);
      if (r == Simulated::blocked || r == Simulated::done) break;
      leaf += r == Simulated::queued;
    }
    for (std::size_t row = 0; row < static_cast<std::size_t>(s.waiting()); ++row) {
      const std::byte* seen = memory.data() + 3 * row;
      int marks = 0;  // whose turn it is follows from their number
      for (std::size_t i = 0; i < 3; ++i) marks += std::popcount(static_cast<unsigned>(seen[i]));
      WideHash h;
      h.add(seen, 3);
      const Answer a =
          HashEvaluator<T>::answer_to(h.value()[0] + static_cast<std::uint64_t>(marks % 2), one);
      std::copy(one.begin(), one.end(), policy.begin() + static_cast<std::ptrdiff_t>(9 * row));
      value[row] = a.value;
    }
    s.deliver(policy.data(), value.data());
  }
}

// A root of two moves of equal prior at its first visit, worth 0.5; the first move is tried and
// worth 0.45. PUCT's term is left out.
struct TwoMoves {
  Tree tree{1 << 16};
  NodeId root = 0, child = 0;
  SearchOptions o{.c_puct = 0.0F};

  TwoMoves() {
    const std::vector<std::uint8_t> mask = {1, 1};
    root = tree.add(0, 0, 0, mask);
    tree.expand(root, std::vector<float>{0.5F, 0.5F}, 0.5F);
    const int place = tree.begin_try(root);
    child = tree.add(root, place, 1, mask);
    tree.expand(child, {}, -0.45F);
  }
  [[nodiscard]] int select() const { return tree.select(tree.node(root), 2, 0.5F, o); }
};

}  // namespace

TEST_CASE("search: untried moves are worth their first-play urgency, as in the slow search") {
  for (const SearchOptions& o :
       {SearchOptions{.visits = 1000, .fpu_reduction = 0.25F},
        SearchOptions{.visits = 1000, .fpu = Fpu::zero},
        SearchOptions{.visits = 1000, .fpu = Fpu::loss},
        SearchOptions{.visits = 1000, .c_base = 50.0F, .fpu_reduction = 1.0F}}) {
    CAPTURE(static_cast<int>(o.fpu));
    Search<T> s = search_of(o);
    Rng rng;
    run(s, 0, o.visits, rng);
    SlowTree slow(s.rules(), s.state(0), o);
    for (int i = 0; i < o.visits; ++i) slow.simulate();
    check_same(s.tree(0), s.tree(0).root(), slow.root());
  }
}

TEST_CASE("search: leaves under way count as visits that lost, as in the slow search") {
  for (const float loss : {0.5F, 1.0F, 3.0F}) {
    for (const int leaves : {2, 5, 16}) {
      CAPTURE(loss);
      CAPTURE(leaves);
      const SearchOptions o{
          .visits = 400, .fpu_reduction = 0.25F, .virtual_loss = loss, .leaves = leaves};
      Search<T> s = search_of(o);
      run_in_batches(s, o.visits, leaves);
      SlowTree slow(s.rules(), s.state(0), o);
      while (slow.root().visits < o.visits) slow.simulate_batch(leaves, o.visits);
      REQUIRE(s.tree(0).visits() == slow.root().visits);
      check_same(s.tree(0), s.tree(0).root(), slow.root());
    }
  }
}

TEST_CASE("search: the reduction is taken from the mean, with and without proofs in the tree") {
  for (const bool has_bounds : {false, true}) {
    CAPTURE(has_bounds);
    TwoMoves m;
    m.tree.node(m.root).has_bounds = has_bounds;
    m.o.fpu_reduction = 0.2F;
    CHECK(m.select() == 0);  // 0.45 against 0.5 - 0.2
    m.o.fpu_reduction = 0.0F;
    CHECK(m.select() == 1);  // against 0.5
  }
}

TEST_CASE("search: a virtual loss is a visit and a loss, with and without proofs in the tree") {
  for (const bool has_bounds : {false, true}) {
    CAPTURE(has_bounds);
    TwoMoves m;
    m.tree.node(m.root).has_bounds = has_bounds;
    m.tree.mark(m.child, 1);  // (0.45 - 1) / (1 + 1) = -0.275
    m.o.fpu_reduction = 0.8F;
    CHECK(m.select() == 0);  // against 0.5 - 0.8
    m.o.fpu_reduction = 0.75F;
    CHECK(m.select() == 1);   // against 0.5 - 0.75
    m.o.virtual_loss = 2.0F;  // (0.45 - 2) / (1 + 2) = -0.517
    m.o.fpu_reduction = 1.05F;
    CHECK(m.select() == 0);  // against 0.5 - 1.05
  }
}
