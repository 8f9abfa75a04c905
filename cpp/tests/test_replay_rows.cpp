// Decisions of recorded matches as rows.
#include <cstring>

#include "game/mask.hpp"
#include "game/replay_rows.hpp"
#include "host/builtin.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

constexpr int kTicks = 400;

// A match of every kind of decision: bots and random legal actions, at due ticks only.
Replay recorded(const AnyGame& game, const Params& params, std::uint64_t seed) {
  const std::unique_ptr<AnyMatch> match = game.match(params, {seed, 2}, true);
  const GameSpec& spec = match->spec();
  const MaskLayout layout(spec);
  Rng rng({seed, 0}, 1);
  const auto skip = static_cast<std::uint32_t>(spec.turn_based ? 1 : spec.default_frame_skip);
  while (!match->status().over && match->tick() < kTicks) {
    for (int seat = 0; seat < spec.seats; ++seat) {
      if ((match->to_act() >> seat & 1U) == 0 || match->tick() % skip != 0) continue;
      if (!spec.bots.empty() && rng.below(2) == 0) {
        match->bot(seat, static_cast<int>(rng.below(static_cast<std::uint32_t>(spec.bots.size()))));
        continue;
      }
      std::vector<std::int32_t> action(spec.heads.size());
      layout.draw(match->legal(seat).data(), rng, action);
      match->act(seat, action);
    }
    match->advance();
  }
  return match->replay({});
}

template <class T>
std::vector<T> row(const std::vector<T>& all, std::size_t i, std::size_t n) {
  return {all.begin() + static_cast<std::ptrdiff_t>(i * n),
          all.begin() + static_cast<std::ptrdiff_t>((i + 1) * n)};
}

TEST_CASE("replay rows: they show what the match has shown, for every game") {
  for (const AnyGame* game : builtin_games().all()) {
    INFO(game->name());
    const Replay r = recorded(*game, {}, 5);
    const std::vector<SeatRows> read = game->rows(r, {}, {});
    const std::unique_ptr<AnyMatch> match = game->match({}, r.seed);
    const GameSpec& spec = match->spec();
    REQUIRE(read.size() == static_cast<std::size_t>(spec.seats));
    const std::size_t heads = spec.heads.size();
    std::vector<std::size_t> made(read.size());
    std::size_t action = 0;
    std::size_t next = 0;
    for (std::uint32_t tick = 0; tick < r.ticks; ++tick) {
      const std::size_t first = next;
      for (; next < r.decisions.size() && r.decisions[next].tick == tick; ++next) {
        const auto seat = static_cast<std::size_t>(r.decisions[next].seat);
        const SeatRows& mine = read[seat];
        const std::size_t i = made[seat]++;
        REQUIRE(i < mine.tick.size());
        CHECK(mine.tick[i] == static_cast<std::int32_t>(tick));
        CHECK(row(mine.mask, i, spec.mask_bytes()) == match->legal(static_cast<int>(seat)));
        const auto seen = match->observe(static_cast<int>(seat));
        for (std::size_t t = 0; t < seen.size(); ++t) {
          const auto bytes = row(mine.obs[t], i, seen[t].size());
          CHECK(std::memcmp(bytes.data(), seen[t].data(), bytes.size()) == 0);
        }
        if (r.decisions[next].bot >= 0) continue;
        CHECK(row(mine.actions, i, heads) ==
              std::vector<std::int32_t>(
                  r.actions.begin() + static_cast<std::ptrdiff_t>(action),
                  r.actions.begin() + static_cast<std::ptrdiff_t>(action + heads)));
        CHECK(mine.shown[i] == 1);
        action += heads;
      }
      std::size_t a = action;
      for (std::size_t d = first; d < next; ++d) a -= r.decisions[d].bot < 0 ? heads : 0;
      for (std::size_t d = first; d < next; ++d) {
        if (r.decisions[d].bot >= 0) {
          match->bot(r.decisions[d].seat, r.decisions[d].bot);
          continue;
        }
        match->act(r.decisions[d].seat, std::span(r.actions).subspan(a, heads));
        a += heads;
      }
      match->advance();
    }
    for (std::size_t s = 0; s < read.size(); ++s) CHECK(made[s] == read[s].tick.size());
    CHECK(match->hash() == r.final_hash);
  }
}

TEST_CASE(
    "replay rows: one seat's are the same as among all, and rewards reach the last decision") {
  const AnyGame& game = builtin_games().at("tic_tac_toe");
  const Replay r = recorded(game, {}, 7);
  REQUIRE(r.over);
  const std::vector<SeatRows> all = game.rows(r, {}, {});
  const std::array<int, 1> second = {1};
  const std::vector<SeatRows> one = game.rows(r, {}, second);
  REQUIRE(one.size() == 1);
  CHECK(one[0].seat == 1);
  CHECK(one[0].obs == all[1].obs);
  CHECK(one[0].actions == all[1].actions);
  for (const SeatRows& seat : all) {
    float sum = 0.0F;
    for (const float x : seat.reward) sum += x;
    CHECK(sum == r.outcome[static_cast<std::size_t>(seat.seat)]);
    CHECK(seat.reward.back() == sum);
  }
}

std::string refusal(const AnyGame& game, const Replay& r,
                    const std::map<std::string, std::string>& changed = {}, int seat = 0) {
  const std::array<int, 1> seats = {seat};
  try {
    (void)game.rows(r, changed, seats);
  } catch (const ReplayError& e) {
    return std::string("ReplayError ") + e.what();
  } catch (const ParamError& e) {
    return std::string("ParamError ") + e.what();
  }
  return "";
}

TEST_CASE("replay rows: what does not come out as recorded is refused, with its place") {
  const AnyGame& game = builtin_games().at("tic_tac_toe");
  Replay good = recorded(game, {}, 9);
  CHECK(refusal(game, good) == "");
  Replay bad = good;
  bad.hashes[0] ^= 1;
  CHECK(refusal(game, bad) == "ReplayError replay: the state hash differs after tick 0");
  bad = good;
  bad.final_hash ^= 1U << 5;
  CHECK(refusal(game, bad).find("the final state hash differs") != std::string::npos);
  bad = good;
  ++bad.version;
  CHECK(refusal(game, bad).find("this build plays version") != std::string::npos);
  bad = good;
  bad.game = "go";
  CHECK(refusal(game, bad) == "ReplayError replay: recorded for go, not tic_tac_toe");
  CHECK(refusal(game, good, {{"open", "random"}}).starts_with("ParamError"));
  CHECK(refusal(game, good, {}, 2) == "ParamError tic_tac_toe: no seat 2, expected 0 to 1");
  bad = good;
  bad.params["opens"] = "nonsense";
  CHECK(refusal(game, bad, {{"opens", "random"}}).starts_with("ReplayError"));
}

TEST_CASE("replay rows: more than a gigabyte is refused before any of it is read") {
  const AnyGame& game = builtin_games().at("go");
  Replay r = recorded(game, {{"size", "19"}}, 3);
  r.decisions.resize(3'000'000, {.tick = 0, .seat = 0, .bot = 0});
  CHECK(refusal(game, r).find("read fewer seats at once") != std::string::npos);
}

TEST_CASE("replay rows: a match is read under other features than it was recorded with") {
  const AnyGame& game = builtin_games().at("go");
  const Replay r = recorded(game, {{"size", "5"}}, 3);
  const std::vector<SeatRows> plain = game.rows(r, {}, {});
  const std::vector<SeatRows> rich = game.rows(r, {{"features", "rich"}}, {});
  CHECK(plain[0].actions == rich[0].actions);
  CHECK(plain[0].mask == rich[0].mask);
  CHECK(plain[0].obs != rich[0].obs);
  CHECK(refusal(game, r, {{"size", "6"}}) != "");
}

}  // namespace
}  // namespace ludus
