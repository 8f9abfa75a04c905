// Every column that self-play records, computed again from the others: matches are led to by their
// moves, and each position is searched again.
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "search/self_play.hpp"
#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"

using namespace ludus;
using namespace ludus::tests;

namespace {

constexpr SelfPlayOptions kPlay{.slots = 4,
                                .seed = 17,
                                .first = 3,
                                .stride = 5,
                                .temperature = 0.0F,
                                .temperature_end = 0.0F,
                                .full_share = 0.6F,
                                .cheap_visits = 9,
                                .resign_below = -0.35F,
                                .never_resign_share = 0.4F,
                                .resign_plies = 3};
constexpr SearchOptions kSearch{.visits = 40, .fpu_reduction = 0.1F, .reuse_tree = false};
constexpr std::uint64_t kMatchStream = 0x73656c66;

struct Tally {
  int resigned = 0, spared = 0, played = 0, cheap = 0, full = 0;
};

// One match of the record: `g` has it at [ply, ply + plies) and its targets from `pair` on.
class Replayer {
 public:
  explicit Replayer(const MatchColumns& g) : g_(g), s_(Params(), kSearch, 1, kSearch.visits) {
    s_.set_evaluator(std::make_unique<UniformEvaluator<T>>(s_.spec(), false));
  }
  std::size_t ply = 0, pair = 0;
  Tally tally;

  void match(std::size_t i) {
    Rng rng({kPlay.seed, g_.match[i]}, kMatchStream);
    s_.reset(0, {kPlay.seed, g_.match[i]});
    const bool never = rng.uniform() < static_cast<double>(kPlay.never_resign_share);
    CHECK(g_.never_resign[i] == (never ? 1 : 0));
    std::array<float, 2> lowest{1.0F, 1.0F};
    const std::size_t end = ply + static_cast<std::size_t>(g_.plies[i]);
    for (int number = 0; ply < end; ++ply, ++number) {
      REQUIRE_FALSE(s_.status(0).over);
      const float value = search(rng);
      check_ply(value);
      const auto seat = static_cast<std::size_t>(s_.seat(0));
      lowest[seat] = std::min(lowest[seat], value);
      if (value < kPlay.resign_below && number >= kPlay.resign_plies) {
        CHECK(never);
        ++tally.spared;
      }
      s_.play(0, g_.action[ply]);
    }
    finish(i, rng, lowest, never);
  }

 private:
  // As self-play searches the next position; its value under its target.
  float search(Rng& rng) {
    full_ = rng.uniform() < static_cast<double>(kPlay.full_share);
    run(s_, 0, full_ ? kSearch.visits : kPlay.cheap_visits, rng);
    s_.target(0, target_);
    return s_.value(0, target_);
  }
  void check_ply(float value) {
    CHECK(g_.seat[ply] == s_.seat(0));
    CHECK(g_.full[ply] == (full_ ? 1 : 0));
    CHECK(g_.value[ply] == value);
    Rng unused;
    CHECK(g_.action[ply] == s_.choose(0, 0.0F, unused));
    ++(full_ ? tally.full : tally.cheap);
    std::array<std::uint16_t, 9> named{};
    for (int t = 0; t < g_.targets[ply]; ++t, ++pair) {
      REQUIRE(g_.target_share[pair] > 0);
      named[g_.target_move[pair]] = g_.target_share[pair];
    }
    for (std::size_t m = 0; m < 9; ++m) {
      CHECK(named[m] == (full_ ? std::lround(target_[m] * 65535.0F) : 0));
    }
  }
  void finish(std::size_t i, Rng& rng, std::array<float, 2> lowest, bool never) {
    float outcome = 0.0F;
    if (s_.status(0).over) {
      std::array<float, 2> out{};
      T::outcome(s_.rules(), s_.state(0), out);
      outcome = out[0];
      CHECK(g_.resigned[i] == 0);
      ++tally.played;
    } else {  // the seat to move has resigned
      CHECK(search(rng) < kPlay.resign_below);
      CHECK_FALSE(never);
      CHECK(g_.plies[i] >= kPlay.resign_plies);
      outcome = s_.seat(0) == 0 ? -1.0F : 1.0F;
      CHECK(g_.resigned[i] == 1);
      ++tally.resigned;
    }
    CHECK(g_.outcome[i] == outcome);
    CHECK(g_.lowest_winner[i] == (outcome == 0.0F ? 1.0F : lowest[outcome > 0.0F ? 0 : 1]));
  }

  const MatchColumns& g_;
  Search<T> s_;
  std::array<float, 9> target_{};
  bool full_ = false;
};

}  // namespace

TEST_CASE("self-play: every column is what the moves and a search of each position say") {
  SelfPlayOf<T> play(Params(), kSearch, kPlay, {.kind = "uniform"});
  MatchColumns g;
  for (std::int32_t version = 5; version < 9; ++version) {
    play.set_version(version);
    play.collect(3000);
    const MatchColumns part = play.take_matches();
    REQUIRE(part.match.size() > 20);
    for (const std::int32_t v : part.version) CHECK((v == version || v == version - 1));
    CHECK(part.version.front() == (version == 5 ? 5 : version - 1));
    CHECK(part.version.back() == version);
    g.append(part);
  }
  Replayer replayer(g);
  std::set<std::uint64_t> matches;
  std::size_t plies = 0;
  for (std::size_t i = 0; i < g.match.size(); ++i) {
    CHECK(g.match[i] % kPlay.stride == kPlay.first);
    CHECK(matches.insert(g.match[i]).second);
    replayer.match(i);
    plies += static_cast<std::size_t>(g.plies[i]);
    for (std::size_t k = plies - static_cast<std::size_t>(g.plies[i]) + 1; k < plies; ++k) {
      CHECK(g.version[k] >= g.version[k - 1]);
    }
  }
  CHECK(plies == g.action.size());
  CHECK(replayer.ply == plies);
  CHECK(replayer.pair == g.target_move.size());
  const Tally& t = replayer.tally;
  for (const int count : {t.resigned, t.spared, t.played, t.cheap, t.full}) CHECK(count > 10);
}
