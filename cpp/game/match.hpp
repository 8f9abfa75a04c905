// One match of bots against bots (or of random legal decisions), driven exactly as the pool drives
// it. For tests, tools, benchmarks and digests; the pool itself lives in pool/.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "game/mask.hpp"
#include "game/replay.hpp"

namespace ludus {

// Who decides for a seat, and how often.
struct SeatDriver {
  int bot = -1;        // index into GameSpec::bots, or -1 = uniformly random legal actions
  int frame_skip = 1;  // ticks between two decisions: due when tick % frame_skip == 0
};

// Index of a bot by name; "uniform" is -1, random legal actions through G::act. Throws ParamError.
[[nodiscard]] inline int bot_index(const GameSpec& spec, const std::string& name) {
  std::vector<std::string> valid;
  for (const BotSpec& b : spec.bots) valid.push_back(b.name);
  valid.emplace_back("uniform");
  const auto it = std::ranges::find(valid, name);
  if (it == valid.end()) {
    throw ParamError(spec.name + ": unknown bot '" + name + "'" + did_you_mean(name, valid));
  }
  const auto i = static_cast<int>(it - valid.begin());
  return i == static_cast<int>(spec.bots.size()) ? -1 : i;
}

// Drivers by the names of their bots; one name or frame skip stands for all seats, no frame skip
// for the game's own. Throws ParamError.
[[nodiscard]] inline std::vector<SeatDriver> seat_drivers(const GameSpec& spec,
                                                          const std::vector<std::string>& bots,
                                                          const std::vector<int>& frame_skip) {
  const auto seats = static_cast<std::size_t>(spec.seats);
  if (bots.size() != seats && bots.size() != 1) {
    throw ParamError(spec.name + ": " + std::to_string(bots.size()) + " bots for " +
                     std::to_string(seats) + " seats");
  }
  if (frame_skip.size() > 1 && frame_skip.size() != seats) {
    throw ParamError(spec.name + ": " + std::to_string(frame_skip.size()) + " frame skips for " +
                     std::to_string(seats) + " seats");
  }
  std::vector<SeatDriver> drivers;
  for (std::size_t s = 0; s < seats; ++s) {
    const int skip = frame_skip.empty()       ? spec.default_frame_skip
                     : frame_skip.size() == 1 ? frame_skip[0]
                                              : frame_skip[s];
    if (skip < 1 || skip > 1'000'000) {
      throw ParamError(spec.name + ": frame skip " + std::to_string(skip) +
                       ": expected an integer in [1, 1000000]");
    }
    drivers.push_back({bot_index(spec, bots.size() == 1 ? bots[0] : bots[s]), skip});
  }
  return drivers;
}

// Rules, spec and scratch of one game, shared by the matches of one thread.
template <Game G>
struct MatchContext {
  typename G::Rules rules;
  GameSpec spec;
  std::vector<std::uint8_t> mask;
  MaskLayout layout;

  explicit MatchContext(const Params& params)
      : rules(G::make_rules(params)), spec(G::spec(rules)), mask(spec.mask_bytes()), layout(spec) {}

  // One uniform draw among the legal choices of every head.
  void random_action(const typename G::State& state, int seat, Rng& rng,
                     std::array<std::int32_t, kMaxHeads>& action) {
    G::legal(rules, state, seat, mask.data());
    layout.draw(mask.data(), rng, std::span(action).first(spec.heads.size()));
  }
};

// Stream of the decisions that "uniform" draws; games use low numbers for their own.
inline constexpr std::uint64_t kUniformStream = 0x756e69;

// Lets every due seat decide; returns the number of decisions. `play_bot(state, seat, bot)` makes
// a bot's decision.
template <Game G, class Play>
int decide(MatchContext<G>& c, typename G::State& state, std::span<const SeatDriver> drivers,
           Rng& rng, ReplayRecorder* recorder, const Play& play_bot) {
  const std::uint32_t tick = G::tick(state);
  const SeatMask seats = G::to_act(c.rules, state);
  int decisions = 0;
  for (int seat = 0; seat < static_cast<int>(drivers.size()); ++seat) {
    const SeatDriver& d = drivers[static_cast<std::size_t>(seat)];
    if ((seats >> seat & 1U) == 0) continue;
    if (tick % static_cast<std::uint32_t>(d.frame_skip) != 0) continue;
    ++decisions;
    if (d.bot >= 0) {
      play_bot(state, seat, d.bot);
      if (recorder != nullptr) recorder->bot(tick, seat, d.bot);
      continue;
    }
    std::array<std::int32_t, kMaxHeads> action{};
    c.random_action(state, seat, rng, action);
    const std::span<const std::int32_t> heads = std::span(action).first(c.spec.heads.size());
    G::act(c.rules, state, seat, heads);
    if (recorder != nullptr) recorder->action(tick, seat, heads);
  }
  return decisions;
}

template <Game G>
int decide(MatchContext<G>& c, typename G::State& state, std::span<const SeatDriver> drivers,
           Rng& rng, ReplayRecorder* recorder = nullptr) {
  return decide<G>(c, state, drivers, rng, recorder,
                   [&](typename G::State& s, int seat, int bot) { G::bot(c.rules, s, seat, bot); });
}

// Plays one match to its end (or to `max_ticks`, if not 0) and gives its replay.
template <Game G>
Replay record_match(MatchContext<G>& c, const Params& params, MatchSeed seed,
                    std::span<const SeatDriver> drivers, std::uint32_t hash_every,
                    std::uint32_t max_ticks = 0) {
  ReplayRecorder recorder;
  recorder.prepare(c.spec, params, hash_every, 1024, 8192);
  typename G::State state{};
  Rng rng(seed, kUniformStream);
  G::reset(c.rules, state, seed);
  recorder.start(seed, G::hash(c.rules, state));
  while (!G::status(c.rules, state).over && (max_ticks == 0 || G::tick(state) < max_ticks)) {
    decide<G>(c, state, drivers, rng, &recorder);
    G::advance(c.rules, state);
    recorder.advanced(G::tick(state), [&] { return G::hash(c.rules, state); });
  }
  std::vector<std::string> players;
  for (const SeatDriver& d : drivers) {
    players.push_back(d.bot < 0 ? "uniform" : c.spec.bots[static_cast<std::size_t>(d.bot)].name);
  }
  std::vector<float> outcome(drivers.size(), 0.0F);
  const bool over = G::status(c.rules, state).over;
  if (over) G::outcome(c.rules, state, outcome);
  return recorder.finish(G::tick(state), G::hash(c.rules, state), over, outcome,
                         std::move(players));
}

}  // namespace ludus
