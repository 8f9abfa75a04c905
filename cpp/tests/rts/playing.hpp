// Shared by the tests of every game on the RTS engine: bots play under observation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "game/game.hpp"
#include "game/state.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"

namespace ludus::tests {

// Who plays: a bot a seat, each deciding every `skip` ticks.
struct Playing {
  std::vector<int> bots;
  unsigned skip = 50;
  unsigned ticks = 100000;
};

// Plays up to `p.ticks` ticks over as many matches as that takes, calling `at(state)` before each
// decision.
template <Game G, class F>
void play(const typename G::Rules& rules, const Playing& p, F&& at) {
  typename G::State s{};
  unsigned done = 0;
  for (std::uint64_t match = 0; done < p.ticks; ++match) {
    G::reset(rules, s, {.seed = 20, .match = match});
    while (!G::status(rules, s).over && done < p.ticks) {
      if (G::tick(s) % p.skip == 0) {
        at(s);
        for (std::size_t seat = 0; seat < p.bots.size(); ++seat) {
          G::bot(rules, s, static_cast<int>(seat), p.bots[seat]);
        }
      }
      G::advance(rules, s);
      ++done;
    }
  }
}

// One number for what happens, looked at before every `every`th decision. It changes only when
// behaviour does, and is the same on every compiler, optimisation level and machine.
template <Game G>
std::uint64_t digest(const char* ruleset, const Playing& p, unsigned every = 1) {
  const typename G::Rules rules = G::make_rules(Params{{{"ruleset", ruleset}}});
  Hash64 h;
  unsigned n = 0;
  play<G>(rules, p, [&](const typename G::State& s) {
    if (n++ % every == 0) h.add(G::hash(rules, s));
  });
  return h.value();
}

// Ticks, bots, observations, masks and hashes.
template <Game G>
void check_playing_allocates_nothing(const Playing& p) {
  const typename G::Rules rules = G::make_rules({});
  const GameSpec spec = G::spec(rules);
  std::vector<std::vector<std::byte>> tensors;
  std::vector<std::byte*> out;
  for (const TensorSpec& t : spec.observation) tensors.emplace_back(t.bytes());
  for (std::vector<std::byte>& t : tensors) out.push_back(t.data());
  std::vector<std::uint8_t> mask(spec.mask_bytes());
  const int seat = static_cast<int>(p.bots.size()) - 1;
  const std::uint64_t before = thread_allocations();
  std::uint64_t sum = 0;
  play<G>(rules, p, [&](const typename G::State& s) {
    G::observe(rules, s, seat, out);
    G::legal(rules, s, seat, mask.data());
    sum += G::hash(rules, s);
  });
  CHECK(thread_allocations() == before);
  CHECK(sum != 0);
}

// Observations and rewards of every seat.
template <Game G>
std::vector<std::byte> shown(const typename G::Rules& rules, const GameSpec& spec,
                             const typename G::State& s) {
  std::vector<std::byte> all;
  std::vector<std::vector<std::byte>> tensors;
  std::vector<std::byte*> out;
  for (const TensorSpec& t : spec.observation) tensors.emplace_back(t.bytes());
  for (std::vector<std::byte>& t : tensors) out.push_back(t.data());
  for (int seat = 0; seat < spec.seats; ++seat) {
    G::observe(rules, s, seat, out);
    for (const std::vector<std::byte>& t : tensors) all.insert(all.end(), t.begin(), t.end());
  }
  std::vector<float> paid(static_cast<std::size_t>(spec.seats));
  G::rewards(rules, s, paid);
  const auto bytes = std::as_bytes(std::span(paid));
  all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}

// A copy continues like the match, whatever its memory held before, and shows and pays the same.
template <Game G>
void check_copies(const Playing& p, const Params& params = {}) {
  const typename G::Rules rules = G::make_rules(params);
  const GameSpec spec = G::spec(rules);
  typename G::State copy;
  std::memset(static_cast<void*>(&copy), 0x5a, sizeof copy);
  unsigned n = 0;
  play<G>(rules, p, [&](const typename G::State& s) {
    if (n++ % 20 != 0) return;
    copy_state<G>(rules, copy, s);
    REQUIRE(G::hash(rules, copy) == G::hash(rules, s));
    REQUIRE(shown<G>(rules, spec, copy) == shown<G>(rules, spec, s));
    typename G::State twin = s;
    for (int t = 0; t < 200 && !G::status(rules, twin).over; ++t) {
      for (std::size_t seat = 0; seat < p.bots.size(); ++seat) {
        if (G::tick(twin) % 10 != 0) break;
        G::bot(rules, twin, static_cast<int>(seat), p.bots[seat]);
        G::bot(rules, copy, static_cast<int>(seat), p.bots[seat]);
      }
      G::advance(rules, twin);
      G::advance(rules, copy);
    }
    REQUIRE(G::hash(rules, copy) == G::hash(rules, twin));
    REQUIRE(shown<G>(rules, spec, copy) == shown<G>(rules, spec, twin));
  });
  CHECK(n > 200);
}

// By a game with one head, whose size is `choices`.
template <Game G>
void check_refuses_what_is_outside(std::int32_t choices, int bots) {
  const typename G::Rules rules = G::make_rules({});
  typename G::State s{};
  G::reset(rules, s, {});
  for (const std::int32_t a : {-1, choices, 1000 * choices}) {
    CHECK_THROWS_AS(G::act(rules, s, 0, {&a, 1}), GameError);
  }
  CHECK_THROWS_AS(G::bot(rules, s, 0, bots), GameError);
}

}  // namespace ludus::tests
