// Endgame solver: alpha-beta over won, drawn and lost for the last plies of a match, for any game
// of two seats that move in turn. There an exact value is cheap, and a network's is often wrong.
//
// Null-window searches: first for a win, then for a draw. Move ordering is by refutations (history
// heuristic). A transposition table is kept from call to call, so a search that ran out of nodes
// gets further the next time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "game/game.hpp"
#include "game/state.hpp"

namespace ludus {

template <Game G>
class Endgame {
 public:
  using State = typename G::State;

  // For matches with at most `plies` to go by the game's limit (never without a limit). A call
  // searches at most `nodes` new positions.
  Endgame(const GameSpec& spec, int plies, int nodes)
      : plies_(static_cast<std::uint32_t>(plies)),
        last_(static_cast<std::uint32_t>(spec.max_ticks)),
        choices_(spec.mask_bytes()) {
    if (plies == 0) return;
    known_.resize(
        std::clamp(std::bit_ceil(4 * static_cast<std::size_t>(nodes)), kLeastKnown, kMostKnown));
    levels_.resize(static_cast<std::size_t>(plies) + 1);
    for (Level& level : levels_) {
      level.open.resize(choices_);
      level.order.resize(choices_);
    }
    for (std::vector<std::uint32_t>& credit : credit_) credit.resize(choices_);
  }

  // -1, 0 or +1 for the seat to move, or nullopt after `nodes` new positions.
  std::optional<int> solve(const typename G::Rules& rules, const State& s, int nodes) {
    if (plies_ == 0 || last_ == 0 || G::tick(s) + plies_ < last_) return std::nullopt;
    left_ = nodes;
    const int who = seat_to_move(rules, s);
    int value = search(rules, s, who, 0, 1, 0);
    if (value < 1 && left_ >= 0) value = search(rules, s, who, -1, 0, 0);
    if (left_ < 0) return std::nullopt;
    return value;
  }

 private:
  static constexpr std::size_t kLeastKnown = 1 << 16, kMostKnown = 1 << 18;
  static constexpr std::uint16_t kNoMove = 0xffff;
  struct Known {
    std::uint64_t key = 0;
    std::int8_t low = -1, high = 1;
    std::uint16_t best = kNoMove;  // found by a search from here
  };
  struct Level {
    State child;
    std::vector<std::uint8_t> open;  // moves that do not end the match
    std::vector<std::uint16_t> order;
  };

  static int seat_to_move(const typename G::Rules& rules, const State& s) {
    return std::countr_zero(G::to_act(rules, s));
  }

  // Within [alpha, beta] exact, outside a bound. Meaningless once `left_` is below 0.
  int search(const typename G::Rules& rules, const State& s, int who, int alpha, int beta,
             std::size_t depth) {
    const std::uint64_t key = key_of(rules, s);
    Known& place = known_[key & (known_.size() - 1)];
    Known known = {.key = key};
    if (place.key == key) {
      known = place;
      if (known.low == known.high || known.low >= beta) return known.low;
      if (known.high <= alpha) return known.high;
    }
    if (--left_ < 0 || depth >= levels_.size()) {
      left_ = -1;
      return 0;
    }
    Level& level = levels_[depth];
    const Moves moves = find_moves(rules, s, who, level, known.best);
    int best = moves.best;
    std::uint16_t chosen = kNoMove;
    for (std::size_t i = 0; i < moves.count && best < beta; ++i) {
      const std::uint16_t move = level.order[i];
      if (play(rules, level.child, s, who, move)) {
        best = std::max(best, worth_to(rules, level.child, who));
        continue;
      }
      const int next = seat_to_move(rules, level.child);
      const int floor = std::max(alpha, best);
      const int value = next == who ? search(rules, level.child, next, floor, beta, depth + 1)
                                    : -search(rules, level.child, next, -beta, -floor, depth + 1);
      if (left_ < 0) return 0;
      if (value <= best) continue;
      best = value;
      chosen = move;
      if (best >= beta) praise(credit_[static_cast<std::size_t>(who)][move], last_ - G::tick(s));
    }
    if (moves.shown) return best;  // costs less than its place among what is known
    if (chosen != kNoMove) known.best = chosen;
    if (best > alpha || best == 1)
      known.low = static_cast<std::int8_t>(std::max<int>(known.low, best));
    if (best < beta || best == -1)
      known.high = static_cast<std::int8_t>(std::min<int>(known.high, best));
    place = known;
    return best;
  }

  struct Moves {
    std::size_t count = 0;  // in the level's order
    int best = -2;          // what is sure without them; -2 = nothing
    bool shown = false;     // the game itself knows the position's value
  };

  // The moves that need a search, those first that promise to spare some.
  Moves find_moves(const typename G::Rules& rules, const State& s, int who, Level& level,
                   std::uint16_t first) {
    if constexpr (HasStaticEvaluation<G>) {
      const StaticEvaluation f = G::static_evaluation(rules, s, level.order);
      if (f.value) return {.best = *f.value, .shown = true};
      const auto end = level.order.begin() + f.count;
      if (const auto at = std::find(level.order.begin(), end, first); at != end) {
        std::rotate(level.order.begin(), at, at + 1);
      }
      return {.count = static_cast<std::size_t>(f.count), .best = -1};
    } else {
      Moves out;
      G::legal(rules, s, who, level.open.data());
      // Ends first: they cost nothing, and a win at once needs no search.
      for (std::size_t move = 0; move < choices_ && out.best < 1; ++move) {
        if (level.open[move] == 0) continue;
        if (!play(rules, level.child, s, who, move)) continue;
        level.open[move] = 0;
        out.best = std::max(out.best, worth_to(rules, level.child, who));
      }
      if (out.best < 1)
        out.count = sort_moves(level, first, credit_[static_cast<std::size_t>(who)]);
      return out;
    }
  }

  // A state's hash counts its match's random stream too: without the game's own key nothing is
  // shared between matches.
  static std::uint64_t key_of(const typename G::Rules& rules, const State& s) {
    if constexpr (HasStaticEvaluation<G>) {
      return G::key(rules, s);
    } else {
      return G::hash(rules, s);
    }
  }

  // To the next decision after a move; whether the match is over there.
  static bool play(const typename G::Rules& rules, State& to, const State& from, int who,
                   std::size_t move) {
    copy_state<G>(rules, to, from);
    const auto action = static_cast<std::int32_t>(move);
    G::act(rules, to, who, std::span(&action, 1));
    do {
      G::advance(rules, to);
    } while (!G::status(rules, to).over && G::to_act(rules, to) == 0);
    return G::status(rules, to).over;
  }
  // As the tree proves it.
  static int worth_to(const typename G::Rules& rules, const State& end, int who) {
    std::array<float, kMaxSeats> out{};
    G::outcome(rules, end, std::span(out).first(2));
    const float own = out[static_cast<std::size_t>(who)];
    return (own > 0.0F) - (own < 0.0F);
  }

  // The open moves: `first`, then those with more credit.
  std::size_t sort_moves(Level& level, std::uint16_t first,
                         const std::vector<std::uint32_t>& credit) const {
    std::size_t count = 0;
    for (std::size_t move = 0; move < choices_; ++move) {
      if (level.open[move] != 0) level.order[count++] = static_cast<std::uint16_t>(move);
    }
    const auto end = level.order.begin() + static_cast<std::ptrdiff_t>(count);
    std::sort(level.order.begin(), end, [&](std::uint16_t a, std::uint16_t b) {
      if (a == first || b == first) return a == first && b != first;
      return credit[a] != credit[b] ? credit[a] > credit[b] : a < b;
    });
    return count;
  }

  // A move has cut a search off, `plies` before the end at most: the more that spared, the better.
  void praise(std::uint32_t& credit, std::uint32_t plies) {
    credit += plies * plies;
    if (credit < 1U << 30) return;
    for (std::vector<std::uint32_t>& all : credit_) {
      for (std::uint32_t& c : all) c /= 2;
    }
  }

  std::uint32_t plies_;
  std::uint32_t last_;
  std::size_t choices_;
  int left_ = 0;
  std::vector<Known> known_;
  std::vector<Level> levels_;
  std::array<std::vector<std::uint32_t>, kMaxSeats> credit_;  // of a seat's moves
};

}  // namespace ludus
