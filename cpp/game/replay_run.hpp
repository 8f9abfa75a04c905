// Playing a replay again. A replay is hostile until it has been verified: every name, index and
// count in it is checked against the rules before the rules see it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "game/replay.hpp"

namespace ludus {

struct ReplayCheck {
  bool same = true;             // every hash, the end and the outcome agree
  std::uint32_t ticks = 0;      // re-simulated
  std::uint32_t last_same = 0;  // last tick whose recorded hash agreed
  std::string difference;       // what differed first, with its tick; empty if same
};

// Rules for a replay of G under its parameters and `changed`, which come first.
// Throws ReplayError when it was recorded for other rules; for a bad parameter ParamError if it is
// one of `changed`, else ReplayError.
template <Game G>
typename G::Rules replay_rules(const Replay& r,
                               const std::map<std::string, std::string>& changed = {}) {
  const auto refuse = [](const std::string& what) { throw ReplayError("replay: " + what); };
  if (r.hosted) refuse(r.game + " is not a compiled game");
  if (r.game != G::kName) refuse("recorded for " + r.game + ", not " + G::kName);
  if (!changed.empty()) (void)replay_rules<G>(r);
  try {
    std::map<std::string, std::string> params = changed;
    params.insert(r.params.begin(), r.params.end());
    typename G::Rules rules = G::make_rules(Params(std::move(params)));
    const GameSpec spec = G::spec(rules);
    if (r.version != spec.version) {
      refuse("recorded under version " + std::to_string(r.version) + " of " + r.game +
             ", this build plays version " + std::to_string(spec.version));
    }
    if (r.heads != static_cast<int>(spec.heads.size())) refuse("an action has the wrong heads");
    if (r.players.size() != static_cast<std::size_t>(spec.seats)) refuse("wrong number of seats");
    if (spec.max_ticks > 0 && r.ticks > static_cast<std::uint32_t>(spec.max_ticks)) {
      refuse("longer than any match under its parameters");
    }
    for (const Decision& d : r.decisions) {
      if (d.bot >= static_cast<int>(spec.bots.size())) refuse("a bot that the game does not have");
    }
    return rules;
  } catch (const ParamError& e) {
    if (!changed.empty()) throw;
    throw ReplayError(std::string("replay: ") + e.what());
  }
}

// How a replay decides: by its bots and its actions.
template <Game G>
struct AsRecorded {
  // Called with the decisions of each tick that has some, before the first of them is made.
  void due(const typename G::State&, std::span<const Decision>) const {}
  // Makes one. `action`: its heads; empty for a bot's.
  void decide(const typename G::Rules& rules, typename G::State& state, const Decision& d,
              std::span<const std::int32_t> action) const {
    if (d.bot >= 0) {
      G::bot(rules, state, d.seat, d.bot);
    } else {
      G::act(rules, state, d.seat, action);
    }
  }
};

// Plays the match again under `rules`, calling see(rules, state) after the reset and after every
// advance; it stops early when see returns false. `decider` makes the decisions, as AsRecorded
// does. Throws ReplayError where a decision is refused by the rules.
template <Game G, class See, class Decider>
void replay_run(const typename G::Rules& rules, const Replay& r, See&& see, Decider&& decider) {
  typename G::State state{};
  G::reset(rules, state, r.seed);
  if (!see(rules, state)) return;
  std::size_t next = 0;
  std::size_t action = 0;
  for (std::uint32_t tick = 0; tick < r.ticks; ++tick) {
    const auto where = [&] { return "replay: tick " + std::to_string(tick) + ": "; };
    if (G::status(rules, state).over) throw ReplayError(where() + "the match is over already");
    std::size_t end = next;
    while (end < r.decisions.size() && r.decisions[end].tick == tick) ++end;
    const auto may_decide = [&](const Decision& d) {
      if ((G::to_act(rules, state) >> d.seat & 1U) != 0) return;
      throw ReplayError(where() + "seat " + std::to_string(d.seat) + " may not decide");
    };
    try {
      const auto due = std::span(r.decisions).subspan(next, end - next);
      for (const Decision& d : due) may_decide(d);
      if (!due.empty()) decider.due(state, due);
      for (const Decision& d : due) {
        may_decide(d);
        const std::size_t heads = d.bot >= 0 ? 0 : static_cast<std::size_t>(r.heads);
        decider.decide(rules, state, d, std::span(r.actions).subspan(action, heads));
        action += heads;
      }
      next = end;
      G::advance(rules, state);
    } catch (const GameError& e) {
      throw ReplayError(where() + e.what());
    }
    if (!see(rules, state)) return;
  }
}

template <Game G, class See>
void replay_run(const Replay& r, See&& see) {
  const typename G::Rules rules = replay_rules<G>(r);
  replay_run<G>(rules, r, std::forward<See>(see), AsRecorded<G>{});
}

// Compares a match that is played again with its record: called after the reset and after every
// advance, false at the first difference.
template <Game G>
class ReplayComparison {
 public:
  explicit ReplayComparison(const Replay& r) : r_(r) {}

  [[nodiscard]] const ReplayCheck& check() const { return check_; }

  bool operator()(const typename G::Rules& rules, const typename G::State& state) {
    check_.ticks = seen_++;
    if (check_.ticks % r_.hash_every == 0) {
      if (G::hash(rules, state) != r_.hashes[check_.ticks / r_.hash_every]) {
        return differs("the state hash differs");
      }
      check_.last_same = check_.ticks;
    }
    if (check_.ticks != r_.ticks) return true;
    if (G::hash(rules, state) != r_.final_hash) return differs("the final state hash differs");
    check_.last_same = check_.ticks;
    const bool over = G::status(rules, state).over;
    if (r_.over && !over) return differs("the recorded match was over, this one is not,");
    std::array<float, kMaxSeats> outcome{};
    if (r_.over) G::outcome(rules, state, std::span(outcome).first(r_.players.size()));
    if (!std::equal(r_.outcome.begin(), r_.outcome.end(), outcome.begin())) {
      return differs("the outcome differs");
    }
    return true;
  }

 private:
  bool differs(const std::string& what) {
    check_.same = false;
    check_.difference = what + " after tick " + std::to_string(check_.ticks);
    return false;
  }

  const Replay& r_;
  ReplayCheck check_;
  std::uint32_t seen_ = 0;  // ticks are counted here: the state's own count is being checked
};

template <Game G>
ReplayCheck replay_verify(const Replay& r) {
  ReplayComparison<G> comparison(r);
  replay_run<G>(r, comparison);
  return comparison.check();
}

// view() of the states after tick 0, every, 2 every, ... and of the last state, as JSON objects.
template <Game G>
std::vector<std::string> replay_frames(const Replay& r, std::uint32_t every) {
  std::vector<std::string> frames;
  every = std::max(every, 1U);
  replay_run<G>(r, [&](const auto& rules, const auto& state) {
    const std::uint32_t tick = G::tick(state);
    if (tick % every == 0 || tick == r.ticks) frames.push_back(G::view(rules, state));
    return true;
  });
  return frames;
}

}  // namespace ludus
