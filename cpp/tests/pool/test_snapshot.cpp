#include "tests/doctest.hpp"
#include "tests/pool/harness.hpp"
#include "tests/pool/uneven.hpp"

using namespace ludus;
using namespace ludus::test;

namespace {

PoolOptions lively_options() {
  PoolOptions o;
  SeatPlan learner = plan({a_policy(0)}, 2);
  learner.handover_bot = 1;
  learner.handover_ticks = 9;
  o.lineup.plans = {learner, plan({a_policy(1), a_bot(0)}, 1), plan({a_bot(1)}, 3)};
  o.slots = 10;
  o.seed = 8;
  o.record = {true, {}, 7};
  return o;
}

Params thirty() { return Params({{"length", "30"}}); }

void put_checksum(std::string& bytes) {
  Hash64 h;
  h.add_bytes(bytes.data(), bytes.size() - 8);
  const std::uint64_t sum = h.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
}

}  // namespace

TEST_CASE("pool: a restored pool continues exactly, on other threads and groups") {
  PoolOptions o = lively_options();
  o.groups = 2;
  o.threads = 2;
  Pool<Uneven> pool(thirty(), o);
  TestSlab before(pool.spec(), 37, pool.layout().rows), after(pool.spec(), 80, pool.layout().rows);
  drive(pool, before);
  pool.set_mixture(1, {1.0, 3.0});
  pool.set_handover(0, 4);
  const std::string bytes = pool.snapshot();
  const Run run = drive(pool, after);

  for (const auto& [threads, groups] : {std::pair{0, 1}, std::pair{1, 5}, std::pair{3, 2}}) {
    PoolOptions other = o;
    other.threads = threads;
    other.groups = groups;
    Pool<Uneven> copy(thirty(), other);
    TestSlab scratch(copy.spec(), 5, copy.layout().rows);
    drive(copy, scratch);  // somewhere else altogether
    copy.restore(bytes);
    TestSlab again(copy.spec(), 80, copy.layout().rows);
    const Run same = drive(copy, again);
    CHECK(texts_of(same) == texts_of(run));
    CHECK(again.active == after.active);
    CHECK(again.is_first == after.is_first);
    CHECK(again.policy == after.policy);
    CHECK(again.reward == after.reward);
    CHECK(again.terminated == after.terminated);
    CHECK(again.truncated == after.truncated);
    CHECK(same.final_rows == run.final_rows);
    CHECK(same.final_obs == run.final_obs);
    REQUIRE(same.results.size() > 30);
    for (std::size_t i = 0; i < same.results.size(); ++i) {
      CHECK(same.results[i].replay == run.results[i].replay);
    }
    for (std::size_t at = 0; at < again.active.size(); ++at) {
      if (again.active[at] == 0) continue;
      REQUIRE(std::memcmp(&again.obs[0][4 * at], &after.obs[0][4 * at], 4) == 0);
      REQUIRE(std::memcmp(&again.obs[1][4 * at], &after.obs[1][4 * at], 4) == 0);
      REQUIRE(std::memcmp(&again.mask[5 * at], &after.mask[5 * at], 5) == 0);
    }
  }
}

namespace {

// Other games whose pools could be mistaken for Uneven's.
struct Renamed : Uneven {
  static constexpr const char* kName = "even";
  static GameSpec spec(const Rules& r) {
    GameSpec s = Uneven::spec(r);
    s.name = kName;
    return s;
  }
};
struct Newer : Uneven {
  static GameSpec spec(const Rules& r) {
    GameSpec s = Uneven::spec(r);
    s.version = 2;
    return s;
  }
};
struct Larger : Uneven {
  struct State : Uneven::State {
    std::uint64_t more = 0;
  };
};

template <class G = Uneven>
std::string refusal(const std::string& snapshot, const PoolOptions& o,
                    const Params& params = thirty()) {
  Pool<G> pool(params, o);
  const std::uint64_t before = pool.slot_hash(0);
  try {
    pool.restore(snapshot);
  } catch (const PoolError& e) {
    CHECK(pool.slot_hash(0) == before);
    return e.what();
  }
  return "";
}
std::string other(const std::string& theirs, const std::string& ours) {
  return "restore: the snapshot is of a pool with " + theirs + ", this one has " + ours;
}

}  // namespace

TEST_CASE("pool: a snapshot of another pool is refused, and the difference is named") {
  const PoolOptions o = lively_options();
  Pool<Uneven> pool(thirty(), o);
  TestSlab slab(pool.spec(), 5, pool.layout().rows);
  drive(pool, slab);
  const std::string bytes = pool.snapshot();
  CHECK(refusal(bytes, o) == "");
  const auto changed = [&](auto&& change) {
    PoolOptions with = o;
    change(with);
    return refusal(bytes, with);
  };
  const std::string endless = std::to_string(PoolOptions::kEndless);
  CHECK(changed([](PoolOptions& p) { p.slots = 11; }) == other("matches=10", "matches=11"));
  CHECK(changed([](PoolOptions& p) { p.seed = 9; }) == other("seed=8", "seed=9"));
  CHECK(changed([](PoolOptions& p) { p.num_matches = 50; }) ==
        other("schedule=" + endless, "schedule=50"));
  CHECK(changed([](PoolOptions& p) { p.autoreset = Autoreset::off; }) ==
        other("autoreset=0", "autoreset=2"));
  CHECK(changed([](PoolOptions& p) { p.autoreset = Autoreset::next_step; }) ==
        other("autoreset=0", "autoreset=1"));
  CHECK(changed([](PoolOptions& p) { p.truncate_ticks = 40; }) ==
        other("truncate_ticks=0", "truncate_ticks=40"));
  CHECK(changed([](PoolOptions& p) { p.record.all = false; }) ==
        other("record_all=1", "record_all=0"));
  CHECK(changed([](PoolOptions& p) { p.record.matches = {4}; }) ==
        other("hash_every=7", "record=4"));
  CHECK(changed([](PoolOptions& p) { p.record.hash_every = 8; }) ==
        other("hash_every=7", "hash_every=8"));
  CHECK(changed([](PoolOptions& p) { p.lineup.rotate = false; }) == other("rotate=1", "rotate=0"));
  CHECK(changed([](PoolOptions& p) { p.lineup.plans[2].frame_skip = 4; }) ==
        other("plan2.frame_skip=3", "plan2.frame_skip=4"));
  CHECK(changed([](PoolOptions& p) { p.lineup.plans[0].handover_bot = 0; }) ==
        other("plan0.handover_bot=1", "plan0.handover_bot=0"));
  CHECK(changed([](PoolOptions& p) { p.lineup.plans[1].controllers[0].policy = 0; }) ==
        other("plan1.policy=1", "plan1.policy=0"));
  CHECK(changed([](PoolOptions& p) { p.lineup.plans[1].controllers[1].bot = 1; }) ==
        other("plan1.bot=0", "plan1.bot=1"));
  CHECK(changed([](PoolOptions& p) { p.lineup.plans[2].controllers.push_back(a_policy(0)); }) ==
        other("", "plan2.policy=0"));
  CHECK(refusal(bytes, o, Params({{"length", "31"}})) ==
        other("params=length:30;", "params=length:31;"));
  CHECK(refusal<Renamed>(bytes, o) == other("game=uneven", "game=even"));
  CHECK(refusal<Newer>(bytes, o) == other("version=1", "version=2"));
  const std::string state = "state_bytes=";
  CHECK(refusal<Larger>(bytes, o) == other(state + std::to_string(sizeof(Uneven::State)),
                                           state + std::to_string(sizeof(Larger::State))));
}

TEST_CASE("pool: a snapshot fits pools that differ in what no match depends on") {
  const PoolOptions o = lively_options();
  Pool<Uneven> pool(thirty(), o);
  TestSlab slab(pool.spec(), 5, pool.layout().rows);
  drive(pool, slab);
  const std::string bytes = pool.snapshot();
  PoolOptions with = o;
  with.threads = 2;
  with.groups = 5;
  with.raise_errors = false;
  with.lineup.plans[0].handover_ticks = 2;
  with.lineup.plans[1].controllers[0].weight = 7.0;
  with.lineup.plans[1].controllers[0].name = "someone";
  CHECK(refusal(bytes, with) == "");
}

// State of a game that leads nowhere: the states of games in general are copied unchecked, and the
// caller answers for them.
TEST_CASE("pool: damaged snapshots are refused and change nothing; forged controls lead nowhere") {
  PoolOptions o = lively_options();
  o.threads = 0;
  Pool<Uneven> pool(thirty(), o);
  TestSlab slab(pool.spec(), 20, pool.layout().rows);
  drive(pool, slab);
  const std::string bytes = pool.snapshot();
  for (std::size_t n = 0; n < bytes.size(); n += 1 + bytes.size() / 400) {
    CHECK_THROWS_AS(pool.restore(std::string_view(bytes).substr(0, n)), PoolError);
  }
  std::size_t refused = 0, accepted = 0;
  Rng rng({1, 2}, 3);
  for (int i = 0; i < 3000; ++i) {
    std::string bad = bytes;
    const std::size_t at = rng.below(static_cast<std::uint32_t>(bad.size()));
    bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1U << rng.below(8)));
    CHECK_THROWS_AS(pool.restore(bad), PoolError);
    put_checksum(bad);  // a forged checksum: what is the pool's own must be checked
    Pool<Uneven> victim(thirty(), o);
    TestSlab scratch(victim.spec(), 3, victim.layout().rows);
    try {
      victim.restore(bad);
      ++accepted;
    } catch (const PoolError&) {
      ++refused;
    }
    if (i % 10 == 0) drive(victim, scratch);  // sanitizers see what it does
  }
  CHECK(refused > 300);
  CHECK(accepted > 0);  // no bit of a game's state is checked
  pool.restore(bytes);
  drive(pool, slab);
}

TEST_CASE("pool: the slots of a snapshot move to a pool of other settings") {
  PoolOptions o = lively_options();
  Pool<Uneven> recorded(thirty(), o);
  TestSlab first(recorded.spec(), 5, recorded.layout().rows);
  drive(recorded, first);
  CHECK_THROWS_AS((void)recorded.snapshot_parts(recorded.snapshot()), PoolError);

  o.record = {};
  Pool<Uneven> pool(thirty(), o);
  TestSlab slab(pool.spec(), 37, pool.layout().rows);
  drive(pool, slab);
  std::vector<StoredSlot> parts = pool.snapshot_parts(pool.snapshot());
  REQUIRE(parts.size() == 10);

  PoolOptions other = o;
  other.slots = 12;
  other.truncate_ticks = 500;
  Pool<Uneven> more(thirty(), other);
  TestSlab wide(more.spec(), 5, more.layout().rows);
  drive(more, wide);
  parts.resize(12);
  for (std::size_t s = 0; s < parts.size(); ++s) parts[s].next = 1200 + s;
  const std::string joined = more.snapshot_join(parts);
  more.restore(joined);
  int moved = 0;
  const std::vector<StoredSlot> again = more.snapshot_parts(joined);
  for (std::size_t s = 0; s < parts.size(); ++s) {
    CHECK(again[s].next == parts[s].next);
    CHECK(again[s].players == parts[s].players);
    CHECK(again[s].match.size() == parts[s].match.size());
    if (parts[s].match.empty()) continue;
    ++moved;
    CHECK(more.slot_hash(static_cast<int>(s)) == pool.slot_hash(static_cast<int>(s)));
  }
  CHECK(moved >= 8);
  parts[3].match += 'x';
  CHECK_THROWS_WITH_AS((void)more.snapshot_join(parts),
                       "snapshot_join: slot 3 holds another game's match", PoolError);
  parts.pop_back();
  CHECK_THROWS_WITH_AS((void)more.snapshot_join(parts), "snapshot_join: 11 slots, expected 12",
                       PoolError);
}
