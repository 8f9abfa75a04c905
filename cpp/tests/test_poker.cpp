#include <algorithm>
#include <array>
#include <cmath>

#include "games/poker/kuhn_poker.hpp"
#include "games/poker/leduc_poker.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

template <class G>
typename G::State dealt(std::initializer_list<int> cards) {
  typename G::State s{};
  G::reset({}, s, {.seed = 1, .match = 1});
  std::size_t i = 0;
  for (const int c : cards) s.card[i++] = static_cast<std::uint8_t>(c);
  return s;
}

template <class G>
float play(typename G::State s, std::initializer_list<std::int32_t> choices) {
  for (const std::int32_t c : choices) {
    REQUIRE_FALSE(G::status({}, s).over);
    const int seat = G::to_act({}, s) == 1 ? 0 : 1;
    G::act({}, s, seat, {&c, 1});
    G::advance({}, s);
  }
  REQUIRE(G::status({}, s).over);
  std::array<float, 2> out{};
  G::rewards({}, s, out);
  CHECK(out[0] == -out[1]);
  return out[0];
}

TEST_CASE("kuhn_poker: every way to end pays what the rules say") {
  const auto s = dealt<KuhnPoker>({2, 0});
  CHECK(play<KuhnPoker>(s, {0, 0}) == 1.0F);
  CHECK(play<KuhnPoker>(s, {1, 0}) == 1.0F);
  CHECK(play<KuhnPoker>(s, {1, 1}) == 2.0F);
  CHECK(play<KuhnPoker>(s, {0, 1, 0}) == -1.0F);
  CHECK(play<KuhnPoker>(s, {0, 1, 1}) == 2.0F);
  CHECK(play<KuhnPoker>(dealt<KuhnPoker>({0, 1}), {0, 1, 1}) == -2.0F);
}

TEST_CASE("kuhn_poker: the equilibrium is worth -1/18 to the first player") {
  double sum = 0.0;
  constexpr int kMatches = 200000;
  for (std::uint64_t m = 0; m < kMatches; ++m) {
    KuhnPoker::State s{};
    KuhnPoker::reset({}, s, {.seed = 5, .match = m});
    while (!KuhnPoker::status({}, s).over) {
      KuhnPoker::bot({}, s, KuhnPoker::to_act({}, s) == 1 ? 0 : 1, 1);
      KuhnPoker::advance({}, s);
    }
    std::array<float, 2> out{};
    KuhnPoker::rewards({}, s, out);
    sum += static_cast<double>(out[0]);
  }
  CHECK(sum / kMatches == doctest::Approx(-1.0 / 18.0).epsilon(0.15));  // sd of the mean 0.003
}

// Probability of a bet by card and decision: 0 first, 1 after a pass, 2 after a bet, 3 after pass
// and bet.
using Bets = std::array<std::array<double, 4>, KuhnPoker::kCards>;

std::size_t decision(const KuhnPoker::State& s) {
  return s.length == 0 ? 0U : s.length == 2 ? 3U : (s.bets & 1U) != 0 ? 2U : 1U;
}

KuhnPoker::State after(KuhnPoker::State s, std::int32_t choice) {
  KuhnPoker::act({}, s, s.length & 1, {&choice, 1});
  KuhnPoker::advance({}, s);
  return s;
}

double value(const KuhnPoker::State& s, const std::array<Bets, 2>& seats) {
  if (KuhnPoker::status({}, s).over) {
    std::array<float, 2> out{};
    KuhnPoker::rewards({}, s, out);
    return static_cast<double>(out[0]);
  }
  const std::size_t seat = s.length & 1U;
  const double bet = seats[seat][s.card[seat]][decision(s)];
  return bet * value(after(s, 1), seats) + (1.0 - bet) * value(after(s, 0), seats);
}

double value(const std::array<Bets, 2>& seats) {
  double sum = 0.0;
  for (int one = 0; one < KuhnPoker::kCards; ++one) {
    for (int other = 0; other < KuhnPoker::kCards; ++other) {
      if (one != other) sum += value(dealt<KuhnPoker>({one, other}), seats) / 6.0;
    }
  }
  return sum;
}

// The bot's own probabilities, which are thirds: counted over draws, then exact.
Bets bets_of_the_bot() {
  constexpr int kDraws = 3000;
  Bets found{};
  for (int card = 0; card < KuhnPoker::kCards; ++card) {
    for (std::size_t d = 0; d < 4; ++d) {
      int bets = 0;
      for (std::uint64_t m = 0; m < kDraws; ++m) {
        KuhnPoker::State s{};
        KuhnPoker::reset({}, s, {.seed = 7, .match = m});
        const std::size_t seat = d == 1 || d == 2 ? 1U : 0U;
        s.card[seat] = static_cast<std::uint8_t>(card);
        s.card[1U - seat] = static_cast<std::uint8_t>((card + 1) % KuhnPoker::kCards);
        if (d == 1 || d == 3) s = after(s, 0);
        if (d == 2 || d == 3) s = after(s, 1);
        REQUIRE(decision(s) == d);
        KuhnPoker::bot({}, s, static_cast<int>(seat), 1);
        bets += s.chosen;
      }
      const double share = static_cast<double>(bets) / kDraws;
      double& exact = found[static_cast<std::size_t>(card)][d];
      exact = std::round(share * 3.0) / 3.0;
      CHECK(std::abs(share - exact) < 0.05);  // six deviations
    }
  }
  return found;
}

TEST_CASE("kuhn_poker: no strategy wins more against the equilibrium than its value") {
  const Bets bot = bets_of_the_bot();
  CHECK(value({bot, bot}) == doctest::Approx(-1.0 / 18.0));
  double best = -2.0, worst = 2.0;
  for (unsigned pure = 0; pure < 64; ++pure) {  // two decisions of three cards
    Bets first{}, second{};
    for (std::size_t card = 0; card < 3; ++card) {
      const double one = pure >> (2 * card) & 1U, other = pure >> (2 * card + 1) & 1U;
      first[card] = {one, 0.0, 0.0, other};
      second[card] = {0.0, one, other, 0.0};
    }
    best = std::max(best, value({first, bot}));
    worst = std::min(worst, value({bot, second}));
  }
  CHECK(best == doctest::Approx(-1.0 / 18.0));
  CHECK(worst == doctest::Approx(-1.0 / 18.0));
}

TEST_CASE("leduc_poker: showdowns, folds and raises") {
  constexpr int kFold = 0, kCall = 1, kRaise = 2;
  const auto pair = dealt<LeducPoker>({0, 4, 1});    // seat 0 pairs the public jack
  const auto higher = dealt<LeducPoker>({0, 4, 2});  // king against jack
  const auto split = dealt<LeducPoker>({4, 5, 0});
  CHECK(play<LeducPoker>(pair, {kCall, kCall, kCall, kCall}) == 1.0F);
  CHECK(play<LeducPoker>(higher, {kCall, kCall, kCall, kCall}) == -1.0F);
  CHECK(play<LeducPoker>(split, {kRaise, kCall, kRaise, kCall}) == 0.0F);
  CHECK(play<LeducPoker>(pair, {kRaise, kFold}) == 1.0F);
  CHECK(play<LeducPoker>(pair, {kRaise, kRaise, kFold}) == -3.0F);
  CHECK(play<LeducPoker>(pair, {kCall, kRaise, kRaise, kCall, kCall, kRaise, kRaise, kCall}) ==
        13.0F);
}

TEST_CASE("leduc_poker: no fold without a bet, no third raise") {
  auto s = dealt<LeducPoker>({0, 4, 1});
  std::array<std::uint8_t, 3> mask{};
  LeducPoker::legal({}, s, 0, mask.data());
  CHECK(mask == std::array<std::uint8_t, 3>{0, 1, 1});
  for (int seat = 0; seat < 2; ++seat) {
    const std::int32_t raise = 2;
    LeducPoker::act({}, s, seat, {&raise, 1});
    LeducPoker::advance({}, s);
  }
  LeducPoker::legal({}, s, 0, mask.data());
  CHECK(mask == std::array<std::uint8_t, 3>{1, 1, 0});
  const std::int32_t raise = 2;
  CHECK_THROWS_AS(LeducPoker::act({}, s, 0, {&raise, 1}), GameError);
}

std::uint32_t observed(const LeducPoker::State& s, int seat) {
  std::array<std::byte, 4> bytes{};
  std::byte* const tensors[] = {bytes.data()};
  LeducPoker::observe({}, s, seat, tensors);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) bits |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return bits;
}

LeducPoker::State led(std::initializer_list<std::int32_t> choices) {
  auto s = dealt<LeducPoker>({0, 4, 2});
  for (const std::int32_t c : choices) {
    LeducPoker::act({}, s, s.to_move, {&c, 1});
    LeducPoker::advance({}, s);
  }
  return s;
}

TEST_CASE("leduc_poker: a fold stands nowhere in the last observation") {
  constexpr std::int32_t kFold = 0, kCall = 1, kRaise = 2;
  const std::initializer_list<std::int32_t> histories[] = {
      {kRaise}, {kCall, kRaise}, {kRaise, kRaise}, {kCall, kCall, kRaise}};
  for (const auto& history : histories) {
    const auto before = led(history);
    auto s = before;
    LeducPoker::act({}, s, s.to_move, {&kFold, 1});
    LeducPoker::advance({}, s);
    REQUIRE(LeducPoker::status({}, s).over);
    for (int seat = 0; seat < 2; ++seat) CHECK(observed(s, seat) == observed(before, seat));
    // A call is there, so that the two differ.
    auto called = before;
    LeducPoker::act({}, called, called.to_move, {&kCall, 1});
    LeducPoker::advance({}, called);
    CHECK(observed(called, 0) != observed(before, 0));
  }
}

TEST_CASE("leduc_poker: the random bot makes every legal choice equally often") {
  const std::initializer_list<std::int32_t> histories[] = {{}, {1}, {2}, {1, 2}, {2, 2}, {1, 1, 2}};
  constexpr int kDraws = 6000;
  for (const auto& history : histories) {
    auto s = led(history);
    std::array<std::uint8_t, 3> mask{};
    LeducPoker::legal({}, s, s.to_move, mask.data());
    const int legal = mask[0] + mask[1] + mask[2];
    std::array<int, 3> counts{};
    for (int i = 0; i < kDraws; ++i) {  // its draws continue in the match's own state
      LeducPoker::bot({}, s, s.to_move, 0);
      ++counts[static_cast<std::size_t>(s.chosen)];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(std::abs(counts[c] - mask[c] * kDraws / legal) < 200);  // five deviations
    }
  }
}

TEST_CASE("leduc_poker: every deal comes equally often") {
  std::array<int, 120> counts{};
  for (std::uint64_t m = 0; m < 60000; ++m) {
    LeducPoker::State s{};
    LeducPoker::reset({}, s, {.seed = 2, .match = m});
    REQUIRE(s.card[0] != s.card[1]);
    REQUIRE(s.card[0] != s.card[2]);
    REQUIRE(s.card[1] != s.card[2]);
    const int b = s.card[1] - (s.card[1] > s.card[0]);
    const int c = s.card[2] - (s.card[2] > s.card[0]) - (s.card[2] > s.card[1]);
    ++counts[static_cast<std::size_t>((s.card[0] * 5 + b) * 4 + c)];
  }
  for (const int n : counts) CHECK(std::abs(n - 500) < 120);  // five deviations
}

}  // namespace
}  // namespace ludus
