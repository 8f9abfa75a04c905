// Every shard of every send is played once, under all orders in which groups can come and go.
#include <atomic>

#include "base/rng.hpp"
#include "pool/scheduler.hpp"
#include "tests/doctest.hpp"

using namespace ludus;

namespace {

class CountingWork final : public ShardWork {
 public:
  explicit CountingWork(const Layout& layout)
      : layout_(layout), played(layout.shards.size()), closed(layout.group_slots.size()) {}

  void play_shard(int, int group, int shard) noexcept override {
    const Range mine = layout_.group_shards[static_cast<std::size_t>(group)];
    if (shard < mine.begin || shard >= mine.end) wrong = true;
    ++played[static_cast<std::size_t>(shard)];  // unsynchronised on purpose: one worker a shard
  }
  void close_group(int group) noexcept override {
    const Range mine = layout_.group_shards[static_cast<std::size_t>(group)];
    const int sends = ++closed[static_cast<std::size_t>(group)];
    for (int s = mine.begin; s < mine.end; ++s) {
      if (played[static_cast<std::size_t>(s)] != sends) wrong = true;
    }
  }

 private:
  const Layout& layout_;

 public:
  std::vector<int> played, closed;
  std::atomic<bool> wrong{false};
};

Layout layout_of(int slots, int groups, int threads) {
  PoolOptions o;
  o.lineup.plans = {SeatPlan{{Controller{0, -1, 1.0}}, 0, -1, 0}};
  o.slots = slots;
  o.groups = groups;
  o.threads = threads;
  return make_layout(1, {0}, o);
}

}  // namespace

TEST_CASE("scheduler: ready-first order, groups of any size, any number of threads") {
  for (const int threads : {0, 1, 2, 5}) {
    for (const int groups : {1, 2, 3, 17}) {
      CAPTURE(threads);
      CAPTURE(groups);
      const Layout layout = layout_of(groups * 5 + 3, groups, threads);
      CountingWork work(layout);
      Scheduler scheduler(work, layout, threads);
      scheduler.start();
      std::vector<int> sends(static_cast<std::size_t>(groups));
      Rng rng({static_cast<std::uint64_t>(threads), static_cast<std::uint64_t>(groups)}, 0);
      std::vector<int> home;  // received, not sent again yet
      for (int g = 0; g < groups; ++g) home.push_back(g);
      for (int i = 0; i < 4000; ++i) {
        // Some groups are sent again at once, others stay home for long.
        while (!home.empty() &&
               (home.size() == static_cast<std::size_t>(groups) || rng.below(3) > 0)) {
          const std::size_t pick = rng.below(static_cast<std::uint32_t>(home.size()));
          const int g = home[pick];
          home.erase(home.begin() + static_cast<std::ptrdiff_t>(pick));
          ++sends[static_cast<std::size_t>(g)];
          scheduler.send(g);
        }
        const int g = scheduler.wait(-1, 5'000'000'000);
        REQUIRE(g >= 0);
        REQUIRE(work.closed[static_cast<std::size_t>(g)] == sends[static_cast<std::size_t>(g)]);
        home.push_back(g);
      }
      CHECK_FALSE(work.wrong.load());
      scheduler.stop();
    }
  }
}

TEST_CASE("scheduler: waiting for one group leaves the others ready") {
  const Layout layout = layout_of(12, 3, 2);
  CountingWork work(layout);
  Scheduler scheduler(work, layout, 2);
  scheduler.start();
  for (int g = 0; g < 3; ++g) scheduler.send(g);
  CHECK(scheduler.wait(2, 5'000'000'000) == 2);
  CHECK(scheduler.wait(0, 5'000'000'000) == 0);
  CHECK(scheduler.wait(-1, 5'000'000'000) == 1);
  CHECK(scheduler.wait(-1, 1'000'000) == -1);
  scheduler.announce(1);
  scheduler.announce(1);
  CHECK(scheduler.wait(-1, 1'000'000) == 1);
  CHECK(scheduler.wait(-1, 1'000'000) == -1);
}
