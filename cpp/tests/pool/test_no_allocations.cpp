// Sending, playing and receiving allocate nothing, on any thread of the process.
#include "games/tic_tac_toe/tic_tac_toe.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"
#include "tests/pool/harness.hpp"
#include "tests/pool/uneven.hpp"

using namespace ludus;
using namespace ludus::test;

namespace {

// One slab's worth of steps of every group, results taken as a caller would.
void round(AnyPool& pool, TestSlab& slab) {
  const int groups = pool.options().groups;
  for (int g = 0; g < groups; ++g) pool.attach(g, slab.view);
  for (int t = 0; t <= slab.view.steps; ++t) {
    for (int g = 0; g < groups; ++g) {
      if (pool.recv(g, kWait) != g) throw std::logic_error("recv");
      pool.drain_results(g, [](RawResult&) {});
      if (t == slab.view.steps) continue;
      pool.random_actions(g, 4);
      pool.send(g);
    }
  }
}

template <class G>
std::uint64_t allocations_of(const PoolOptions& o) {
  Pool<G> pool(Params(), o);
  TestSlab slab(pool.spec(), 200, pool.layout().rows);
  round(pool, slab);  // matches end in it too
  const std::uint64_t matches = pool.counters().counts.matches;
  Orders orders(o.slots, o.lineup.plans.size());
  orders.set(3, 1, 0);
  orders.set_tag(3, 9);
  pool.set_orders(orders);
  const std::uint64_t before = process_allocations();
  round(pool, slab);
  const std::uint64_t made = process_allocations() - before;
  CHECK(pool.counters().counts.matches > matches + 100);
  return made;
}

}  // namespace

TEST_CASE("pool: steps allocate nothing" * doctest::skip(!allocations_are_counted())) {
  const std::uint64_t before = process_allocations();
  void* volatile kept = ::operator new(16);  // volatile, or the compiler may leave the pair out
  ::operator delete(kept);
  REQUIRE(process_allocations() > before);  // the counter counts
  for (const int threads : {0, 1, 2}) {
    PoolOptions o;
    o.lineup.plans = {plan({a_policy(0)}), plan({a_policy(1), a_bot(1)})};
    o.slots = 32;
    o.groups = 2;
    o.threads = threads;
    CHECK(allocations_of<TicTacToe>(o) == 0);
    o.lineup.plans.push_back(plan({a_bot(0)}, 3));
    CHECK(allocations_of<Uneven>(o) == 0);
  }
}
