// The tree against a slow one written from the formula, its invariants, and what searches find.
#include <memory>

#include "games/rts/minirts/minirts.hpp"
#include "games/tic_tac_toe/tic_tac_toe.hpp"
#include "search/self_play.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"
#include "tests/search/slow_tree.hpp"

using namespace ludus;
using namespace ludus::tests;

TEST_CASE("search: the same tree as a slow search from the formula") {
  for (const int visits : {1, 2, 10, 100, 1000}) {
    Search<T> s = search_of({.visits = visits});
    Rng rng;
    run(s, 0, visits, rng);
    SlowTree slow(s.rules(), s.state(0), s.options());
    for (int i = 0; i < visits; ++i) slow.simulate();
    REQUIRE(s.tree(0).visits() == visits);
    check_same(s.tree(0), s.tree(0).root(), slow.root());
    CHECK(s.tree(0).consistent());
    CHECK(static_cast<double>(s.tree(0).value()) ==
          doctest::Approx(slow.root().sum / slow.root().visits).epsilon(1e-4));
  }
}

TEST_CASE("search: visits add up through whole matches, with noise, Gumbel, forced playouts") {
  std::vector<SearchOptions> kinds(4, SearchOptions{.visits = 60, .noise_share = 0.25F});
  kinds[1].gumbel_moves = 4;
  kinds[2].forced_playouts = 2.0F;
  kinds[3].c_base = 19652.0F;
  kinds[3].fpu = Fpu::loss;
  for (const SearchOptions& o : kinds) {
    Search<T> s = search_of(o);
    Rng rng({5, 0}, 0);
    for (std::uint64_t match = 0; match < 20; ++match) {
      s.reset(0, {7, match});
      while (!s.status(0).over) {
        run(s, 0, o.visits, rng, true);
        REQUIRE(s.tree(0).visits() == o.visits);
        REQUIRE(s.tree(0).consistent());
        std::array<float, 9> target{};
        s.target(0, target);
        float total = 0.0F;
        for (const float x : target) {
          CHECK(x >= 0.0F);
          total += x;
        }
        CHECK(total == doctest::Approx(1.0));
        s.play(0, s.choose(0, 1.0F, rng));
        REQUIRE(s.tree(0).consistent());
      }
    }
  }
}

TEST_CASE("search: what is kept after a move is exactly the subtree") {
  Search<T> kept = search_of({.visits = 300});
  Rng rng;
  run(kept, 0, 300, rng);
  const int move = kept.choose(0, 0.0F, rng);
  const Tree& before = kept.tree(0);
  const Node& root = before.node(before.root());
  std::int32_t visits = 0;
  for (int i = 0; i < root.tried; ++i) {
    if (key_move(before.keys(root)[static_cast<std::size_t>(i)]) == move) {
      visits = before.columns(root).visits[i];
    }
  }
  REQUIRE(visits > 10);
  const T::State state = kept.state(0);
  kept.play(0, move);
  CHECK(kept.tree(0).visits() == visits);
  CHECK(kept.tree(0).consistent());
  // The same position reached only by its state, as an opponent's answer is.
  Search<T> other = search_of({.visits = 300});
  run(other, 0, 300, rng);
  T::State next = state;
  const std::int32_t action = move;
  T::act(other.rules(), next, 0, std::span(&action, 1));
  T::advance(other.rules(), next);
  CHECK(other.set_state(0, next));
  CHECK(other.tree(0).visits() == visits);
  run(other, 0, 300, rng);
  CHECK(other.tree(0).visits() == 300);
  CHECK(other.tree(0).consistent());
}

TEST_CASE("search: several leaves of one tree at once keep the counts exact") {
  SearchOptions o{.visits = 200, .leaves = 8};
  Search<T> s(Params(), o, 2, o.visits);
  auto own = std::make_unique<BatchEvaluator<T>>(s.spec());
  BatchEvaluator<T>* batch = own.get();
  s.set_evaluator(std::move(own));
  std::vector<std::byte> memory(16 * 3);
  std::byte* base = memory.data();
  batch->attach(std::span(&base, 1), 16);
  Rng rng;
  for (int slot = 0; slot < 2; ++slot) {
    s.reset(slot, {1, 1});
    s.begin(slot, 200, false, rng);
  }
  std::vector<float> policy(16 * 9, 0.1F), value(16);
  int most = 0;
  for (int round = 0; round < 2000 && !(s.done(0) && s.done(1)); ++round) {
    for (int slot = 0; slot < 2; ++slot) {
      for (int leaf = 0; leaf < 8;) {
        const Simulated r = s.simulate(slot);
        if (r == Simulated::blocked || r == Simulated::done) break;
        leaf += r == Simulated::queued;
      }
      REQUIRE(s.tree(slot).consistent());
    }
    most = std::max(most, s.waiting());
    for (int row = 0; row < s.waiting(); ++row) {
      value[static_cast<std::size_t>(row)] = static_cast<float>(row % 3 - 1) * 0.3F;
    }
    s.deliver(policy.data(), value.data());
  }
  CHECK(most == 16);
  for (int slot = 0; slot < 2; ++slot) {
    CHECK(s.tree(slot).visits() == 200);
    CHECK(s.tree(slot).under_way() == 0);
    CHECK(s.tree(slot).consistent());
  }
}

TEST_CASE("search: the first leaf of a batch is the one that a single search takes") {
  // With one leaf a batch, waiting changes nothing: the same tree as with an instant evaluator.
  SearchOptions o{.visits = 150};
  Search<T> at_once = search_of(o);
  Rng rng;
  run(at_once, 0, 150, rng);
  Search<T> s(Params(), o, 1, o.visits);
  auto own = std::make_unique<BatchEvaluator<T>>(s.spec());
  BatchEvaluator<T>* batch = own.get();
  s.set_evaluator(std::move(own));
  std::array<std::byte, 3> memory{};
  std::byte* base = memory.data();
  batch->attach(std::span(&base, 1), 1);
  s.reset(0, {1, 0});
  s.begin(0, 150, false, rng);
  std::vector<float> policy(9);
  while (!s.done(0)) {
    const Simulated r = s.simulate(0);
    if (r != Simulated::queued) continue;
    // Whose turn it is follows from the marks: HashEvaluator adds the seat.
    int marks = 0;
    for (const std::byte b : memory) marks += std::popcount(static_cast<unsigned>(b));
    WideHash h;
    h.add(memory.data(), memory.size());
    const Answer a =
        HashEvaluator<T>::answer_to(h.value()[0] + static_cast<std::uint64_t>(marks % 2), policy);
    s.deliver(a.policy.data(), &a.value);
  }
  std::array<float, 9> x{}, y{};
  s.target(0, x);
  at_once.target(0, y);
  CHECK(x == y);
}

TEST_CASE("search: a cache changes no answer") {
  for (const std::size_t entries : {2UL, 64UL, 4096UL}) {
    SearchOptions o{.visits = 400};
    Search<T> plain = search_of(o);
    Search<T> cached(Params(), o, 1, o.visits);
    cached.set_evaluator(std::make_unique<CachedEvaluator<T>>(
        std::make_unique<HashEvaluator<T>>(cached.spec()), cached.spec(), entries));
    cached.reset(0, {1, 0});
    Rng rng;
    run(plain, 0, 400, rng);
    run(cached, 0, 400, rng);
    std::array<float, 9> x{}, y{};
    plain.target(0, x);
    cached.target(0, y);
    for (std::size_t i = 0; i < 9; ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(0.1));
    const auto [lookups, hits] = cached.evaluator().cache_counts();
    CHECK(lookups > 0);
    if (entries == 4096) CHECK(hits > 20);  // transpositions
  }
}

TEST_CASE("search: tic-tac-toe is never lost to perfect play, and a loss offered is taken") {
  SearchOptions o{.visits = 20000};
  Search<T> s(Params(), o, 1, o.visits);
  s.set_evaluator(std::make_unique<UniformEvaluator<T>>(s.spec(), false));
  Rng rng({3, 0}, 0);
  int won = 0;
  for (std::uint64_t match = 0; match < 60; ++match) {
    const int me = static_cast<int>(match % 2);
    const int bot = match < 30 ? 1 : 0;  // perfect, then random
    s.reset(0, {11, match});
    while (!s.status(0).over) {
      if (s.seat(0) == me) {
        run(s, 0, o.visits, rng);
        s.play(0, s.choose(0, 0.0F, rng));
      } else {
        T::State next = s.state(0);
        T::bot(s.rules(), next, s.seat(0), bot);
        T::advance(s.rules(), next);
        s.set_state(0, next);
      }
    }
    std::array<float, 2> out{};
    T::outcome(s.rules(), s.state(0), out);
    CHECK(out[static_cast<std::size_t>(me)] >= 0.0F);
    won += out[static_cast<std::size_t>(me)] > 0.0F;
  }
  CHECK(won > 15);
}

TEST_CASE("search: Gumbel gives every considered move its share of the simulations") {
  HalvingSchedule plan;
  plan.plan(4, 16);  // 4 moves twice each, then 2 moves four times each
  const std::array<int, 16> expected = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
  for (int t = 0; t < 16; ++t) CHECK(plan.visits_at(t) == expected[static_cast<std::size_t>(t)]);
  plan.plan(1, 5);
  for (int t = 0; t < 5; ++t) CHECK(plan.visits_at(t) == t);

  Search<T> s = search_of({.visits = 17, .gumbel_moves = 4, .gumbel_scale = 0.0F});
  Rng rng;
  run(s, 0, 17, rng);
  const Tree& tree = s.tree(0);
  const Node& n = tree.node(tree.root());
  std::vector<int> visits;
  for (int i = 0; i < n.tried; ++i) visits.push_back(tree.columns(n).visits[i]);
  std::sort(visits.begin(), visits.end());
  CHECK(visits == std::vector<int>{2, 2, 6, 6});
}

TEST_CASE("search: pruned targets leave forced visits out, noise is a distribution") {
  Search<T> s = search_of({.visits = 400, .noise_share = 0.5F, .forced_playouts = 2.0F});
  Rng rng({9, 0}, 0);
  run(s, 0, 400, rng, true);
  const Tree& tree = s.tree(0);
  const Node& n = tree.node(tree.root());
  float prior = 0.0F;
  for (const MoveKey k : tree.keys(n)) prior += key_prior(k);
  CHECK(prior == doctest::Approx(1.0).epsilon(0.01));
  std::array<float, 9> target{};
  s.target(0, target);
  const Columns c = tree.columns(n);
  int pruned = 0;
  for (int i = 0; i < n.tried; ++i) {
    const auto share = static_cast<float>(c.visits[i]) / 399.0F;
    pruned +=
        target[static_cast<std::size_t>(key_move(tree.keys(n)[static_cast<std::size_t>(i)]))] <
        share - 1e-4F;
  }
  CHECK(pruned > 0);
}

TEST_CASE("search: what was only forced is not played, and without noise nothing is forced") {
  Search<T> s = search_of({.visits = 400, .noise_share = 0.5F, .forced_playouts = 2.0F});
  Rng rng({9, 0}, 0);
  for (const int move : {0, 3, 1, 4}) s.play(0, move);  // 2 wins
  run(s, 0, 400, rng, true);
  std::array<float, 9> target{};
  s.target(0, target);
  const Tree& tree = s.tree(0);
  const Node& n = tree.node(tree.root());
  const Columns c = tree.columns(n);
  float most_forced = 0.0F;  // share of the visits that the target leaves out
  for (int i = 0; i < n.tried; ++i) {
    const auto move = static_cast<std::size_t>(key_move(tree.keys(n)[static_cast<std::size_t>(i)]));
    most_forced = std::max(most_forced, static_cast<float>(c.visits[i]) / 399.0F - target[move]);
  }
  CHECK(most_forced > 0.02F);
  std::array<int, 9> drawn{};
  for (int i = 0; i < 40000; ++i) ++drawn[static_cast<std::size_t>(s.choose(0, 1.0F, rng))];
  for (std::size_t move = 0; move < 9; ++move) {
    CAPTURE(move);
    CHECK(std::abs(drawn[move] / 40000.0 - static_cast<double>(target[move])) < 0.008);
  }

  const auto visits_of = [&](const SearchOptions& o) {
    Search<T> quiet = search_of(o);
    run(quiet, 0, 100, rng, false);
    const Tree& t = quiet.tree(0);
    const Columns columns = t.columns(t.node(t.root()));
    return std::vector<int>(columns.visits, columns.visits + t.node(t.root()).tried);
  };
  CHECK(visits_of({.visits = 100, .forced_playouts = 50.0F}) == visits_of({.visits = 100}));
}

TEST_CASE("search: nothing is allocated while searching and playing on") {
  Search<T> s = search_of({.visits = 200, .noise_share = 0.25F}, 4);
  Rng rng;
  const auto match = [&](std::uint64_t number) {
    for (int slot = 0; slot < 4; ++slot) {
      s.reset(slot, {1, number});
      while (!s.status(slot).over) {
        run(s, slot, 200, rng, true);
        s.play(slot, s.choose(slot, 1.0F, rng));
      }
    }
  };
  match(0);  // the root's own buffers find their size
  const std::uint64_t before = thread_allocations();
  match(1);
  CHECK(thread_allocations() == before);
}

TEST_CASE("search: games of chance, hidden information or simultaneous moves are refused") {
  const GameSpec good = T::spec(T::make_rules(Params()));
  const auto refused = [](const GameSpec& s, const char* why) {
    try {
      check_searchable(s);
      FAIL("not refused");
    } catch (const SearchError& e) {
      CHECK(std::string(e.what()).find(why) != std::string::npos);
    }
  };
  check_searchable(good);
  GameSpec s = good;
  s.deterministic = false;
  refused(s, "chance");
  s = good;
  s.perfect_information = false;
  refused(s, "hidden information");
  s = good;
  s.seats = 3;
  refused(s, "3 seats");
  s = good;
  s.heads.push_back(s.heads[0]);
  refused(s, "2 heads");
  refused(MiniRts::spec(MiniRts::make_rules(Params())), "at the same time");
  CHECK_THROWS_AS(validate(SearchOptions{.visits = 0}), SearchError);
  CHECK_THROWS_AS(validate(SearchOptions{.c_puct = std::nanf("")}), SearchError);
  CHECK_THROWS_AS(validate(SearchOptions{.leaves = 2, .gumbel_moves = 3}), SearchError);
}
