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
