#include <cmath>

#include "tests/doctest.hpp"
#include "tests/pool/harness.hpp"
#include "tests/pool/reference.hpp"

using namespace ludus;
using namespace ludus::test;

namespace {

// Seats 0 and 2 against seat 1.
struct Comrades : Uneven {
  static GameSpec spec(const Rules& r) {
    GameSpec s = Uneven::spec(r);
    s.teams = {0, 1, 0};
    return s;
  }
};
struct OneTeam : Uneven {
  static GameSpec spec(const Rules& r) {
    GameSpec s = Uneven::spec(r);
    s.teams = {4, 4, 4};
    return s;
  }
};

GameSpec teams_of(std::vector<int> teams) {
  GameSpec s;
  s.name = "some";
  s.seats = static_cast<int>(teams.size());
  s.teams = std::move(teams);
  return s;
}

// Payments of the seats, by the rule as it is written down.
std::vector<double> shared(const std::vector<double>& earned, const std::vector<int>& teams,
                           double spirit, bool zero_sum) {
  const std::size_t n = earned.size();
  std::vector<double> own = earned;
  std::vector<double> paid(n);
  for (std::size_t s = 0; zero_sum && s < n; ++s) {
    double sum = 0.0;
    int count = 0;
    for (std::size_t o = 0; o < n; ++o) {
      if (teams[o] == teams[s]) continue;
      sum += earned[o];
      ++count;
    }
    own[s] -= sum / count;
  }
  for (std::size_t s = 0; s < n; ++s) {
    double sum = 0.0;
    int count = 0;
    for (std::size_t o = 0; o < n; ++o) {
      if (teams[o] != teams[s]) continue;
      sum += own[o];
      ++count;
    }
    paid[s] = (1.0 - spirit) * own[s] + spirit * sum / count;
  }
  return paid;
}

PoolOptions three_seats(double spirit, bool zero_sum) {
  PoolOptions o;
  o.lineup.plans = {plan({a_policy(0)}, 1), plan({a_bot(0)}, 1), plan({a_policy(1)}, 1)};
  o.lineup.rotate = false;
  o.slots = 6;
  o.seed = 3;
  o.spirit = spirit;
  o.zero_sum = zero_sum;
  return o;
}

Params of_length(const char* ticks) { return Params({{"length", ticks}}); }

// Rewards due to a slot's rows: [step][seat], for seats 0 and 2.
std::vector<std::array<double, 3>> due(const PoolOptions& o, int slot, std::size_t count,
                                       const Params& params, double spirit, bool zero_sum) {
  std::vector<std::array<double, 3>> all;
  for (auto n = static_cast<std::uint64_t>(slot); all.size() < count;
       n += static_cast<std::uint64_t>(o.slots)) {
    const LoggedMatch log = log_match(Uneven::make_rules(params), o, slot, n, 5);
    std::array<bool, 3> decided{};
    std::vector<double> earned(3);
    bool any = false;
    const auto pay = [&] {
      const std::vector<double> paid = shared(earned, {0, 1, 0}, spirit, zero_sum);
      for (std::size_t s = 0; any && s < 3; ++s) all.back()[s] = decided[s] ? paid[s] : 0.0;
      earned.assign(3, 0.0);
    };
    for (const Tick& tick : log.ticks) {
      if (tick.active != 0) {
        pay();
        any = true;
        all.emplace_back();
        for (std::size_t s = 0; s < 3; ++s) decided[s] = decided[s] || (tick.active >> s & 1) != 0;
      }
      for (std::size_t s = 0; s < 3; ++s) earned[s] += static_cast<double>(tick.reward[s]);
    }
    pay();
  }
  return all;
}

template <class G>
std::string refusal(PoolOptions o) {
  try {
    Pool<G> pool(of_length("9"), std::move(o));
  } catch (const PoolError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("team rewards: 2 to 16 seats in teams of any size are paid by the rule") {
  Rng rng({7, 1}, 0);
  int tried = 0;
  for (int round = 0; round < 400; ++round) {
    const auto seats = 2 + rng.below(15);
    std::vector<int> teams;
    for (std::uint32_t s = 0; s < seats; ++s) teams.push_back(static_cast<int>(rng.below(4)) * 3);
    const bool zero_sum = round % 2 == 1;
    const double spirit = std::array{0.0, 0.3, 0.5, 1.0}[rng.below(4)];
    const GameSpec spec = teams_of(teams);
    if (!TeamRewards::problem(spec, spirit, zero_sum).empty()) continue;
    ++tried;
    std::array<float, kMaxSeats> earned{};
    std::vector<double> reference;
    for (std::uint32_t s = 0; s < seats; ++s) {
      earned[s] = static_cast<float>(rng.uniform() * 4.0 - 2.0);
      reference.push_back(static_cast<double>(earned[s]));
    }
    const std::vector<double> paid = shared(reference, teams, spirit, zero_sum);
    TeamRewards(spec, zero_sum).share(earned, spirit);
    for (std::uint32_t s = 0; s < seats; ++s) {
      CHECK(std::abs(static_cast<double>(earned[s]) - paid[s]) < 1e-6);
    }
  }
  CHECK(tried > 300);
}

TEST_CASE("team rewards: payments of equal teams add up to 0 in a zero-sum match") {
  Rng rng({7, 2}, 0);
  for (const auto& [teams, size] : {std::pair{2, 1}, {2, 2}, {2, 8}, {3, 5}, {4, 4}, {8, 2}}) {
    std::vector<int> of_seat;
    for (int s = 0; s < teams * size; ++s) of_seat.push_back(s % teams);
    const TeamRewards rule(teams_of(of_seat), true);
    for (const double spirit : {0.0, 0.3, 1.0}) {
      std::array<float, kMaxSeats> earned{};
      for (int s = 0; s < teams * size; ++s) {
        earned[static_cast<std::size_t>(s)] = static_cast<float>(rng.uniform());
      }
      rule.share(earned, spirit);
      double sum = 0.0;
      for (const float r : earned) sum += static_cast<double>(r);
      CHECK(std::abs(sum) < 1e-6);
    }
  }
}

TEST_CASE("team rewards: rows are paid by the rule, with a bot in the other team") {
  const Params params = of_length("7");
  for (const auto& [spirit, zero_sum] : {std::pair{0.0, true}, {0.3, false}, {1.0, true}}) {
    const PoolOptions o = three_seats(spirit, zero_sum);
    Pool<Comrades> pool(params, o);
    TestSlab slab(pool.spec(), 60, pool.layout().rows);
    const Run run = drive(pool, slab);
    for (int slot = 0; slot < o.slots; ++slot) {
      const auto paid = due(o, slot, 60, params, spirit, zero_sum);
      for (int t = 0; t < 60; ++t) {
        for (const int seat : {0, 2}) {
          const float got = slab.reward[slab.view.at(t, pool.layout().row_of(slot, seat))];
          REQUIRE(std::abs(static_cast<double>(got) -
                           paid[static_cast<std::size_t>(t)][static_cast<std::size_t>(seat)]) <
                  1e-5);
        }
      }
    }
    // Matches and their results stay the game's.
    PoolOptions own = o;
    own.spirit = 0.0;
    own.zero_sum = false;
    Pool<Comrades> plain(params, own);
    TestSlab untouched(plain.spec(), 60, plain.layout().rows);
    CHECK(texts_of(drive(plain, untouched)) == texts_of(run));
    CHECK(untouched.actions == slab.actions);
    CHECK(untouched.reward != slab.reward);
  }
}

TEST_CASE("team rewards: a spirit holds from a group's next send, and comes back with a snapshot") {
  const Params params = of_length("30");
  PoolOptions o = three_seats(0.0, true);
  Pool<Comrades> pool(params, o);
  TestSlab first(pool.spec(), 20, pool.layout().rows), after(pool.spec(), 40, pool.layout().rows);
  drive(pool, first);
  CHECK(pool.snapshot()[8] == 2);  // as before there was a spirit
  pool.set_spirit(0.75);
  const std::string bytes = pool.snapshot();
  CHECK(bytes[8] == 3);
  drive(pool, after);

  o.threads = 2;
  o.groups = 3;
  o.spirit = 0.25;  // at first
  Pool<Comrades> copy(params, o);
  TestSlab scratch(copy.spec(), 5, copy.layout().rows), again(copy.spec(), 40, copy.layout().rows);
  drive(copy, scratch);
  copy.restore(bytes);
  drive(copy, again);
  CHECK(again.reward == after.reward);

  copy.set_spirit(0.0);  // the pool remembers 0 as well as any other
  const std::string plain = copy.snapshot();
  TestSlab zero(copy.spec(), 40, copy.layout().rows), same(copy.spec(), 40, copy.layout().rows);
  drive(copy, zero);
  copy.set_spirit(1.0);
  copy.restore(plain);
  drive(copy, same);
  CHECK(same.reward == zero.reward);

  o.zero_sum = false;
  Pool<Comrades> other(params, o);
  CHECK_THROWS_AS(other.restore(bytes), PoolError);
}

TEST_CASE("team rewards: games without teams, and numbers that are no share, are refused") {
  const auto options = [](double spirit, bool zero_sum) {
    PoolOptions o = three_seats(spirit, zero_sum);
    return o;
  };
  CHECK(refusal<Comrades>(options(1.0, true)).empty());
  CHECK(refusal<Comrades>(options(1.5, false)) == "uneven pool: spirit=1.500000, expected 0..1");
  CHECK(refusal<Comrades>(options(std::nan(""), false)) ==
        "uneven pool: spirit=nan, expected 0..1");
  CHECK(refusal<Uneven>(options(0.0, false)).empty());
  const std::string none = "uneven pool: rewards are shared by teams, and the game has none";
  CHECK(refusal<Uneven>(options(0.5, false)) == none);
  CHECK(refusal<Uneven>(options(0.0, true)) == none);
  CHECK(refusal<OneTeam>(options(0.5, false)).empty());
  CHECK(refusal<OneTeam>(options(0.0, true)) ==
        "uneven pool: zero_sum: the game has one team, expected at least two");
  Pool<Comrades> pool(of_length("9"), options(0.5, false));
  CHECK_THROWS_AS(pool.set_spirit(-0.1), PoolError);
  CHECK_THROWS_AS(pool.set_spirit(std::nan("")), PoolError);
  Pool<Uneven> alone(of_length("9"), options(0.0, false));
  alone.set_spirit(0.0);
  CHECK_THROWS_AS(alone.set_spirit(0.5), PoolError);
}
