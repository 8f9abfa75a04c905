// Pure simulation speed: bots against bots in C++ threads, nothing observed, nothing learned.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "game/state.hpp"

namespace ludus {

struct BenchResult {
  std::uint64_t ticks = 0;
  std::uint64_t decisions = 0;
  std::uint64_t matches = 0;         // finished
  std::uint64_t finished_ticks = 0;  // of finished matches
  double seconds = 0.0;              // wall clock, all threads running
  double mean_units = 0.0;           // alive, averaged over time; 0 for games without units
  double clone_ns = 0.0;             // one copy of a State
  std::uint64_t state_bytes = 0;
  int threads = 1;
};

namespace detail {

// A game may report how many units are alive: G::units(rules, state).
template <class G>
concept HasUnits = requires(const typename G::Rules& r, const typename G::State& s) {
  { G::units(r, s) } -> std::convertible_to<int>;
};

// `matches` slots played in turns of `kTurn` ticks until `ticks` ticks have passed.
template <Game G>
BenchResult bench_thread(const Params& params, const std::vector<SeatDriver>& drivers, int matches,
                         std::uint64_t ticks, std::uint64_t seed, std::uint64_t first_match,
                         std::uint64_t match_stride, std::atomic<int>& waiting) {
  constexpr std::uint32_t kTurn = 64;
  MatchContext<G> c(params);
  std::vector<typename G::State> states(static_cast<std::size_t>(matches));
  std::vector<Rng> rngs(states.size());
  std::vector<std::uint32_t> due(states.size());  // tick of the slot's next decision
  std::uint64_t next_match = first_match;
  const auto restart = [&](std::size_t i) {
    const MatchSeed s{seed, next_match};
    next_match += match_stride;
    rngs[i] = Rng(s, kUniformStream);
    G::reset(c.rules, states[i], s);
    due[i] = 0;
  };
  const auto next_due = [&](std::uint32_t tick) {
    std::uint32_t next = std::numeric_limits<std::uint32_t>::max();
    for (const SeatDriver& d : drivers) {
      const auto skip = static_cast<std::uint32_t>(d.frame_skip);
      next = std::min(next, (tick / skip + 1) * skip);
    }
    return next;
  };
  for (std::size_t i = 0; i < states.size(); ++i) restart(i);
  waiting.fetch_sub(1);
  while (waiting.load() > 0) std::this_thread::yield();

  BenchResult r;
  std::uint64_t units = 0;
  std::uint64_t samples = 0;
  const auto start = std::chrono::steady_clock::now();
  while (r.ticks < ticks) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      typename G::State& state = states[i];
      for (std::uint32_t t = 0; t < kTurn; ++t) {
        if (const std::uint32_t tick = G::tick(state); tick >= due[i]) {
          r.decisions += static_cast<std::uint64_t>(decide<G>(c, state, drivers, rngs[i]));
          due[i] = next_due(tick);
        }
        G::advance(c.rules, state);
        ++r.ticks;
        if (G::status(c.rules, state).over) {
          ++r.matches;
          r.finished_ticks += G::tick(state);
          restart(i);
        }
      }
      if constexpr (HasUnits<G>) {
        units += static_cast<std::uint64_t>(G::units(c.rules, state));
        ++samples;
      }
    }
  }
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (samples > 0) r.mean_units = static_cast<double>(units) / static_cast<double>(samples);
  return r;
}

// Nanoseconds for one copy of a State in the middle of a match, best of a few rounds.
template <Game G>
double clone_ns(const Params& params) {
  MatchContext<G> c(params);
  constexpr std::size_t kCopies = 64;
  std::vector<typename G::State> states(kCopies + 1);
  G::reset(c.rules, states[0], {1, 1});
  const std::vector<SeatDriver> drivers(static_cast<std::size_t>(c.spec.seats));
  Rng rng({1, 1}, kUniformStream);
  for (int i = 0; i < 500; ++i) {
    typename G::State next = states[0];
    decide<G>(c, next, drivers, rng);
    G::advance(c.rules, next);
    if (G::status(c.rules, next).over) break;
    states[0] = next;
  }
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int repeat = 0; repeat < 16; ++repeat) {
      for (std::size_t i = 1; i <= kCopies; ++i) {
        copy_state<G>(c.rules, states[i], states[i - 1]);
        // The copy must happen: the compiler may not see what becomes of it.
        asm volatile("" : : "r"(&states[i]) : "memory");
      }
    }
    const std::chrono::duration<double, std::nano> t = std::chrono::steady_clock::now() - start;
    best = std::min(best, t.count() / (16.0 * kCopies));
  }
  return best;
}

}  // namespace detail

// `ticks` and `matches` are per thread. Throws what the game throws.
template <Game G>
BenchResult bench_sim(const Params& params, const std::vector<SeatDriver>& drivers, int threads,
                      int matches, std::uint64_t ticks, std::uint64_t seed) {
  std::vector<BenchResult> parts(static_cast<std::size_t>(threads));
  std::vector<std::exception_ptr> errors(parts.size());
  std::atomic<int> waiting = threads;
  const auto body = [&](std::size_t i) {
    try {
      parts[i] =
          detail::bench_thread<G>(params, drivers, matches, ticks, seed, i, parts.size(), waiting);
    } catch (...) {
      errors[i] = std::current_exception();
      waiting.store(0);  // the others must not wait for this one
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < parts.size(); ++i) others.emplace_back(body, i);
  body(0);
  others.clear();  // joins
  for (const std::exception_ptr& e : errors) {
    if (e) std::rethrow_exception(e);
  }
  BenchResult r;
  r.threads = threads;
  for (const BenchResult& p : parts) {
    r.ticks += p.ticks;
    r.decisions += p.decisions;
    r.matches += p.matches;
    r.finished_ticks += p.finished_ticks;
    r.seconds = std::max(r.seconds, p.seconds);
    r.mean_units += p.mean_units / threads;
  }
  r.clone_ns = detail::clone_ns<G>(params);
  r.state_bytes = sizeof(typename G::State);
  return r;
}

// ns_per_tick is per core: threads * seconds / ticks.
[[nodiscard]] inline std::string bench_json(const std::string& game, const BenchResult& r) {
  const double core_ns = 1e9 * r.seconds * r.threads;
  JsonWriter j;
  j.open('{').field("game", game).field("threads", r.threads).field("ticks", r.ticks);
  j.field("seconds", r.seconds).field("decisions", r.decisions).field("matches", r.matches);
  j.field("ticks_per_s", static_cast<double>(r.ticks) / r.seconds);
  j.field("steps_per_s", static_cast<double>(r.decisions) / r.seconds);
  const double ns = core_ns / static_cast<double>(r.ticks);
  j.field("ns_per_tick", ns);
  j.key("ns_per_unit");
  if (r.mean_units > 0) {
    j.value(ns / r.mean_units);
  } else {
    j.raw("null");
  }
  j.field("mean_units", r.mean_units);
  j.field("mean_match_ticks",
          r.matches == 0 ? 0.0
                         : static_cast<double>(r.finished_ticks) / static_cast<double>(r.matches));
  j.field("clone_ns", r.clone_ns).field("state_bytes", r.state_bytes).close('}');
  return std::move(j).text();
}

struct RolloutBench {
  std::uint64_t rollouts = 0;
  std::uint64_t turns = 0;
  double seconds = 0.0;
  double first_seat_sum = 0.0;  // of outcomes
};

// Random matches from the start, one after another: by the game's own rollout where it has one,
// else by uniformly random legal decisions.
template <Game G>
RolloutBench bench_rollouts(const Params& params, std::uint64_t rollouts, std::uint64_t seed) {
  MatchContext<G> c(params);
  const auto start_state = std::make_unique<typename G::State>();
  const auto state = std::make_unique<typename G::State>();
  G::reset(c.rules, *start_state, {seed, 0});
  const std::vector<SeatDriver> drivers(static_cast<std::size_t>(c.spec.seats));
  Rng rng({seed, 0}, kUniformStream);
  std::vector<float> outcome(drivers.size());
  RolloutBench r{.rollouts = rollouts, .turns = 0, .seconds = 0.0, .first_seat_sum = 0.0};
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < rollouts; ++i) {
    if constexpr (HasRollout<G>) {
      r.turns += static_cast<std::uint64_t>(G::rollout(c.rules, *start_state, rng, outcome));
    } else {
      copy_state<G>(c.rules, *state, *start_state);
      while (!G::status(c.rules, *state).over) {
        decide<G>(c, *state, drivers, rng);
        G::advance(c.rules, *state);
        ++r.turns;
      }
      G::outcome(c.rules, *state, outcome);
    }
    r.first_seat_sum += outcome[0];
  }
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return r;
}

[[nodiscard]] inline std::string rollout_json(const std::string& game, const RolloutBench& r) {
  const auto n = static_cast<double>(std::max<std::uint64_t>(r.rollouts, 1));
  const auto turns = static_cast<double>(std::max<std::uint64_t>(r.turns, 1));
  JsonWriter j;
  j.open('{').field("game", game).field("rollouts", r.rollouts).field("seconds", r.seconds);
  j.field("rollouts_per_s", n / r.seconds).field("mean_turns", turns / n);
  j.field("ns_per_turn", 1e9 * r.seconds / turns);
  j.field("first_seat_mean", r.first_seat_sum / n).close('}');
  return std::move(j).text();
}

}  // namespace ludus
