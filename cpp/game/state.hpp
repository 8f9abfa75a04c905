// What a game may offer beyond the contract, because it can do it faster than the general way or
// knows what no general way tells.
//
//   G::copy(rules, to, from)              copies the bytes of a State that are in use; the rest of
//                                         `to` is whatever it was. Both are states of these rules.
//   G::rollout(rules, state, rng, out)    plays sensible random moves to the end without touching
//                                         the state, writes the outcome a seat, gives the turns
//                                         played
//   G::stored(state), G::load(rules, state, bytes)
//                                         a state as bytes of its own and back, where memory of a
//                                         State is not meant to leave; load throws GameError
//   G::count(rules, state, owner)         of a match that is over: whose each of the spec's
//                                         counted_cells is, +1 seat 0's, -1 seat 1's, 0 nobody's,
//                                         and the points of seat 0 less those of seat 1 as the
//                                         rules compare them (komi included). Nothing where the
//                                         match ended without being counted, as by resignation;
//                                         `owner` then means nothing
//   G::key(rules, state), G::foresee(rules, state, moves)
//                                         of a match of two seats that goes on, for a search of its
//                                         end: positions of the same key are worth the same to
//                                         their seats to move, whatever their matches' seeds; and
//                                         what shows of one without a search (Foresight)
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
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

// A game of two seats that says who owns what at the end.
template <class G>
concept HasCount = requires(const typename G::Rules& rules, const typename G::State& s,
                            std::span<std::int8_t> owner) {
  { G::count(rules, s, owner) } -> std::same_as<std::optional<float>>;
};

struct Foresight {
  std::optional<int> value = std::nullopt;  // -1, 0 or +1 to the seat to move, where it shows
  int count = 0;  // else so many moves, the likeliest first; what is left out loses
};

template <class G>
concept HasForesight = requires(const typename G::Rules& rules, const typename G::State& s,
                                std::span<std::uint16_t> moves) {
  { G::key(rules, s) } -> std::same_as<std::uint64_t>;
  { G::foresee(rules, s, moves) } -> std::same_as<Foresight>;
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
