// A game behind one interface: everything that can be done with a game whose name is only known at
// run time. The templates of game/, pool/ and search/ are compiled once a game, behind these
// functions, and not once for each place that uses them. GameHost<G> (host/game_host.hpp) fills it
// in.
//
// No virtual call happens per tick or time step: a pool, a bench or a replay is one call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/names.hpp"
#include "game/any_match.hpp"
#include "game/bench.hpp"
#include "game/conformance.hpp"
#include "game/game_list.hpp"
#include "game/replay_rows.hpp"
#include "pool/any_pool.hpp"
#include "search/any_search.hpp"

namespace ludus {

// Everything takes the parameters of the rules and throws ParamError where they make no sense;
// what takes a Replay throws ReplayError where the replay was not recorded by these rules.
class AnyGame {
 public:
  virtual ~AnyGame() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual GameSpec spec(const Params& params) const = 0;

  // See game/perft.hpp, playthrough.hpp, conformance.hpp, bench.hpp.
  [[nodiscard]] virtual std::uint64_t perft(const Params& params, MatchSeed seed, int frame_skip,
                                            int depth) const = 0;
  [[nodiscard]] virtual std::string playthrough(const Params& params, MatchSeed seed,
                                                std::span<const SeatDriver> drivers,
                                                int steps) const = 0;
  [[nodiscard]] virtual std::uint64_t signature() const = 0;
  [[nodiscard]] virtual Findings conformance(const Params& params, MatchSeed first, int matches,
                                             std::uint32_t max_ticks) const = 0;
  [[nodiscard]] virtual BenchResult bench(const Params& params,
                                          const std::vector<SeatDriver>& drivers, int threads,
                                          int matches, std::uint64_t ticks,
                                          std::uint64_t seed) const = 0;

  [[nodiscard]] virtual RolloutBench bench_rollouts(const Params& params, std::uint64_t rollouts,
                                                    std::uint64_t seed) const = 0;

  // See game/any_match.hpp, match.hpp and replay_run.hpp.
  [[nodiscard]] virtual std::unique_ptr<AnyMatch> match(const Params& params, MatchSeed seed,
                                                        bool record = false) const = 0;
  [[nodiscard]] virtual Replay record(const Params& params, MatchSeed seed,
                                      std::span<const SeatDriver> drivers, std::uint32_t hash_every,
                                      std::uint32_t max_ticks = 0) const = 0;
  [[nodiscard]] virtual ReplayCheck verify(const Replay& replay) const = 0;
  [[nodiscard]] virtual std::vector<std::string> frames(const Replay& replay,
                                                        std::uint32_t every) const = 0;
  // See game/replay_rows.hpp: no seats = all.
  [[nodiscard]] virtual std::vector<SeatRows> rows(
      const Replay& replay, const std::map<std::string, std::string>& changed,
      std::span<const int> seats) const = 0;

  [[nodiscard]] virtual std::unique_ptr<AnyPool> pool(const Params& params,
                                                      const PoolOptions& options) const = 0;

  // See search/any_search.hpp. They throw SearchError for a game that cannot be searched.
  [[nodiscard]] virtual std::unique_ptr<AnySearch> search(const Params& params,
                                                          const SearchOptions& options,
                                                          const EvaluatorOptions& evaluator,
                                                          int slots) const = 0;
  [[nodiscard]] virtual std::unique_ptr<AnySelfPlay> self_play(
      const Params& params, const SearchOptions& search, const SelfPlayOptions& options,
      const EvaluatorOptions& evaluator) const = 0;
  [[nodiscard]] virtual std::unique_ptr<AnyPositions> positions(const Params& params) const = 0;
  [[nodiscard]] virtual std::unique_ptr<AnyPlanner> planner(
      const Params& params, const PlannerOptions& options) const = 0;
};

// The one AnyGame of a game type. Defined in host/game_host.hpp and instantiated in one file a
// game.
template <Game G>
[[nodiscard]] const AnyGame& host_of();

// Games by name, in a fixed order. The games outlive it.
class GameSet {
 public:
  explicit GameSet(std::vector<const AnyGame*> games) : games_(std::move(games)) {}

  template <class Games>
  [[nodiscard]] static GameSet of() {
    std::vector<const AnyGame*> games;
    Games::for_each([&]<class G>() { games.push_back(&host_of<G>()); });
    return GameSet(std::move(games));
  }

  [[nodiscard]] std::span<const AnyGame* const> all() const { return games_; }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const AnyGame* g : games_) names.push_back(g->name());
    return names;
  }

  // Throws ParamError with the nearest name.
  [[nodiscard]] const AnyGame& at(std::string_view name) const {
    for (const AnyGame* g : games_) {
      if (g->name() == name) return *g;
    }
    throw ParamError("unknown game '" + std::string(name.substr(0, 80)) + "'" +
                     did_you_mean(std::string(name), names()));
  }

  // One number for the behaviour of all games, names and versions included.
  [[nodiscard]] std::uint64_t signature() const {
    Hash64 h;
    for (const AnyGame* g : games_) {
      const std::string name = g->name();
      h.add_bytes(name.data(), name.size());
      h.add(g->signature());
    }
    return h.value();
  }

 private:
  std::vector<const AnyGame*> games_;
};

}  // namespace ludus
