// Data of rows, against the naive reference.
#include "tests/doctest.hpp"
#include "tests/pool/reference.hpp"

using namespace ludus;
using namespace ludus::test;

namespace {

PoolOptions mixed_options() {
  PoolOptions o;
  SeatPlan learner = plan({a_policy(0)}, 2);
  learner.handover_bot = 1;
  learner.handover_ticks = 9;
  SeatPlan mixture = plan({a_policy(1, 1.0), a_bot(0, 1.0), a_policy(0, 2.0)}, 1);
  o.lineup.plans = {learner, mixture, plan({a_bot(1)}, 3)};
  o.slots = 13;
  o.seed = 77;
  return o;
}

// Compares a slab with the reference; the pause after kMaxResultsPerStep silent matches is rare
// enough under these lineups that none of the compared steps has one.
void compare(const Pool<Uneven>& pool, const TestSlab& slab, const Run& run,
             const Uneven::Rules& rules, std::uint64_t action_seed) {
  const Layout& l = pool.layout();
  const auto steps = static_cast<std::size_t>(slab.view.steps);
  std::vector<std::vector<TimeStep>> expected;
  for (int s = 0; s < l.slots; ++s) {
    expected.push_back(reference_slot(rules, pool.options(), s, steps + 1, action_seed));
  }
  std::size_t finals = 0;
  for (std::size_t t = 0; t <= steps; ++t) {
    std::size_t final_index = 0;
    for (int row = 0; row < l.rows; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const int seat = l.row_seat[r];
      const auto s = static_cast<std::size_t>(seat);
      const TimeStep& m = expected[static_cast<std::size_t>(l.row_slot[r])][t];
      const std::size_t at = slab.view.at(static_cast<int>(t), row);
      CAPTURE(t);
      CAPTURE(row);
      REQUIRE((slab.active[at] != 0) == m.active[s]);
      REQUIRE((slab.is_first[at] != 0) == m.is_first[s]);
      REQUIRE(slab.policy[at] == m.policy[s]);
      if (m.active[s]) {
        std::array<std::byte, 4> bytes{};
        float reward = 0;
        const std::array<std::byte*, 2> out{bytes.data(), reinterpret_cast<std::byte*>(&reward)};
        Uneven::observe(rules, m.state, seat, out);
        REQUIRE(std::memcmp(bytes.data(), slab.obs[0].data() + 4 * at, 4) == 0);
        REQUIRE(std::memcmp(&reward, slab.obs[1].data() + 4 * at, 4) == 0);
        std::array<std::uint8_t, 5> mask{};
        Uneven::legal(rules, m.state, seat, mask.data());
        REQUIRE(std::memcmp(mask.data(), slab.mask.data() + 5 * at, 5) == 0);
      }
      if (t == steps) continue;
      REQUIRE(slab.reward[at] == m.reward[s]);
      REQUIRE((slab.terminated[at] != 0) == m.terminated[s]);
      REQUIRE((slab.truncated[at] != 0) == m.truncated[s]);
      if (!m.terminated[s] && !m.truncated[s]) continue;
      ++finals;
      REQUIRE(run.final_rows[t][final_index] == row);
      std::array<std::byte, 4> bytes{};
      float reward = 0;
      const std::array<std::byte*, 2> out{bytes.data(), reinterpret_cast<std::byte*>(&reward)};
      Uneven::observe(rules, m.last, seat, out);
      REQUIRE(std::memcmp(bytes.data(), run.final_obs[t].data() + 4 * final_index, 4) == 0);
      ++final_index;
    }
    if (t < steps) REQUIRE(run.final_rows[t].size() == final_index);
  }
  CHECK(finals > steps / 4);
}

Params params_of(std::map<std::string, std::string> values) { return Params(std::move(values)); }

}  // namespace

TEST_CASE("pool: rows equal the naive reference, for any threads and groups") {
  const Params params = params_of({{"length", "30"}});
  std::vector<std::string> first_results;
  for (const int threads : {0, 1, 2, 8}) {
    for (const int groups : {1, 2, 4}) {
      for (const bool rotate : {true, false}) {
        PoolOptions o = mixed_options();
        o.threads = threads;
        o.groups = groups;
        o.lineup.rotate = rotate;
        Pool<Uneven> pool(params, o);
        TestSlab slab(pool.spec(), 150, pool.layout().rows);
        const Run run = drive(pool, slab);
        compare(pool, slab, run, Uneven::make_rules(params), 5);
        if (!rotate) continue;
        if (first_results.empty()) first_results = texts_of(run);
        CHECK(texts_of(run) == first_results);
      }
    }
  }
  CHECK(first_results.size() > 50);
}

TEST_CASE("pool: frame skip counts from the start of the match, for each plan by itself") {
  const Params params = params_of({{"length", "30"}});
  for (const auto& skips : {std::array{5, 7, 2}, {7, 5, 4}, {5, 5, 3}}) {
    PoolOptions o = mixed_options();
    for (std::size_t p = 0; p < 3; ++p) o.lineup.plans[p].frame_skip = skips[p];
    Pool<Uneven> pool(params, o);
    TestSlab slab(pool.spec(), 100, pool.layout().rows);
    const Run run = drive(pool, slab);
    compare(pool, slab, run, Uneven::make_rules(params), 5);
  }
}

namespace {

// Seats 0 and 2 against seat 1.
struct Paired : Uneven {
  static GameSpec spec(const Rules& r) {
    GameSpec s = Uneven::spec(r);
    s.teams = {0, 1, 0};
    return s;
  }
};

}  // namespace

TEST_CASE("pool: the seats of a team draw the same controller, and the same handover") {
  PoolOptions o;
  SeatPlan either = plan({a_policy(0), a_bot(0)}, 1);
  either.handover_bot = 1;
  either.handover_ticks = 6;
  o.lineup.plans = {either, either, either};
  o.slots = 8;
  o.num_matches = 200;
  Pool<Paired> pool(params_of({{"length", "30"}}), o);
  TestSlab slab(pool.spec(), 1000, pool.layout().rows);
  const Run run = drive(pool, slab);
  REQUIRE(run.results.size() == 200);
  const auto policy = [](const RawResult& r, std::size_t seat) {
    return r.player[seat] != -1 - 0;  // the policy, or its handover bot in its place
  };
  int apart = 0;
  for (const RawResult& r : run.results) {
    CHECK(policy(r, 0) == policy(r, 2));
    apart += policy(r, 0) != policy(r, 1) ? 1 : 0;
  }
  CHECK(apart > 60);
  CHECK(apart < 140);
  // Seat 0 may decide at every tick, seat 2 at ticks 1, 4, 7: its first decision is the first of
  // those from seat 0's first one on.
  const Layout& l = pool.layout();
  int first_decisions = 0;
  for (int slot = 0; slot < l.slots; ++slot) {
    std::array<int, 3> first{-1, -1, -1};
    int match = -1;
    for (int t = 0; t < slab.view.steps; ++t) {
      for (const int seat : {0, 2}) {
        const std::size_t at = slab.view.at(t, l.row_of(slot, seat));
        if (slab.active[at] == 0) continue;
        const int number = static_cast<int>(slab.obs[0][4 * at + 3]);
        if (number != match) {
          first = {-1, -1, -1};
          match = number;
        }
        if (slab.is_first[at] == 0) continue;
        first[static_cast<std::size_t>(seat)] = static_cast<int>(slab.obs[0][4 * at]);
        if (seat != 2) continue;
        REQUIRE(first[0] >= 0);
        CHECK(first[2] == first[0] + (first[0] % 3 == 0 ? 1 : first[0] % 3 == 1 ? 0 : 2));
        ++first_decisions;
      }
    }
  }
  CHECK(first_decisions > 30);
}

TEST_CASE("pool: results add up to the reference") {
  const Params params = params_of({{"length", "30"}});
  PoolOptions o = mixed_options();
  o.threads = 2;
  o.num_matches = 60;
  Pool<Uneven> pool(params, o);
  TestSlab slab(pool.spec(), 300, pool.layout().rows);
  const Run run = drive(pool, slab);
  REQUIRE(run.results.size() == 60);
  CHECK(pool.group_finished(0));
  const Uneven::Rules rules = Uneven::make_rules(params);
  int handed_over = 0;
  for (std::size_t n = 0; n < 60; ++n) {
    const RawResult& r = run.results[n];
    REQUIRE(r.match == n);
    CHECK(r.slot == static_cast<int>(n) % o.slots);
    const LoggedMatch log = log_match(rules, o, r.slot, n, 5);
    CHECK(r.ticks == log.ticks.size());
    std::array<double, 3> returns{};
    std::uint32_t decisions = 0;
    SeatMask decided = 0;
    for (const Tick& t : log.ticks) {
      for (std::size_t s = 0; s < 3; ++s) returns[s] += static_cast<double>(t.reward[s]);
      decisions += static_cast<std::uint32_t>(std::popcount(t.active));
      decided |= t.active;
    }
    CHECK(r.decisions == decisions);
    std::array<float, 3> outcome{};
    Uneven::outcome(rules, log.last, outcome);
    for (std::size_t s = 0; s < 3; ++s) {
      CHECK(r.returns[s] == returns[s]);
      CHECK(r.outcome[s] == outcome[s]);
      // A bot that was drawn; or the handover bot, where the policy's turn never came.
      const bool acted = (decided >> s & 1) != 0;
      const bool bot = log.policy[s] < 0 || (!acted && log.bot[s] >= 0);
      CHECK(r.player[s] == (bot ? -1 - log.bot[s] : log.policy[s]));
      handed_over += log.policy[s] >= 0 && bot ? 1 : 0;
    }
  }
  CHECK(handed_over > 3);
  for (int row = 0; row < pool.layout().rows; ++row) {  // all matches are played: slots idle
    CHECK(slab.active[slab.view.at(300, row)] == 0);
    CHECK(slab.policy[slab.view.at(300, row)] == -1);
  }
}

TEST_CASE("pool: truncation by the pool and by the game, apart from termination") {
  for (const auto& [limit, cuts_off] :
       {std::pair{11U, "0"}, std::pair{0U, "1"}, std::pair{11U, "1"}}) {
    const Params params = params_of({{"length", "30"}, {"cuts_off", cuts_off}});
    PoolOptions o = mixed_options();
    o.truncate_ticks = limit;
    o.threads = 1;
    Pool<Uneven> pool(params, o);
    TestSlab slab(pool.spec(), 100, pool.layout().rows);
    const Run run = drive(pool, slab);
    compare(pool, slab, run, Uneven::make_rules(params), 5);
    int cut = 0;
    for (const RawResult& r : run.results) {
      if (limit != 0) CHECK(r.ticks <= limit);
      cut += r.truncated ? 1 : 0;
      if (limit != 0 && std::string(cuts_off) == "0" && r.truncated) {
        CHECK(r.ticks == limit);
        CHECK(r.outcome[0] == 0.0F);
      }
    }
    CHECK(cut > 0);
    CHECK(cut < static_cast<int>(run.results.size()));
  }
}

// A game that declares a limit and does not end its matches there.
struct Overrun : Uneven {
  static GameSpec spec(const Rules& rules) {
    GameSpec s = Uneven::spec(rules);
    s.max_ticks = 11;
    return s;
  }
};

TEST_CASE("pool: a match is cut off at the limit that its game declares") {
  for (const auto& [option, limit] : {std::pair{0U, 11U}, std::pair{40U, 11U}, std::pair{7U, 7U}}) {
    PoolOptions o = mixed_options();
    o.truncate_ticks = option;
    Pool<Overrun> pool(params_of({{"length", "30"}, {"cuts_off", "0"}}), o);
    TestSlab slab(pool.spec(), 100, pool.layout().rows);
    const Run run = drive(pool, slab);
    int cut = 0;
    for (const RawResult& r : run.results) {
      CHECK(r.ticks <= limit);
      if (!r.truncated) continue;
      CHECK(r.ticks == limit);
      ++cut;
    }
    CHECK(cut > 0);
    CHECK(cut < static_cast<int>(run.results.size()));
  }
}

TEST_CASE("pool: short slabs one after another hold what one long slab holds") {
  const Params params = params_of({{"length", "30"}});
  PoolOptions o = mixed_options();
  o.groups = 2;
  o.threads = 2;
  Pool<Uneven> whole(params, o);
  TestSlab one(whole.spec(), 60, whole.layout().rows);
  drive(whole, one);

  Pool<Uneven> parts(params, o);
  const auto rows = static_cast<std::size_t>(parts.layout().rows);
  std::vector<TestSlab> slabs;
  for (int i = 0; i < 6; ++i) slabs.emplace_back(parts.spec(), 10, parts.layout().rows);
  for (std::size_t i = 0; i < 6; ++i) {
    drive(parts, slabs[i]);
    for (std::size_t t = 0; t <= 10; ++t) {
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t here = t * rows + r, there = (10 * i + t) * rows + r;
        REQUIRE(slabs[i].active[here] == one.active[there]);
        REQUIRE(slabs[i].is_first[here] == one.is_first[there]);
        REQUIRE(slabs[i].policy[here] == one.policy[there]);
        if (slabs[i].active[here] != 0) {
          REQUIRE(std::memcmp(&slabs[i].obs[0][4 * here], &one.obs[0][4 * there], 4) == 0);
          REQUIRE(std::memcmp(&slabs[i].mask[5 * here], &one.mask[5 * there], 5) == 0);
        }
        if (t == 10) continue;
        REQUIRE(slabs[i].reward[here] == one.reward[there]);
        REQUIRE(slabs[i].terminated[here] == one.terminated[there]);
      }
    }
  }
}

TEST_CASE("pool: rows per policy are compact, rising and complete") {
  PoolOptions o = mixed_options();
  o.groups = 2;
  Pool<Uneven> pool(params_of({}), o);
  TestSlab slab(pool.spec(), 40, pool.layout().rows);
  for (int g = 0; g < 2; ++g) pool.attach(g, slab.view);
  for (int t = 0; t < 40; ++t) {
    for (int g = 0; g < 2; ++g) {
      REQUIRE(pool.recv(g, kWait) == g);
      std::vector<int> wanted[2];
      const Range rows = pool.layout().group_rows[static_cast<std::size_t>(g)];
      for (int row = rows.begin; row < rows.end; ++row) {
        const std::int16_t p = slab.policy[slab.view.at(t, row)];
        if (p >= 0) wanted[p].push_back(row);
      }
      for (int p = 0; p < 2; ++p) {
        const auto n = static_cast<std::size_t>(pool.policy_counts(g)[static_cast<std::size_t>(p)]);
        const auto list = pool.policy_rows(g, p).first(n);
        CHECK(std::vector<int>(list.begin(), list.end()) == wanted[p]);
      }
      pool.random_actions(g, 1);
      pool.send(g);
    }
  }
}
