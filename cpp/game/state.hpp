// Optional hooks of a game beyond the contract: faster versions of general operations, and
// knowledge that only the game has.
//
//   G::copy(rules, to, from)              copies the bytes of a State that are in use; the rest of
//                                         `to` is whatever it was. Both are states of these rules.
//   G::rollout(rules, state, rng, out)    plays sensible random moves to the end without touching
//                                         the state, writes the outcome a seat, gives the turns
//                                         played
//   G::stored(state), G::load(rules, state, bytes)
//                                         a state as separate bytes and back, for a State whose
//                                         memory must not leave the process; load throws GameError
//   G::final_score(rules, state, owner)   final ownership and score of a finished match. Writes the
//                                         owner of each of the spec's counted_cells (+1 seat 0,
//                                         -1 seat 1, 0 no one) and returns the points of seat 0
//                                         minus seat 1's points, komi included. nullopt if the
//                                         match was not scored, as after a resignation; `owner`
//                                         is then meaningless
//   G::key(rules, state), G::static_evaluation(rules, state, moves)
//                                         transposition key and static evaluation of an unfinished
//                                         match of two seats, for endgame search. Positions with
//                                         the same key have the same value to the seat to move,
//                                         whatever the seeds of their matches
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

// A game of two seats with final ownership and score.
template <class G>
concept HasFinalScore = requires(const typename G::Rules& rules, const typename G::State& s,
                                 std::span<std::int8_t> owner) {
  { G::final_score(rules, s, owner) } -> std::same_as<std::optional<float>>;
};

// Static evaluation of a position: its value without a search, or else the moves worth a search, in
// order.
struct StaticEvaluation {
  std::optional<int> value = std::nullopt;  // -1, 0 or +1 to the seat to move, if known
  int count = 0;  // otherwise the number of moves, most promising first; others lose
};

template <class G>
concept HasStaticEvaluation = requires(const typename G::Rules& rules, const typename G::State& s,
                                       std::span<std::uint16_t> moves) {
  { G::key(rules, s) } -> std::same_as<std::uint64_t>;
  { G::static_evaluation(rules, s, moves) } -> std::same_as<StaticEvaluation>;
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
