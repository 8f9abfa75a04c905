// AnyGame for one game type. Include it in exactly one file a game (host/games/NAME.cpp, or the one
// source of a module outside this tree): everything that is a template over games is compiled
// there.
#pragma once

#include "game/perft.hpp"
#include "game/playthrough.hpp"
#include "host/any_game.hpp"
#include "pool/pool.hpp"
#include "search/planner.hpp"
#include "search/positions.hpp"
#include "search/self_play.hpp"

namespace ludus {

template <Game G>
class GameHost final : public AnyGame {
 public:
  std::string name() const override { return G::kName; }
  GameSpec spec(const Params& params) const override { return G::spec(G::make_rules(params)); }

  std::uint64_t perft(const Params& params, MatchSeed seed, int frame_skip,
                      int depth) const override {
    return ludus::perft<G>(params, seed, frame_skip, depth);
  }
  std::string playthrough(const Params& params, MatchSeed seed, std::span<const SeatDriver> drivers,
                          int steps) const override {
    return ludus::playthrough<G>(params, seed, drivers, steps);
  }
  std::uint64_t signature() const override { return game_signature<G>(); }
  Findings conformance(const Params& params, MatchSeed first, int matches,
                       std::uint32_t max_ticks) const override {
    return Conformance<G>(params, first.seed, max_ticks).run(matches, first.match);
  }
  BenchResult bench(const Params& params, const std::vector<SeatDriver>& drivers, int threads,
                    int matches, std::uint64_t ticks, std::uint64_t seed) const override {
    return bench_sim<G>(params, drivers, threads, matches, ticks, seed);
  }

  RolloutBench bench_rollouts(const Params& params, std::uint64_t rollouts,
                              std::uint64_t seed) const override {
    return ludus::bench_rollouts<G>(params, rollouts, seed);
  }

  std::unique_ptr<AnyMatch> match(const Params& params, MatchSeed seed,
                                  bool record) const override {
    return std::make_unique<MatchOf<G>>(params, seed, record);
  }
  Replay record(const Params& params, MatchSeed seed, std::span<const SeatDriver> drivers,
                std::uint32_t hash_every, std::uint32_t max_ticks) const override {
    MatchContext<G> context(params);
    return record_match<G>(context, params, seed, drivers, hash_every, max_ticks);
  }
  ReplayCheck verify(const Replay& replay) const override { return replay_verify<G>(replay); }
  std::vector<std::string> frames(const Replay& replay, std::uint32_t every) const override {
    return replay_frames<G>(replay, every);
  }
  std::vector<SeatRows> rows(const Replay& replay,
                             const std::map<std::string, std::string>& changed,
                             std::span<const int> seats) const override {
    return replay_rows<G>(replay, changed, seats);
  }

  std::unique_ptr<AnyPool> pool(const Params& params, const PoolOptions& options) const override {
    return std::make_unique<Pool<G>>(params, options);
  }

  std::unique_ptr<AnySearch> search(const Params& params, const SearchOptions& options,
                                    const EvaluatorOptions& evaluator, int slots) const override {
    return std::make_unique<SearchOf<G>>(params, options, evaluator, slots);
  }
  std::unique_ptr<AnySelfPlay> self_play(const Params& params, const SearchOptions& search,
                                         const SelfPlayOptions& options,
                                         const EvaluatorOptions& evaluator) const override {
    return std::make_unique<SelfPlayOf<G>>(params, search, options, evaluator);
  }
  std::unique_ptr<AnyPositions> positions(const Params& params) const override {
    return std::make_unique<PositionReader<G>>(params);
  }
  std::unique_ptr<AnyPlanner> planner(const Params& params,
                                      const PlannerOptions& options) const override {
    return std::make_unique<PlannerOf<G>>(params, options);
  }
};

template <Game G>
const AnyGame& host_of() {
  static const GameHost<G> host;
  return host;
}

}  // namespace ludus
