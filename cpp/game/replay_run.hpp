// Playing a replay again. A replay is hostile until it has been verified: every name, index and
// count in it is checked against the rules before the rules see it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "game/replay.hpp"

namespace ludus {

struct ReplayCheck {
  bool same = true;             // every hash, the end and the outcome agree
  std::uint32_t ticks = 0;      // re-simulated
  std::uint32_t last_same = 0;  // last tick whose recorded hash agreed
  std::string difference;       // what differed first, with its tick; empty if same
};

// Rules for a replay of G, or ReplayError when it was recorded for other rules.
template <Game G>
typename G::Rules replay_rules(const Replay& r) {
  const auto refuse = [](const std::string& what) { throw ReplayError("replay: " + what); };
  if (r.hosted) refuse(r.game + " is not a compiled game");
  if (r.game != G::kName) refuse("recorded for " + r.game + ", not " + G::kName);
  try {
    typename G::Rules rules = G::make_rules(Params(r.params));
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
    throw ReplayError(std::string("replay: ") + e.what());
  }
}

// Plays the match again, calling see(rules, state) after the reset and after every advance; it
// stops early when see returns false. Throws ReplayError where a decision is refused by the rules.
template <Game G, class See>
void replay_run(const Replay& r, See&& see) {
  const typename G::Rules rules = replay_rules<G>(r);
  typename G::State state{};
  G::reset(rules, state, r.seed);
  if (!see(rules, state)) return;
  std::size_t next = 0;
  std::size_t action = 0;
  for (std::uint32_t tick = 0; tick < r.ticks; ++tick) {
    const auto where = [&] { return "replay: tick " + std::to_string(tick) + ": "; };
    if (G::status(rules, state).over) throw ReplayError(where() + "the match is over already");
    try {
      for (; next < r.decisions.size() && r.decisions[next].tick == tick; ++next) {
        const Decision& d = r.decisions[next];
        if ((G::to_act(rules, state) >> d.seat & 1U) == 0) {
          throw ReplayError(where() + "seat " + std::to_string(d.seat) + " may not decide");
        }
        if (d.bot >= 0) {
          G::bot(rules, state, d.seat, d.bot);
        } else {
          G::act(rules, state, d.seat,
                 std::span(r.actions).subspan(action, static_cast<std::size_t>(r.heads)));
          action += static_cast<std::size_t>(r.heads);
        }
      }
      G::advance(rules, state);
    } catch (const GameError& e) {
      throw ReplayError(where() + e.what());
    }
    if (!see(rules, state)) return;
  }
}

template <Game G>
ReplayCheck replay_verify(const Replay& r) {
  ReplayCheck check;
  const auto differs = [&](const std::string& what) {
    check.same = false;
    check.difference = what + " after tick " + std::to_string(check.ticks);
    return false;
  };
  // Ticks are counted here: the state's own count is being checked.
  std::uint32_t seen = 0;
  replay_run<G>(r, [&](const auto& rules, const auto& state) {
    check.ticks = seen++;
    const bool last = check.ticks == r.ticks;
    if (check.ticks % r.hash_every == 0) {
      if (G::hash(rules, state) != r.hashes[check.ticks / r.hash_every]) {
        return differs("the state hash differs");
      }
      check.last_same = check.ticks;
    }
    if (!last) return true;
    if (G::hash(rules, state) != r.final_hash) return differs("the final state hash differs");
    check.last_same = check.ticks;
    const bool over = G::status(rules, state).over;
    if (r.over && !over) return differs("the recorded match was over, this one is not,");
    std::array<float, kMaxSeats> outcome{};
    if (r.over) G::outcome(rules, state, std::span(outcome).first(r.players.size()));
    if (!std::equal(r.outcome.begin(), r.outcome.end(), outcome.begin())) {
      return differs("the outcome differs");
    }
    return true;
  });
  return check;
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
