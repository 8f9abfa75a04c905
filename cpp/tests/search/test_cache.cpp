// A cache of answers is cleared when the weights change.
#include <array>
#include <memory>
#include <vector>

#include "search/self_play.hpp"
#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"

using namespace ludus;
using namespace ludus::tests;

TEST_CASE("search: a cache asks again after forget") {
  Search<T> s(Params(), {.visits = 1}, 1, 1);
  auto batch = std::make_unique<BatchEvaluator<T>>(s.spec());
  std::array<std::byte, 3> memory{};
  std::byte* base = memory.data();
  batch->attach(std::span(&base, 1), 1);
  s.set_evaluator(std::make_unique<CachedEvaluator<T>>(std::move(batch), s.spec(), 64));
  Rng rng;
  const auto ask = [&] {
    s.reset(0, {1, 0});
    s.begin(0, 1, false, rng);
    return s.simulate(0);
  };
  const std::vector<float> policy(9, 0.1F);
  float value = 0.5F;
  REQUIRE(ask() == Simulated::queued);
  s.deliver(policy.data(), &value);
  CHECK(ask() == Simulated::answered);
  CHECK(s.tree(0).value() == 0.5F);
  s.evaluator().forget();
  REQUIRE(ask() == Simulated::queued);
  value = -0.25F;
  s.deliver(policy.data(), &value);
  CHECK(ask() == Simulated::answered);
  CHECK(s.tree(0).value() == -0.25F);
}

TEST_CASE("self-play: other weights are asked about positions that were evaluated before") {
  SelfPlayOf<T> play(Params(), {.visits = 10}, {.slots = 1, .seed = 4}, {.cache = 1 << 12});
  std::array<std::byte, 3> memory{};
  std::byte* base = memory.data();
  play.attach(std::span(&base, 1), 1);
  const std::vector<float> policy(9, 0.1F);
  const float value = 0.0F;
  const auto match = [&] {  // ends where the next one has started, before anything was asked
    while (true) {
      REQUIRE(play.collect(1) == 1);
      play.deliver(policy.data(), &value);
      if (!play.take_matches().match.empty()) return;
    }
  };
  match();
  const auto [lookups, hits] = play.cache_counts();
  play.set_version(1);
  CHECK(play.collect(1) == 1);  // the first position of all matches
  const auto [lookups_after, hits_after] = play.cache_counts();
  CHECK(lookups_after == lookups + 1);
  CHECK(hits_after == hits);
}
