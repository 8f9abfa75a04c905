// The pool's bookkeeping written out naively, to compare it with: every match is played to its end
// tick by tick with a full log, and what a row receives is read off the log afterwards.
#pragma once

#include <vector>

#include "tests/pool/harness.hpp"
#include "tests/pool/uneven.hpp"

namespace ludus::test {

struct Tick {
  SeatMask active = 0;  // seats whose learned policy decides at this tick
  Uneven::State before;
  std::array<float, 3> reward{};
};

struct LoggedMatch {
  std::array<int, 3> policy{-1, -1, -1};
  std::array<int, 3> bot{-1, -1, -1};  // the drawn one, or the handover bot of a policy
  std::vector<Tick> ticks;
  Uneven::State last;
  bool truncated = false;
};

struct TimeStep {  // of one slot
  std::uint64_t match = 0;
  std::array<int, 3> policy{-1, -1, -1};  // of active seats
  std::array<bool, 3> active{}, is_first{};
  std::array<float, 3> reward{};  // paid between this step and the next
  std::array<bool, 3> terminated{}, truncated{};
  Uneven::State state;  // when it surfaced
  Uneven::State last;   // of the match, where terminated or truncated
};

// Plays match `number` at `slot` by the lineup, deciding as AnyPool::random_actions does.
inline LoggedMatch log_match(const Uneven::Rules& rules, const PoolOptions& o, int slot,
                             std::uint64_t number, std::uint64_t action_seed) {
  LoggedMatch log;
  std::array<int, 3> skip{};
  std::array<std::uint32_t, 3> handover{};
  for (int seat = 0; seat < 3; ++seat) {
    const auto s = static_cast<std::size_t>(seat);
    const int p = o.lineup.rotate ? ((seat - slot) % 3 + 3) % 3 : seat;
    const SeatPlan& plan = o.lineup.plans[static_cast<std::size_t>(p)];
    Rng rng({o.seed, number}, kPoolStream + static_cast<std::uint64_t>(p));
    double total = 0.0;
    for (const Controller& c : plan.controllers) total += c.weight;
    double u = rng.uniform() * total;
    std::size_t pick = 0;
    while (pick + 1 < plan.controllers.size() && u >= plan.controllers[pick].weight) {
      u -= plan.controllers[pick++].weight;
    }
    handover[s] = rng.below(plan.handover_ticks + 1);
    log.policy[s] = plan.controllers[pick].policy;
    log.bot[s] = log.policy[s] >= 0 ? plan.handover_bot : plan.controllers[pick].bot;
    skip[s] = plan.frame_skip > 0 ? plan.frame_skip : 2;
  }
  Uneven::State state;
  Uneven::reset(rules, state, {o.seed, number});
  while (!Uneven::status(rules, state).over) {
    Tick tick;
    tick.before = state;
    const SeatMask may = Uneven::to_act(rules, state);
    for (int seat = 0; seat < 3; ++seat) {
      const auto s = static_cast<std::size_t>(seat);
      const bool due =
          (may >> seat & 1) != 0 && state.tick % static_cast<std::uint32_t>(skip[s]) == 0;
      if (due && log.policy[s] >= 0 && state.tick >= handover[s]) tick.active |= 1U << seat;
    }
    for (int seat = 0; seat < 3; ++seat) {
      const auto s = static_cast<std::size_t>(seat);
      if ((may >> seat & 1) == 0 || state.tick % static_cast<std::uint32_t>(skip[s]) != 0) continue;
      if ((tick.active >> seat & 1) == 0) {
        Uneven::bot(rules, state, seat, log.bot[s]);
        continue;
      }
      Rng rng({action_seed, number},
              (std::uint64_t{state.tick} << 5) + static_cast<std::uint64_t>(seat));
      const auto pick = static_cast<std::int32_t>(rng.below(2));
      const std::int32_t no = Uneven::forbidden(state, seat);
      const std::array<std::int32_t, 2> action{pick >= no ? pick + 1 : pick,
                                               static_cast<std::int32_t>(rng.below(2))};
      Uneven::act(rules, state, seat, action);
    }
    Uneven::advance(rules, state);
    Uneven::rewards(rules, state, tick.reward);
    log.ticks.push_back(tick);
    if (o.truncate_ticks != 0 && state.tick >= o.truncate_ticks) break;
  }
  const Status end = Uneven::status(rules, state);
  log.truncated = !end.over || end.truncated;
  log.last = state;
  return log;
}

// Data that the rows of one match receive.
inline std::vector<TimeStep> read_steps(const LoggedMatch& log, std::uint64_t number) {
  std::vector<TimeStep> steps;
  std::array<bool, 3> decided{};
  for (const Tick& tick : log.ticks) {
    if (tick.active != 0) {
      TimeStep m;
      m.match = number;
      m.state = tick.before;
      for (int seat = 0; seat < 3; ++seat) {
        const auto s = static_cast<std::size_t>(seat);
        m.active[s] = (tick.active >> seat & 1) != 0;
        m.is_first[s] = m.active[s] && !decided[s];
        m.policy[s] = m.active[s] ? log.policy[s] : -1;
        decided[s] = decided[s] || m.active[s];
      }
      steps.push_back(m);
    }
    for (std::size_t s = 0; s < 3; ++s) {
      if (decided[s]) steps.back().reward[s] += tick.reward[s];
    }
  }
  if (!steps.empty()) {
    steps.back().last = log.last;
    for (std::size_t s = 0; s < 3; ++s) {
      (log.truncated ? steps.back().truncated : steps.back().terminated)[s] = decided[s];
    }
  }
  return steps;
}

// The first `count` steps of a slot under same-step autoreset.
inline std::vector<TimeStep> reference_slot(const Uneven::Rules& rules, const PoolOptions& o,
                                            int slot, std::size_t count,
                                            std::uint64_t action_seed) {
  std::vector<TimeStep> all;
  for (std::uint64_t n = static_cast<std::uint64_t>(slot); all.size() < count;
       n += static_cast<std::uint64_t>(o.slots)) {
    const auto part = read_steps(log_match(rules, o, slot, n, action_seed), n);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace ludus::test
