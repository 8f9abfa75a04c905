// Lineup (which controller plays which seat) and options of a pool, as plain values. Bots are
// indices into GameSpec::bots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "game/game.hpp"
#include "pool/team_rewards.hpp"

namespace ludus {

// A pool was asked for something that makes no sense; a ValueError in Python.
struct PoolError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Who decides for a seat: a bot, a policy, or a bot whose decisions the rows of a policy id show
// (both are >= 0). The pool writes these decisions over the actions that it is given.
struct Controller {
  int bot = -1;
  int policy = -1;
  double weight = 1.0;
  std::string name = {};  // of a policy, for replays; empty = "policy:N"
};

struct SeatPlan {
  std::vector<Controller> controllers;
  int frame_skip = 0;  // ticks between decisions; 0 = the game's default
  int handover_bot = -1;
  std::uint32_t handover_ticks = 0;  // the bot plays k ticks, k ~ U{0..handover_ticks}
};

struct Lineup {
  std::vector<SeatPlan> plans;
  // Slot s seats plan p at seat (p + k) % seats, k the rotations that keep teams together in turn.
  bool rotate = true;
};

// [plan] the first plan of its team, or the plan itself: the plans of a team draw as one.
[[nodiscard]] inline std::vector<std::size_t> first_plans(std::size_t plans,
                                                          const std::vector<int>& teams) {
  std::vector<std::size_t> first;
  for (std::size_t p = 0; p < plans; ++p) {
    const auto mate = p < teams.size() ? std::ranges::find(teams, teams[p]) : teams.end();
    first.push_back(mate == teams.end() ? p : static_cast<std::size_t>(mate - teams.begin()));
  }
  return first;
}

enum class Autoreset : std::uint8_t { same_step, next_step, off };

// Which matches of a pool are recorded.
struct RecordChoice {
  bool all = false;
  std::vector<std::uint64_t> matches;  // sorted; used when not `all`
  std::uint32_t hash_every = 100;      // ticks

  [[nodiscard]] bool any() const { return all || !matches.empty(); }
  [[nodiscard]] bool wants(std::uint64_t match) const {
    return all || std::binary_search(matches.begin(), matches.end(), match);
  }
};

struct PoolOptions {
  Lineup lineup;
  int slots = 1;  // matches in parallel
  int groups = 1;
  int threads = 0;  // 0 = the caller's thread plays inside recv
  std::uint64_t seed = 0;
  std::uint64_t num_matches = kEndless;  // plays exactly the matches below this number
  Autoreset autoreset = Autoreset::same_step;
  std::uint32_t truncate_ticks = 0;  // 0 = never
  bool raise_errors = true;
  std::uint32_t inputs = ~std::uint32_t{0};  // bit i: tensor i is read
  RecordChoice record;
  double spirit = 0.0;  // at first; see team_rewards.hpp
  bool zero_sum = false;

  static constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();
};

inline constexpr int kMaxTensors = 32;
inline constexpr int kMaxPolicies = 4096;
inline constexpr int kMaxSlots = 1 << 24;
inline constexpr std::uint32_t kMaxFrameSkip = 1U << 20;

// [policy id below `policies`] the bot that decides for its rows, or -1.
[[nodiscard]] inline std::vector<int> demonstrators(const Lineup& lineup, int policies) {
  std::vector<int> bots(static_cast<std::size_t>(policies), -1);
  for (const SeatPlan& plan : lineup.plans) {
    for (const Controller& c : plan.controllers) {
      if (c.policy >= 0 && c.bot >= 0) bots[static_cast<std::size_t>(c.policy)] = c.bot;
    }
  }
  return bots;
}

// Refuses what would make a pool undefined. Friendlier checks, by name, are the caller's.
inline void check_options(const GameSpec& spec, const PoolOptions& o) {
  const auto fail = [&](const std::string& what) { throw PoolError(spec.name + " pool: " + what); };
  const auto number = [](auto v) { return std::to_string(v); };
  if (spec.seats < 1 || spec.seats > kMaxSeats) fail("seats must be in [1, 16]");
  if (spec.observation.size() > kMaxTensors) fail("at most 32 observation tensors");
  if (spec.heads.empty() || spec.heads.size() > kMaxHeads) fail("heads must be in [1, 16]");
  if (o.slots < 1 || o.slots > kMaxSlots) {
    fail("slots=" + number(o.slots) + ", expected 1.." + number(kMaxSlots));
  }
  if (o.groups < 1 || o.groups > o.slots) {
    fail("groups=" + number(o.groups) + ", expected 1.." + number(o.slots) + " (slots)");
  }
  if (o.threads < 0 || o.threads > 1024)
    fail("threads=" + number(o.threads) + ", expected 0..1024");
  if (static_cast<int>(o.lineup.plans.size()) != spec.seats) {
    fail(number(o.lineup.plans.size()) + " plans for " + number(spec.seats) + " seats");
  }
  if (const std::string wrong = TeamRewards::problem(spec, o.spirit, o.zero_sum); !wrong.empty()) {
    fail(wrong);
  }
  if (o.record.hash_every < 1) fail("hash_every=0, expected >= 1");
  if (!std::is_sorted(o.record.matches.begin(), o.record.matches.end())) {
    fail("the matches to record are not sorted");
  }
  const int bots = static_cast<int>(spec.bots.size());
  for (const SeatPlan& p : o.lineup.plans) {
    if (p.controllers.empty()) fail("a plan without controllers");
    if (p.frame_skip < 0 || static_cast<std::uint32_t>(p.frame_skip) > kMaxFrameSkip) {
      fail("frame_skip=" + number(p.frame_skip) + ", expected 0..1048576");
    }
    if (p.handover_bot >= bots) fail("handover bot " + number(p.handover_bot) + " does not exist");
    if (p.handover_ticks > 0 && p.handover_bot < 0) fail("handover_ticks without a handover bot");
    double total = 0.0;
    for (const Controller& c : p.controllers) {
      if (c.bot < 0 && c.policy < 0) fail("a controller without bot and policy");
      if (c.bot >= bots) fail("bot " + number(c.bot) + " does not exist");
      if (c.policy >= kMaxPolicies) fail("policy " + number(c.policy) + ", expected below 4096");
      if (!(c.weight >= 0.0) || c.weight > 1e12) fail("a controller's weight must be >= 0");
      total += c.weight;
    }
    if (!(total > 0.0)) fail("the weights of a plan's controllers sum to 0");
  }
  const std::vector<int> shown = demonstrators(o.lineup, kMaxPolicies);
  for (const SeatPlan& p : o.lineup.plans) {
    for (const Controller& c : p.controllers) {
      if (c.policy < 0) continue;
      if (c.bot != shown[static_cast<std::size_t>(c.policy)]) {
        fail("policy " + number(c.policy) + " has more than one kind of controller");
      }
      if (c.bot >= 0 && !spec.bots[static_cast<std::size_t>(c.bot)].demonstrates) {
        fail("bot " + spec.bots[static_cast<std::size_t>(c.bot)].name + " does not demonstrate");
      }
    }
  }
}

}  // namespace ludus
