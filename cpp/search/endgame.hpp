// The last plies of a match, searched to their end: alpha-beta over won, drawn and lost for any
// game of two seats that move in turn. What a network foretells of a position that fills up is
// often wrong where it is cheap to know.
//
// Whether it can be won is asked first, then whether it can be held; moves that refuted something
// come first. What was found is kept from call to call, so a search that gave up is further the
// next time.
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

  // Of matches with at most `plies` to go, as far as the game's limit says (never without a limit);
  // `nodes` positions that are not known yet a call.
  Endgame(const GameSpec& spec, int plies, int nodes)
      : plies_(static_cast<std::uint32_t>(plies)),
        nodes_(nodes),
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

  // -1, 0 or +1 for the seat to move, if it is found.
  std::optional<int> solve(const typename G::Rules& rules, const State& s) {
    if (plies_ == 0 || last_ == 0 || G::tick(s) + plies_ < last_) return std::nullopt;
    left_ = nodes_;
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
    std::uint64_t hash = 0;
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
    const std::uint64_t hash = G::hash(rules, s);
    Known& known = known_[hash & (known_.size() - 1)];
    if (known.hash == hash) {
      if (known.low == known.high || known.low >= beta) return known.low;
      if (known.high <= alpha) return known.high;
    } else {
      known = {.hash = hash};
    }
    const std::uint16_t first = known.best;
    if (--left_ < 0 || depth >= levels_.size()) {
      left_ = -1;
      return 0;
    }
    Level& level = levels_[depth];
    G::legal(rules, s, who, level.open.data());
    int best = -2;
    const auto play = [&](std::size_t move) {
      copy_state<G>(rules, level.child, s);
      const auto action = static_cast<std::int32_t>(move);
      G::act(rules, level.child, who, std::span(&action, 1));
      do {
        G::advance(rules, level.child);
      } while (!G::status(rules, level.child).over && G::to_act(rules, level.child) == 0);
      return G::status(rules, level.child).over;
    };
    // Ends first: they cost nothing, and a win at once needs no search.
    for (std::size_t move = 0; move < choices_ && best < beta; ++move) {
      if (level.open[move] == 0 || !play(move)) continue;
      level.open[move] = 0;
      std::array<float, kMaxSeats> out{};
      G::outcome(rules, level.child, std::span(out).first(2));
      const float own = out[static_cast<std::size_t>(who)];
      best = std::max(best, (own > 0.0F) - (own < 0.0F));  // as the tree proves it
    }
    std::vector<std::uint32_t>& credit = credit_[static_cast<std::size_t>(who)];
    const std::size_t count = best < beta ? sort_moves(level, first, credit) : 0;
    std::uint16_t chosen = kNoMove;
    for (std::size_t i = 0; i < count && best < beta; ++i) {
      const std::uint16_t move = level.order[i];
      play(move);
      const int next = seat_to_move(rules, level.child);
      const int floor = std::max(alpha, best);
      const int value = next == who ? search(rules, level.child, next, floor, beta, depth + 1)
                                    : -search(rules, level.child, next, -beta, -floor, depth + 1);
      if (left_ < 0) return 0;
      if (value <= best) continue;
      best = value;
      chosen = move;
      if (best >= beta) praise(credit[move], last_ - G::tick(s));
    }
    // Another position may have taken the place meanwhile.
    Known& found = known_[hash & (known_.size() - 1)];
    if (found.hash != hash) found = {.hash = hash};
    if (chosen != kNoMove) found.best = chosen;
    if (best > alpha || best == 1)
      found.low = static_cast<std::int8_t>(std::max<int>(found.low, best));
    if (best < beta || best == -1)
      found.high = static_cast<std::int8_t>(std::min<int>(found.high, best));
    return best;
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
  int nodes_;
  std::uint32_t last_;
  std::size_t choices_;
  int left_ = 0;
  std::vector<Known> known_;
  std::vector<Level> levels_;
  std::array<std::vector<std::uint32_t>, kMaxSeats> credit_;  // of a seat's moves
};

}  // namespace ludus
