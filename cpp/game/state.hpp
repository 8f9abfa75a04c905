// What a game may offer beyond the contract, because it can do it faster than the general way.
//
//   G::copy(rules, to, from)              copies the bytes of a State that are in use; the rest of
//                                         `to` is whatever it was. Both are states of these rules.
//   G::rollout(rules, state, rng, out)    plays sensible random moves to the end without touching
//                                         the state, writes the outcome a seat, gives the turns
//                                         played
//   G::stored(state), G::load(rules, state, bytes)
//                                         a state as bytes of its own and back, where memory of a
//                                         State is not meant to leave; load throws GameError
#pragma once

#include <array>
#include <span>

#include "game/match.hpp"

namespace ludus {

template <class G>
concept HasCopy = requires(const typename G::Rules& rules, typename G::State& to,
                           const typename G::State& from) {
  G::copy(rules, to, from);
};

template <class G>
concept HasRollout = requires(const typename G::Rules& rules, const typename G::State& s, Rng& rng,
                              std::span<float> out) {
  { G::rollout(rules, s, rng, out) } -> std::same_as<int>;
};

template <class G>
concept HasLoad = requires(const typename G::Rules& rules, typename G::State& to,
                           const typename G::State& from, std::span<const std::byte> bytes) {
  G::load(rules, to, bytes);
  { G::stored(from) } -> std::same_as<std::span<const std::byte>>;
};

template <Game G>
void copy_state(const typename G::Rules& rules, typename G::State& to,
                const typename G::State& from) {
  if constexpr (HasCopy<G>) {
    G::copy(rules, to, from);
  } else {
    to = from;
  }
}

}  // namespace ludus
