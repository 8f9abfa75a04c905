// A pool through its life: errors, the autoreset modes, schedules, settings, shutdown.
#include <thread>

#include "game/replay_run.hpp"
#include "tests/doctest.hpp"
#include "tests/pool/harness.hpp"
#include "tests/pool/uneven.hpp"

using namespace ludus;
using namespace ludus::test;

namespace {

PoolOptions options(int matches, std::vector<SeatPlan> plans) {
  PoolOptions o;
  o.lineup.plans = std::move(plans);
  o.slots = matches;
  o.seed = 3;
  return o;
}
PoolOptions one_learner(int matches) {
  return options(matches, {plan({a_policy(0)}, 1), plan({a_bot(0)}), plan({a_bot(1)})});
}
PoolOptions bots_only(int matches) {
  return options(matches, {plan({a_bot(0)}), plan({a_bot(1)}), plan({a_bot(1)})});
}
Params params_of(std::map<std::string, std::string> values) { return Params(std::move(values)); }

}  // namespace

TEST_CASE("pool: a match that throws ends truncated with its tick, the others continue") {
  for (const char* where : {"reset", "act", "bot", "advance", "observe"}) {
    CAPTURE(where);
    PoolOptions o = one_learner(6);
    o.threads = 2;
    o.groups = 2;
    const std::string tick = std::string(where) == "reset" ? "0" : "4";
    Pool<Uneven> pool(params_of({{"throw_in", where}, {"throw_tick", tick}, {"length", "12"}}), o);
    TestSlab slab(pool.spec(), 80, pool.layout().rows);
    const Run run = drive(pool, slab);
    int failed = 0, whole = 0;
    for (const RawResult& r : run.results) {
      if (r.error.empty()) {
        ++whole;
        continue;
      }
      ++failed;
      CHECK(r.error == std::string("asked to throw in ") + where);
      CHECK(r.match % 3 == 0);
      CHECK(r.ticks == static_cast<std::uint32_t>(std::stoi(tick)));
      CHECK(r.truncated);
      CHECK(r.outcome[0] == 0.0F);
    }
    CHECK(failed > 3);
    CHECK(whole > 10);
    CHECK(pool.counters().counts.errors == static_cast<std::uint64_t>(failed));
    int truncated = 0;
    for (const std::uint8_t t : slab.truncated) truncated += t;
    if (std::string(where) == "reset") CHECK(truncated == 0);  // no row had decided
    if (std::string(where) == "advance") CHECK(truncated > 0);
  }
}

TEST_CASE("pool: the first failure of a step is reported once, and the pool continues") {
  PoolOptions o = one_learner(4);
  Pool<Uneven> pool(params_of({{"throw_in", "advance"}, {"throw_tick", "0"}, {"length", "12"}}), o);
  TestSlab slab(pool.spec(), 20, pool.layout().rows);
  pool.attach(0, slab.view);
  REQUIRE(pool.recv(0, kWait) == 0);
  CHECK_FALSE(pool.failure(0).has_value());
  pool.random_actions(0, 1);
  pool.send(0);
  REQUIRE(pool.recv(0, kWait) == 0);
  const auto failure = pool.failure(0);
  REQUIRE(failure.has_value());
  CHECK(failure->slot == 0);
  CHECK(failure->match == 0);
  CHECK(failure->tick == 0);
  CHECK(failure->message == "asked to throw in advance");
  CHECK_FALSE(pool.failure(0).has_value());
  CHECK(pool.recv(0, kWait) == 0);
  CHECK(pool.results_waiting(0) >= 1);
}

TEST_CASE("pool: actions out of range or illegal are refused with the seat and the head") {
  for (const auto& [value, text] : {std::pair{7, "action 7 of seat 0 at head 0 is not in [0, 3)"},
                                    std::pair{-1, "action -1 of seat 0 at head 0 is not in [0, 3)"},
                                    std::pair{0, "illegal choice 0"}}) {
    PoolOptions o = one_learner(1);
    Pool<Uneven> pool(params_of({}), o);
    TestSlab slab(pool.spec(), 2, pool.layout().rows);
    pool.attach(0, slab.view);
    REQUIRE(pool.recv(0, kWait) == 0);
    slab.actions[0] = value;
    pool.send(0);
    REQUIRE(pool.recv(0, kWait) == 0);
    const auto failure = pool.failure(0);
    REQUIRE(failure.has_value());
    CHECK(failure->message == text);
  }
}

TEST_CASE("pool: autoreset next_step leaves one inactive step with the last observation") {
  PoolOptions o = one_learner(5);
  o.autoreset = Autoreset::next_step;
  Pool<Uneven> pool(params_of({{"length", "9"}}), o);
  TestSlab slab(pool.spec(), 60, pool.layout().rows);
  const Run run = drive(pool, slab);
  int ends = 0;
  for (int t = 0; t < 59; ++t) {
    std::size_t final_index = 0;
    for (int row = 0; row < pool.layout().rows; ++row) {
      const std::size_t at = slab.view.at(t, row), next = slab.view.at(t + 1, row);
      if (slab.active[at] == 0) {  // the ignored step
        CHECK(slab.reward[at] == 0.0F);
        CHECK(slab.terminated[at] == 0);
        CHECK(slab.active[next] != 0);
        CHECK(slab.is_first[next] != 0);
      }
      if (slab.terminated[at] == 0) continue;
      ++ends;
      CHECK(slab.active[at] != 0);
      CHECK(slab.active[next] == 0);
      const auto tt = static_cast<std::size_t>(t);
      CHECK(run.final_rows[tt][final_index] == row);
      CHECK(std::memcmp(&slab.obs[0][4 * next], &run.final_obs[tt][4 * final_index], 4) == 0);
      ++final_index;
    }
  }
  CHECK(ends > 20);
}

TEST_CASE("pool: autoreset off idles until reset; reset cuts a match off") {
  PoolOptions o = one_learner(3);
  o.autoreset = Autoreset::off;
  Pool<Uneven> pool(params_of({{"length", "9"}}), o);
  TestSlab slab(pool.spec(), 40, pool.layout().rows);
  pool.attach(0, slab.view);
  Run run;
  for (int t = 0; t < 12; ++t) {
    REQUIRE(pool.recv(0, kWait) == 0);
    take_results(pool, 0, run);
    pool.random_actions(0, 1);
    pool.send(0);
  }
  REQUIRE(pool.recv(0, kWait) == 0);
  CHECK(run.results.size() == 3);  // each slot played one match
  for (int row = 0; row < 3; ++row) CHECK(slab.active[slab.view.at(12, row)] == 0);
  const std::array<int, 1> which{1};
  pool.reset(which);
  pool.send(0);
  REQUIRE(pool.recv(0, kWait) == 0);
  CHECK(slab.active[slab.view.at(13, 0)] == 0);
  CHECK(slab.active[slab.view.at(13, 1)] == 1);
  CHECK(slab.is_first[slab.view.at(13, 1)] == 1);
  pool.reset(which);  // in play now
  pool.send(0);
  REQUIRE(pool.recv(0, kWait) == 0);
  CHECK(slab.truncated[slab.view.at(13, 1)] == 1);
  CHECK(slab.is_first[slab.view.at(14, 1)] == 1);
  take_results(pool, 0, run);
  REQUIRE(run.results.size() == 4);
  CHECK(run.results.back().truncated);
  CHECK(run.results.back().match == 4);
  CHECK(pool.final_buffer(0).count == 1);
  CHECK(pool.final_buffer(0).rows[0] == 1);
  const std::array<int, 1> bad{3};
  CHECK_THROWS_AS(pool.reset(bad), PoolError);
}

TEST_CASE("pool: bots alone need no slab and play exactly num_matches") {
  std::vector<std::string> first;
  for (const int threads : {0, 1, 3}) {
    for (const int groups : {1, 4}) {
      PoolOptions o = bots_only(9);
      o.threads = threads;
      o.groups = groups;
      o.num_matches = 500;
      Pool<Uneven> pool(params_of({{"length", "15"}}), o);
      REQUIRE(pool.layout().rows == 0);
      Run run;
      const auto done = [&] {
        for (int g = 0; g < groups; ++g) {
          if (!pool.group_finished(g)) return false;
        }
        return true;
      };
      while (!done()) {
        const int g = pool.recv(-1, kWait);
        REQUIRE(g >= 0);
        take_results(pool, g, run);
        pool.send(g);
      }
      REQUIRE(run.results.size() == 500);
      std::sort(run.results.begin(), run.results.end(),
                [](auto& a, auto& b) { return a.match < b.match; });
      for (std::size_t i = 0; i < 500; ++i) CHECK(run.results[i].match == i);
      if (first.empty()) first = texts_of(run);
      CHECK(texts_of(run) == first);
    }
  }
}

TEST_CASE("pool: closes at once with endless matches in flight") {
  for (const int threads : {1, 2, 5}) {
    PoolOptions o = bots_only(8);
    o.threads = threads;
    o.groups = 4;
    Pool<Uneven> pool(params_of({{"length", "1000000000"}}), o);
    CHECK(pool.recv(-1, 20'000'000) == -1);  // nothing can be ready: matches last for minutes
    const std::uint64_t begin = now_ns();
    pool.close();
    CHECK(now_ns() - begin < 2'000'000'000);
    CHECK_THROWS_AS(pool.recv(-1, 1), PoolError);
    pool.close();
  }
}

TEST_CASE("pool: is destroyed safely while its groups play") {
  for (int i = 0; i < 20; ++i) {
    PoolOptions o = one_learner(16);
    o.threads = 3;
    o.groups = 4;
    TestSlab slab(Uneven::spec({}), 10, 16);
    Pool<Uneven> pool(params_of({}), o);
    for (int g = 0; g < 4; ++g) pool.attach(g, slab.view);
    if (i % 2 == 0) pool.recv(i % 4, kWait);
  }
}

TEST_CASE("pool: misuse is refused with what to do") {
  Pool<Uneven> pool(params_of({}), one_learner(4));
  TestSlab slab(pool.spec(), 2, pool.layout().rows);
  TestSlab narrow(pool.spec(), 2, 1);
  CHECK_THROWS_WITH_AS(pool.recv(0, 1), "recv: attach a slab to group 0 first", PoolError);
  CHECK_THROWS_WITH_AS(pool.recv(-1, 1), "recv: no group is playing; attach or send one first",
                       PoolError);
  CHECK_THROWS_AS(pool.attach(0, narrow.view), PoolError);
  CHECK_THROWS_AS(pool.attach(1, slab.view), PoolError);
  pool.attach(0, slab.view);
  CHECK_THROWS_WITH_AS(pool.attach(0, slab.view), "attach: group 0 is playing; receive it first",
                       PoolError);
  CHECK_THROWS_AS(static_cast<void>(pool.snapshot()), PoolError);
  for (int t = 0; t < 2; ++t) {
    pool.recv(0, kWait);
    pool.random_actions(0, 1);
    pool.send(0);
  }
  pool.recv(0, kWait);
  CHECK_THROWS_AS(pool.send(0), PoolError);  // the slab is full
  pool.attach(0, slab.view);
  CHECK_THROWS_AS(pool.send(0), PoolError);  // not received yet
  CHECK(pool.recv(-1, kWait) == 0);
  CHECK_THROWS_AS(pool.set_handover(0, 5), PoolError);  // no handover bot
  CHECK_THROWS_AS(pool.set_handover(3, 5), PoolError);
  CHECK_THROWS_AS(pool.set_mixture(0, {1.0, 1.0}), PoolError);
  CHECK_THROWS_AS(pool.set_mixture(0, {0.0}), PoolError);
  CHECK_THROWS_AS(pool.set_mixture(0, {-1.0}), PoolError);
  PoolOptions o = one_learner(4);
  o.groups = 5;
  CHECK_THROWS_AS(Pool<Uneven>(params_of({}), o), PoolError);
  o = one_learner(4);
  o.lineup.plans.pop_back();
  CHECK_THROWS_AS(Pool<Uneven>(params_of({}), o), PoolError);
}

TEST_CASE("pool: mixtures are drawn by weight, handovers uniformly, for any seat") {
  SeatPlan mixture = plan({a_policy(0, 3.0), a_bot(0, 1.0), a_bot(1, 0.0)}, 1);
  SeatPlan curriculum = plan({a_policy(1)}, 1);
  curriculum.handover_bot = 0;
  curriculum.handover_ticks = 3;
  PoolOptions o = options(64, {mixture, curriculum, plan({a_bot(1)})});
  o.lineup.rotate = false;
  o.num_matches = 4000;
  Pool<Uneven> pool(params_of({{"length", "200"}}), o);
  TestSlab slab(pool.spec(), 400, pool.layout().rows);
  Run run;
  std::array<int, 4> first_tick{};
  int firsts = 0;
  pool.attach(0, slab.view);
  while (!pool.group_finished(0)) {
    REQUIRE(pool.recv(0, kWait) == 0);
    take_results(pool, 0, run);
    const int t = pool.time(0);
    for (int row = 0; row < pool.layout().rows; ++row) {
      const std::size_t at = slab.view.at(t, row);
      if (slab.is_first[at] == 0 || pool.layout().row_seat[static_cast<std::size_t>(row)] != 1)
        continue;
      const int tick = std::to_integer<int>(slab.obs[0][4 * at]);
      if (tick < 4) ++first_tick[static_cast<std::size_t>(tick)];  // seat 1 may act at odd ticks
      ++firsts;
    }
    if (t == 400) {
      pool.attach(0, slab.view);
      continue;
    }
    pool.random_actions(0, 9);
    pool.send(0);
  }
  REQUIRE(run.results.size() == 4000);
  int policy = 0, bot0 = 0, bot1 = 0;
  for (const RawResult& r : run.results) {
    policy += r.player[0] == 0 ? 1 : 0;
    bot0 += r.player[0] == -1 ? 1 : 0;
    bot1 += r.player[0] == -2 ? 1 : 0;
  }
  CHECK(bot1 == 0);
  CHECK(policy + bot0 == 4000);
  CHECK(policy == doctest::Approx(3000).epsilon(0.05));
  // k in {0, 1} lets seat 1 decide first at tick 1, k in {2, 3} at tick 3: half each.
  CHECK(first_tick[1] + first_tick[3] == firsts);
  CHECK(first_tick[1] == doctest::Approx(firsts / 2.0).epsilon(0.06));
}

TEST_CASE("pool: settings take effect for matches that start after the next send") {
  std::vector<std::string> first;
  for (const int threads : {0, 2}) {
    PoolOptions o = options(
        8, {plan({a_policy(0, 1.0), a_bot(0, 1.0)}, 1), plan({a_bot(0)}), plan({a_bot(1)})});
    o.threads = threads;
    o.groups = 2;
    o.lineup.rotate = false;
    Pool<Uneven> pool(params_of({{"length", "12"}}), o);
    TestSlab slab(pool.spec(), 60, pool.layout().rows);
    Run run;
    int early = 0, late = 0;  // matches of the bot: they start and end within a step
    for (int g = 0; g < 2; ++g) pool.attach(g, slab.view);
    for (int t = 0; t < 60; ++t) {
      for (int g = 0; g < 2; ++g) {
        REQUIRE(pool.recv(g, kWait) == g);
        const std::size_t known = run.results.size();
        take_results(pool, g, run);
        for (std::size_t i = known; i < run.results.size(); ++i) {
          if (run.results[i].player[0] == -1) ++(t <= 20 ? early : late);
        }
        pool.random_actions(g, 1);
        if (t == 20 && g == 0) pool.set_mixture(0, {1.0, 0.0});
        if (t + 1 < 60) pool.send(g);  // nothing is in flight when the slab goes
      }
    }
    CHECK(early > 5);
    CHECK(late == 0);
    if (first.empty()) first = texts_of(run);
    CHECK(texts_of(run) == first);
  }
}

TEST_CASE("pool: recorded matches verify against the rules") {
  const Params params = params_of({{"length", "40"}});
  for (const bool all : {true, false}) {
    PoolOptions o = one_learner(6);
    o.lineup.plans[1] = plan({a_policy(1), a_bot(0)}, 3);
    o.threads = 2;
    o.record = {all, {}, 5};
    if (!all) o.record.matches = {1, 7, 30};
    Pool<Uneven> pool(params, o);
    TestSlab slab(pool.spec(), 300, pool.layout().rows);
    const Run run = drive(pool, slab);
    std::vector<std::uint64_t> recorded;
    for (const RawResult& r : run.results) {
      if (r.replay.empty()) continue;
      recorded.push_back(r.match);
      const Replay replay =
          decode_replay({reinterpret_cast<const std::byte*>(r.replay.data()), r.replay.size()});
      CHECK(replay.seed.match == r.match);
      CHECK(replay.ticks == r.ticks);
      CHECK(replay.outcome[1] == r.outcome[1]);
      const ReplayCheck check = replay_verify<Uneven>(replay);
      CHECK_MESSAGE(check.same, check.difference);
    }
    if (all)
      CHECK(recorded.size() == run.results.size());
    else
      CHECK(recorded == o.record.matches);
  }
}
