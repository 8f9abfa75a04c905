// Counts decision paths: the number of action sequences over n consecutive decision points. Two
// implementations of the same rules agree on these numbers or one of them is wrong.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "game/match.hpp"

namespace ludus {

template <Game G>
class Perft {
 public:
  // Seats that may act at the same tick decide jointly; decision points are `frame_skip` ticks
  // apart.
  Perft(MatchContext<G>& context, int frame_skip) : c_(context), skip_(frame_skip) {}

  // Paths of exactly `depth` decision points from this state; a match that ends earlier counts
  // nothing.
  std::uint64_t count(const typename G::State& state, int depth) {
    if (depth == 0) return 1;
    if (G::status(c_.rules, state).over) return 0;
    return seats(state, G::to_act(c_.rules, state), depth);
  }

 private:
  // Every action of the lowest seat of `left`, then of the others; then the world advances.
  std::uint64_t seats(const typename G::State& state, SeatMask left, int depth) {
    if (left == 0) {
      typename G::State next = state;
      do {
        G::advance(c_.rules, next);
      } while (!G::status(c_.rules, next).over &&
               (G::tick(next) % static_cast<std::uint32_t>(skip_) != 0 ||
                G::to_act(c_.rules, next) == 0));
      return count(next, depth - 1);
    }
    const int seat = std::countr_zero(left);
    std::vector<std::uint8_t> mask(c_.spec.mask_bytes());
    G::legal(c_.rules, state, seat, mask.data());
    std::array<std::int32_t, kMaxHeads> action{};
    return heads(state, left, depth, seat, mask.data(), 0, action);
  }

  std::uint64_t heads(const typename G::State& state, SeatMask left, int depth, int seat,
                      const std::uint8_t* mask, std::size_t head,
                      std::array<std::int32_t, kMaxHeads>& action) {
    if (head == c_.spec.heads.size()) return act(state, left, depth, seat, action);
    std::uint64_t total = 0;
    const auto h = static_cast<int>(head);
    action[head] = 0;
    if (c_.layout.count(mask, action, h) == 0) {  // does not matter here: one way to choose it
      return heads(state, left, depth, seat, mask, head + 1, action);
    }
    for (int choice = 0; choice < c_.layout.size(h); ++choice) {
      if (!c_.layout.legal(mask, action, h, choice)) continue;
      action[head] = choice;
      total += heads(state, left, depth, seat, mask, head + 1, action);
    }
    return total;
  }

  std::uint64_t act(const typename G::State& state, SeatMask left, int depth, int seat,
                    std::array<std::int32_t, kMaxHeads> action) {
    typename G::State next = state;
    G::act(c_.rules, next, seat, std::span(action).first(c_.spec.heads.size()));
    return seats(next, left & (left - 1), depth);
  }

  MatchContext<G>& c_;
  int skip_;
};

// From the start of match `seed`.
template <Game G>
std::uint64_t perft(const Params& params, MatchSeed seed, int frame_skip, int depth) {
  MatchContext<G> c(params);
  typename G::State state{};
  G::reset(c.rules, state, seed);
  return Perft<G>(c, frame_skip > 0 ? frame_skip : c.spec.default_frame_skip).count(state, depth);
}

}  // namespace ludus
