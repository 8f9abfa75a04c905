// Matches that a search plays against itself: their records, their starts and ends.
#include <array>
#include <map>

#include "search/positions.hpp"
#include "search/self_play.hpp"
#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"

using namespace ludus;
using namespace ludus::tests;

TEST_CASE("self-play: records lead back to every position") {
  SearchOptions o{.visits = 30, .noise_share = 0.25F};
  SelfPlayOptions p{.slots = 8, .seed = 4, .full_share = 0.5F, .cheap_visits = 8};
  SelfPlayOf<T> play(Params(), o, p, {.kind = "rollout", .seed = 2});
  play.collect(4000);
  const MatchColumns g = play.take_matches();
  REQUIRE(g.match.size() > 50);
  PositionReader<T> reader{Params()};
  std::size_t ply = 0, pair = 0;
  int full = 0;
  for (std::size_t i = 0; i < g.match.size(); ++i) {
    const auto count = static_cast<std::size_t>(g.plies[i]);
    const std::span<const std::uint16_t> actions = std::span(g.action).subspan(ply, count);
    std::vector<std::int32_t> wanted, rows;
    for (std::size_t k = 0; k < count; ++k) {
      wanted.push_back(static_cast<std::int32_t>(k));
      rows.push_back(static_cast<std::int32_t>(count - 1 - k));
    }
    std::vector<std::byte> memory(3 * count);
    std::vector<std::uint8_t> mask(9 * count);
    std::byte* base = memory.data();
    reader.read({{4, g.match[i]}, actions, wanted, rows}, std::span(&base, 1), mask.data());
    for (std::size_t k = 0; k < count; ++k) {
      CHECK(g.seat[ply + k] == k % 2);
      CHECK(mask[9 * (count - 1 - k) + actions[k]] == 1);
      int total = 0;
      for (int t = 0; t < g.targets[ply + k]; ++t, ++pair) {
        total += g.target_share[pair];
        CHECK(mask[9 * (count - 1 - k) + g.target_move[pair]] == 1);
      }
      if (g.full[ply + k] != 0) {
        CHECK(std::abs(total - 65535) < 10);
        ++full;
      } else {
        CHECK(g.targets[ply + k] == 0);
      }
    }
    // One more move than there are leads nowhere, and is refused.
    const std::int32_t beyond = static_cast<std::int32_t>(count);
    const std::int32_t row = 0;
    CHECK_THROWS_AS(
        reader.read({{4, g.match[i]}, actions, std::span(&beyond, 1), std::span(&row, 1)},
                    std::span(&base, 1), mask.data()),
        SearchError);
    ply += count;
  }
  CHECK(ply == g.action.size());
  CHECK(pair == g.target_move.size());
  const double share = static_cast<double>(full) / static_cast<double>(ply);
  CHECK(share > 0.4);
  CHECK(share < 0.6);
}

TEST_CASE("self-play: matches depend only on their number, and seats may resign") {
  SearchOptions o{.visits = 20};
  const auto games = [&](int slots) {
    SelfPlayOf<T> play(Params(), o, {.slots = slots, .seed = 4}, {.kind = "uniform"});
    play.collect(slots == 1 ? 20000 : 4000);
    const MatchColumns g = play.take_matches();
    std::map<std::uint64_t, std::vector<std::uint16_t>> out;
    std::size_t ply = 0;
    for (std::size_t i = 0; i < g.match.size(); ++i) {
      const auto count = static_cast<std::size_t>(g.plies[i]);
      out[g.match[i]] = {g.action.begin() + static_cast<std::ptrdiff_t>(ply),
                         g.action.begin() + static_cast<std::ptrdiff_t>(ply + count)};
      ply += count;
    }
    return out;
  };
  const auto alone = games(1), together = games(16);
  int same = 0;
  for (const auto& [match, moves] : alone) {
    if (!together.contains(match)) continue;
    CHECK(together.at(match) == moves);
    ++same;
  }
  CHECK(same > 20);

  SelfPlayOf<T> play(Params(), {.visits = 100},
                     {.slots = 16, .seed = 4, .resign_below = -0.2F, .never_resign_share = 0.25F},
                     {.kind = "rollout", .seed = 2});
  play.collect(6000);
  const MatchColumns g = play.take_matches();
  int resigned = 0, never = 0;
  for (std::size_t i = 0; i < g.match.size(); ++i) {
    resigned += g.resigned[i];
    never += g.never_resign[i];
    CHECK(!(g.resigned[i] == 1 && g.never_resign[i] == 1));
    if (g.resigned[i] == 1) CHECK(g.outcome[i] != 0.0F);
  }
  CHECK(resigned > 10);
  CHECK(never > static_cast<int>(g.match.size()) / 8);
}

TEST_CASE("self-play: matches may start anywhere, and random moves are not trained on") {
  SelfPlayOf<T> play(Params(), {.visits = 12},
                     {.slots = 8, .seed = 4, .random_share = 0.5F, .random_plies = 3},
                     {.kind = "uniform"});
  play.collect(4000);
  const MatchColumns g = play.take_matches();
  REQUIRE(g.match.size() > 100);
  std::array<int, 4> begun{};
  std::size_t ply = 0;
  for (const std::int32_t plies : g.plies) {
    int chance = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(plies); ++i) {
      if (g.full[ply + i] != 0) continue;
      CHECK(i == static_cast<std::size_t>(chance));  // only at the beginning
      CHECK(g.targets[ply + i] == 0);
      ++chance;
    }
    REQUIRE(chance <= 3);
    ++begun[static_cast<std::size_t>(chance)];
    ply += static_cast<std::size_t>(plies);
  }
  const auto all = static_cast<double>(g.match.size());
  CHECK(begun[0] / all * 2 == doctest::Approx(1.0).epsilon(0.1));
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(begun[i] / all * 6 == doctest::Approx(1.0).epsilon(0.2));
  CHECK_THROWS_AS(validate(SelfPlayOptions{.random_share = 1.5F}), SearchError);
}

TEST_CASE("self-play: late beginnings are as frequent as early ones") {
  // Of random matches 45% end before their eighth move.
  SelfPlayOf<T> play(Params(), {.visits = 4},
                     {.slots = 8, .seed = 4, .random_share = 1.0F, .random_plies = 7},
                     {.kind = "uniform"});
  play.collect(20000);
  const MatchColumns g = play.take_matches();
  REQUIRE(g.match.size() > 4000);
  std::array<int, 8> begun{};
  std::size_t ply = 0;
  for (const std::int32_t plies : g.plies) {
    std::size_t chance = 0;
    while (g.full[ply + chance] == 0) ++chance;
    REQUIRE(chance <= 7);
    ++begun[chance];
    ply += static_cast<std::size_t>(plies);
  }
  CHECK(begun[0] == 0);
  const auto each = static_cast<double>(g.match.size()) / 7.0;
  for (std::size_t i = 1; i < 8; ++i)  // Approx(1): twice epsilon either way
    CHECK(begun[i] / each == doctest::Approx(1.0).epsilon(0.05));
}

TEST_CASE("self-play: matches may end where they are proven") {
  const SearchOptions o{.visits = 300, .solver = true, .endgame_plies = 5, .endgame_nodes = 1000};
  const auto games = [&](float share) {
    SelfPlayOf<T> play(Params(), o,
                       {.slots = 8,
                        .seed = 6,
                        .temperature_plies = 9,
                        .random_share = 1.0F,
                        .random_plies = 4,
                        .proven_share = share},
                       {.kind = "uniform"});
    play.collect(40000);
    return play.take_matches();
  };
  const MatchColumns all = games(0.0F), none = games(1.0F), half = games(0.5F);
  // Whether a match was broken off, and what its last position is worth to seat 0.
  const auto cut = [](const MatchColumns& g) {
    const T::Rules rules = T::make_rules(Params());
    int broken = 0;
    std::size_t ply = 0;
    for (std::size_t i = 0; i < g.match.size(); ++i) {
      T::State s{};
      T::reset(rules, s, {6, g.match[i]});
      const auto last = static_cast<std::size_t>(g.plies[i]) - 1;
      for (std::size_t k = 0; k < last; ++k) {
        const std::int32_t move = g.action[ply + k];
        T::act(rules, s, s.to_move, std::span(&move, 1));
        T::advance(rules, s);
      }
      const int value = exact_value(rules, s);
      const int seat = s.to_move;
      const std::int32_t move = g.action[ply + last];
      T::act(rules, s, seat, std::span(&move, 1));
      T::advance(rules, s);
      if (!T::status(rules, s).over) {
        ++broken;
        CHECK(g.outcome[i] == static_cast<float>(seat == 0 ? value : -value));
        CHECK(g.value[ply + last] == static_cast<float>(value));
        CHECK(g.resigned[i] == 0);
      }
      ply += last + 1;
    }
    return static_cast<double>(broken) / static_cast<double>(g.match.size());
  };
  REQUIRE(half.match.size() > 300);
  CHECK(cut(all) == 0.0);
  const double most = cut(none);
  CHECK(most > 0.8);
  CHECK(cut(half) == doctest::Approx(most / 2).epsilon(0.1));
  CHECK_THROWS_AS(validate(SelfPlayOptions{.proven_share = 1.5F}), SearchError);
}

TEST_CASE("self-play: a position is worth what its target promises, not what noise looked at") {
  Rng rng({9, 9}, 0);
  const SearchOptions o{.visits = 200, .noise_share = 0.5F, .forced_playouts = 2.0F};
  auto s = search_of(o);
  for (const int move : {0, 3, 1, 4}) s.play(0, move);  // 2 wins
  run(s, 0, 200, rng, true);
  std::vector<float> target(9);
  s.target(0, target);
  const float value = s.value(0, target);
  CHECK(target[2] > 0.8F);
  CHECK(s.tree(0).value() < 0.9F);
  CHECK(value > s.tree(0).value() + 0.05F);
  // By hand: the mean of the moves, each as often as the target names it.
  const Tree& tree = s.tree(0);
  const Node& n = tree.node(tree.root());
  const Columns c = tree.columns(n);
  double sum = 0.0;
  for (int i = 0; i < n.tried; ++i) {
    const auto move = static_cast<std::size_t>(key_move(tree.keys(n)[static_cast<std::size_t>(i)]));
    if (target[move] > 0.0F) sum += target[move] * c.sum[i] / static_cast<float>(c.visits[i]);
  }
  CHECK(value == doctest::Approx(sum));

  // That is what self-play records: where the target is one move, and that move wins, a won match.
  SelfPlayOf<T> play(Params(), o, {.slots = 8, .seed = 4}, {.kind = "uniform"});
  play.collect(80000);
  const MatchColumns g = play.take_matches();
  std::size_t ply = 0, pair = 0;
  int certain = 0;
  for (std::size_t i = 0; i < g.match.size(); ++i) {
    const auto count = static_cast<std::size_t>(g.plies[i]);
    for (std::size_t k = 0; k < count; ++k, ++ply) {
      const bool one = g.targets[ply] == 1 && g.target_move[pair] == g.action[ply];
      pair += g.targets[ply];
      if (!one || k + 1 < count || g.outcome[i] == 0.0F) continue;
      CHECK(g.value[ply] == 1.0F);
      ++certain;
    }
  }
  CHECK(certain > 20);

  // Proofs are worth what they prove.
  auto proving = search_of({.visits = 200, .solver = true});
  for (const int move : {0, 3, 1, 4}) proving.play(0, move);
  run(proving, 0, 200, rng);
  proving.target(0, target);
  CHECK(proving.value(0, target) == 1.0F);
  CHECK(target[2] == 1.0F);
}
