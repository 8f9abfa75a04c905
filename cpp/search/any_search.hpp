// Type-erased searches: what the Python bindings hold. Every call of one object comes
// from one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "game/spec.hpp"
#include "search/options.hpp"

namespace ludus {

// Who evaluates leaves.
struct EvaluatorOptions {
  std::string kind =
      "batch";       // batch, uniform, free (uniform, with the observation written), rollout
  int rollouts = 1;  // random matches a leaf
  std::uint64_t seed = 0;
  std::size_t cache = 0;  // positions that are remembered
};

// Results of a search for the legal moves of its root, in the order of their numbers.
struct RootReport {
  int seat = -1;
  std::int32_t visits = 0;
  float value = 0.0F;  // for `seat`
  std::vector<std::int32_t> move, move_visits;
  std::vector<float> prior, mean, policy;  // policy: as a target to learn
};

// A move of a continuation, and how often it was tried there.
struct LineMove {
  std::int32_t move = 0, visits = 0;
};

class AnySearch {
 public:
  virtual ~AnySearch() = default;
  [[nodiscard]] virtual const GameSpec& spec() const = 0;
  [[nodiscard]] virtual int slots() const = 0;
  [[nodiscard]] virtual bool instant() const = 0;
  virtual void attach(std::span<std::byte* const> base, int rows) = 0;
  virtual void reset(int slot, MatchSeed seed) = 0;
  virtual bool set_state(int slot, std::span<const std::byte> state) = 0;
  [[nodiscard]] virtual std::span<const std::byte> state(int slot) const = 0;
  virtual void begin(int slot, int visits, bool noise, std::uint64_t seed) = 0;
  virtual void stop(int slot) = 0;
  // Search::restrict. Throws SearchError for a seat, a depth or a length that the game has not.
  virtual void restrict(int slot, int seat, std::span<const std::uint8_t> barred, int depth) = 0;
  [[nodiscard]] virtual bool done(int slot) const = 0;
  // Simulates every started slot in turn until each has its leaves in the batch (or is done, or,
  // with an instant evaluator, has had `rounds` simulations). Number of leaves that wait.
  virtual int collect(int rounds) = 0;
  virtual void deliver(const float* policy, const float* value) = 0;
  virtual void play(int slot, int move) = 0;
  [[nodiscard]] virtual int choose(int slot, float temperature) = 0;
  [[nodiscard]] virtual RootReport report(int slot) const = 0;
  // The most visited moves from `move` on (-1: from the root).
  [[nodiscard]] virtual std::vector<LineMove> line(int slot, int move, int most) const = 0;
  [[nodiscard]] virtual bool over(int slot) const = 0;
  [[nodiscard]] virtual std::vector<float> outcome(int slot) const = 0;
  [[nodiscard]] virtual bool consistent(int slot) const = 0;
  [[nodiscard]] virtual std::uint64_t simulations() const = 0;
  [[nodiscard]] virtual std::array<std::uint64_t, 2> cache_counts() = 0;
  virtual void forget() = 0;
};

struct SelfPlayOptions {
  int slots = 64;
  std::uint64_t seed = 0;
  std::uint64_t first = 0, stride = 1;  // numbers of its matches: first, first + stride, ...
  float temperature = 1.0F;
  int temperature_plies = 30;    // ELF OpenGo, AlphaGo Zero
  float temperature_end = 0.0F;  // afterwards; 0 = the most visited move
  // Playout-cap randomisation (Wu 2019, section 3.1): this share of the moves is searched in full
  // and recorded as a target; the others have `cheap_visits` and no noise.
  float full_share = 1.0F;
  int cheap_visits = 0;
  // A seat resigns when its search value is below this, except in `never_resign_share` of the
  // matches, from which the threshold is calibrated. -1 = no one resigns.
  float resign_below = -1.0F;
  float never_resign_share = 0.1F;
  int resign_plies = 0;  // no one resigns before
  int max_plies = 1 << 15;
  // This share of the matches starts with 1 to `random_plies` random moves, which are not trained
  // on: positions that good play never leads to are seen too.
  float random_share = 0.0F;
  int random_plies = 0;
  // This share of the matches ends where a search has proven its root, with the proven outcome: the
  // rest is known. The other matches are played to their end.
  float proven_share = 0.0F;
};

inline void validate(const SelfPlayOptions& o) {
  const auto within = [](const char* name, double value, double low, double high) {
    if (value >= low && value <= high) return;
    throw SearchError(std::string("self-play: ") + name + " = " + std::to_string(value) +
                      ", expected " + std::to_string(low) + " to " + std::to_string(high));
  };
  within("temperature", o.temperature, 0, 100);
  within("temperature_end", o.temperature_end, 0, 100);
  within("temperature_plies", o.temperature_plies, 0, 1 << 20);
  within("full_share", o.full_share, 0, 1);
  within("cheap_visits", o.cheap_visits, 0, 1 << 24);
  within("resign_below", o.resign_below, -1, 1);
  within("never_resign_share", o.never_resign_share, 0, 1);
  within("resign_plies", o.resign_plies, 0, 1 << 20);
  within("max_plies", o.max_plies, 1, 1 << 20);
  within("random_share", o.random_share, 0, 1);
  within("random_plies", o.random_plies, 0, 1 << 15);
  within("proven_share", o.proven_share, 0, 1);
  within("stride", static_cast<double>(o.stride), 1, 1 << 20);
}

// Finished matches, column by column, in the order of matches and plies: `plies[i]` is the number
// of plies of match i, `targets[j]` the number of pairs of ply j.
struct MatchColumns {
  std::vector<std::uint64_t> match;
  std::vector<std::int32_t> plies;
  std::vector<float> outcome;  // for seat 0: +1, 0, -1
  std::vector<std::uint8_t> resigned, never_resign;
  std::vector<float> lowest_winner;  // the lowest value that the winner's searches said; 1 if drawn
  // One a ply:
  std::vector<std::uint16_t> action;
  std::vector<std::uint8_t> seat, full;  // full: searched in full, its policy is to be learned
  std::vector<float> value;            // of the search under its target, for the seat that decided
  std::vector<std::int32_t> version;   // of the weights that evaluated
  std::vector<std::uint16_t> targets;  // how many moves its policy names; 0 unless full
  // One a move of a policy:
  std::vector<std::uint16_t> target_move, target_share;  // share of 65535

  void append(const MatchColumns& o) {
    const auto join = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    join(match, o.match), join(plies, o.plies), join(outcome, o.outcome);
    join(resigned, o.resigned), join(never_resign, o.never_resign);
    join(lowest_winner, o.lowest_winner), join(action, o.action), join(seat, o.seat);
    join(full, o.full), join(value, o.value), join(version, o.version);
    join(targets, o.targets), join(target_move, o.target_move);
    join(target_share, o.target_share);
  }
  void clear_plies() {
    action.clear(), seat.clear(), full.clear(), value.clear(), version.clear();
    targets.clear(), target_move.clear(), target_share.clear();
  }
};

class AnySelfPlay {
 public:
  virtual ~AnySelfPlay() = default;
  [[nodiscard]] virtual const GameSpec& spec() const = 0;
  [[nodiscard]] virtual int slots() const = 0;
  virtual void attach(std::span<std::byte* const> base, int rows) = 0;
  // Plays until every slot has a leaf in the batch; with an instant evaluator, `rounds` simulations
  // a slot. Number of rows that wait.
  virtual int collect(int rounds) = 0;
  virtual void deliver(const float* policy, const float* value) = 0;
  // From here on leaves are evaluated by other weights; caches forget.
  virtual void set_version(std::int32_t version) = 0;
  virtual void set_resign(float below) = 0;
  virtual MatchColumns take_matches() = 0;
  [[nodiscard]] virtual std::uint64_t simulations() const = 0;
  [[nodiscard]] virtual std::uint64_t moves() const = 0;
  [[nodiscard]] virtual std::array<std::uint64_t, 2> cache_counts() = 0;
};

// Which positions of one match are wanted. `wanted` rises; `rows[i]` is the row of wanted[i].
struct WantedPositions {
  MatchSeed seed;
  std::span<const std::uint16_t> actions;
  std::span<const std::int32_t> wanted;  // plies: 0 = before the first move
  std::span<const std::int32_t> rows;
};

// Leads to positions of recorded matches.
class AnyPositions {
 public:
  virtual ~AnyPositions() = default;
  [[nodiscard]] virtual const GameSpec& spec() const = 0;
  // Writes the observation of the deciding seat at each wanted position: tensor i of row r at
  // base[i] + r * bytes, and the legal moves at mask + r * choices. Throws SearchError if the
  // moves do not form a match of this game.
  virtual void read(const WantedPositions& wanted, std::span<std::byte* const> base,
                    std::uint8_t* mask) = 0;
  // Plays a recorded match to its last move: final ownership and score as G::final_score of
  // game/state.hpp gives them; nullopt if a seat resigned or the match was cut off. Throws
  // SearchError if the game has no final score, and like `read`.
  virtual std::optional<float> final_score(MatchSeed seed, std::span<const std::uint16_t> actions,
                                           std::span<std::int8_t> owner) = 0;
};

// Search for one seat among bots; see search/planner.hpp.
struct PlannerOptions {
  int trees = 8;  // ELF, table 7
  int rollouts = 100;
  int frame_skip = 50;  // ticks between two decisions of the seat
  int opponent = 0;     // bot of the other seats
  int opponent_skip = 50;
  float explore = 0.0F;  // weight of UCB's term; ELF's default has none
  // Bot that plays the seat in rollouts, for this share of the decisions; -1 = uniformly random
  // choices, as in ELF.
  int guide = -1;
  float guide_share = 1.0F;
  float draw = 0.5F;  // what a rollout without a winner counts; 0 in ELF
  // Each rollout draws its own weights over the choices, exponential draws to this power (1 =
  // uniform in the simplex): a rollout that keeps to a few choices is more of a plan than one that
  // tries all of them. 0 = equal weights, as in ELF.
  float bias = 0.0F;
  bool keep_wins = false;  // the first rollout that wins is followed, without a search
  double seconds = 0.0;    // of a decision, 0 = no limit; each tree has its share and one rollout
  int threads = 1;
};

inline void validate(const PlannerOptions& o, const GameSpec& spec) {
  const auto within = [](const char* name, double value, double low, double high) {
    if (value >= low && value <= high) return;
    throw SearchError(std::string("planner: ") + name + " = " + std::to_string(value) +
                      ", expected " + std::to_string(low) + " to " + std::to_string(high));
  };
  within("trees", o.trees, 1, 4096);
  within("rollouts", o.rollouts, 1, 1 << 20);
  within("frame_skip", o.frame_skip, 1, 1 << 20);
  within("opponent_skip", o.opponent_skip, 1, 1 << 20);
  within("explore", static_cast<double>(o.explore), 0, 1000);
  within("threads", o.threads, 1, 1024);
  if (spec.bots.empty()) throw SearchError(spec.name + " has no bots to plan against");
  within("opponent", o.opponent, 0, static_cast<double>(spec.bots.size() - 1));
  within("guide", o.guide, -1, static_cast<double>(spec.bots.size() - 1));
  within("guide_share", static_cast<double>(o.guide_share), 0, 1);
  within("draw", static_cast<double>(o.draw), 0, 1);
  within("bias", static_cast<double>(o.bias), 0, 10);
  within("seconds", o.seconds, 0, 86400);
  if (o.keep_wins && o.guide >= 0) {
    throw SearchError(
        "planner: keep_wins wants rollouts of the seat's own choices, without a guide");
  }
  if (spec.heads.size() != 1) throw SearchError(spec.name + ": planning wants one head");
  if (spec.max_ticks == 0) throw SearchError(spec.name + ": a match may never end");
}

struct PlanReport {
  int choice = 0;
  std::vector<std::int32_t> visits;  // a choice of the head
  std::vector<float> mean;           // share of rollouts won
  std::uint64_t ticks = 0;           // simulated
};

class AnyPlanner {
 public:
  virtual ~AnyPlanner() = default;
  [[nodiscard]] virtual const GameSpec& spec() const = 0;
  // The best choice of `seat` at a state of a pool of the same game and parameters.
  virtual PlanReport plan(std::span<const std::byte> state, int seat, std::uint64_t seed) = 0;
};

}  // namespace ludus
