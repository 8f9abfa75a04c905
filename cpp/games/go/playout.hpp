// Playout: a match played to its end by uniformly random moves that fill none of the mover's eyes.
// It evaluates a position by sampling, and measures the speed of the rules.
#pragma once

#include "games/go/scoring.hpp"

namespace ludus::go {

template <int N>
class Playout {
 public:
  static constexpr int kPoints = N * N;

  // From `board`, `c` to move. No suicides, whatever the rules: they would never end. Simple ko
  // only: superko would ask about boards before this one, and the length is bounded anyway. Gives
  // the turns played; the end is in board().
  int run(const Board<N>& board, int c, Rng& rng) {
    board_ = board;
    empties_.n = 0;
    board.empties().for_each([&](int p) { empties_.removed(p); });
    int passes = 0;
    int turns = 0;
    ahead_ = rng.next() >> 32;
    for (; passes < 2 && turns < 3 * kPoints; ++turns, c = 1 - c) {
      const int i = pick(c, rng);
      if (i < 0) {
        ++passes;
        board_.ko = Board<N>::kOff;
        continue;
      }
      passes = 0;
      const int p = empties_.list[static_cast<std::size_t>(i)];
      empties_.list[static_cast<std::size_t>(i)] =
          empties_.list[static_cast<std::size_t>(--empties_.n)];
      board_.template play<true>(c, p, empties_);
    }
    board_.stones = board_.stones_by_link();
    return turns;
  }

  [[nodiscard]] const Board<N>& board() const { return board_; }

 private:
  // Draws are made one ahead, off the path from a draw to the branch on what it found.
  //
  // Index in the list of a uniformly random one of the good moves, or -1. What turns out bad is
  // swapped behind the candidates, so that nothing is drawn twice and nothing is drawn too often.
  int pick(int c, Rng& rng) {
    for (int left = empties_.n; left > 0; --left) {
      const auto i = static_cast<std::size_t>((ahead_ * static_cast<std::uint64_t>(left)) >> 32);
      ahead_ = rng.next() >> 32;
      const int p = empties_.list[i];
      if (board_.has_empty_neighbour(p) ||
          (!board_.eyelike(c, p) && board_.playable(c, p, false))) {
        return static_cast<int>(i);
      }
      std::swap(empties_.list[i], empties_.list[static_cast<std::size_t>(left - 1)]);
    }
    return -1;
  }

  struct Empties {
    std::array<std::uint16_t, kPoints> list{};
    int n = 0;
    void removed(int p) { list[static_cast<std::size_t>(n++)] = static_cast<std::uint16_t>(p); }
  };
  Board<N> board_;
  Empties empties_;
  std::uint64_t ahead_ = 0;
};

}  // namespace ludus::go
