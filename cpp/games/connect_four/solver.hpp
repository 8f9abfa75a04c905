// Connect Four solved exactly: alpha-beta over bitboards with a table of positions. A tool for
// tests and for measuring players, not part of the game: it owns megabytes and remembers.
//
// A score counts the moves that the winner has in hand: playing the last stone of the board to win
// is 1, one own stone earlier 2, and so on; negative when the seat to move loses, 0 for a draw.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "games/connect_four/connect_four.hpp"

namespace ludus {

class ConnectFourSolver {
 public:
  struct Position {
    std::uint64_t own = 0;  // stones of the seat to move
    std::uint64_t all = 0;
    [[nodiscard]] int ply() const;
    // After a stone of the seat to move in a column that is not full; seen by the other seat.
    [[nodiscard]] Position played(int column) const;
    [[nodiscard]] bool full(int column) const;
    [[nodiscard]] bool lost() const { return ConnectFour::four(own ^ all); }  // the last move won
  };
  static constexpr int kIllegal = -1000;

  // The table takes the largest power of two that fits. Throws ParamError unless 1 <= mib <= 65536.
  explicit ConnectFourSolver(int mib);

  // After columns 0..6 from the empty board. Throws GameError unless they form an unfinished match.
  static Position after(std::span<const int> columns);

  // The score of a position that is not over; its sign alone (which is found sooner) if
  // `sign_only`.
  int solve(const Position& p, bool sign_only);
  // Value of each column to the seat to move; kIllegal where it is full.
  std::array<int, ConnectFour::kColumns> analyse(const Position& p, bool sign_only);

  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }  // since it was made
  void forget();

 private:
  int search(const Position& p, int alpha, int beta);
  [[nodiscard]] std::size_t slot(std::uint64_t key) const;

  std::vector<std::uint64_t>
      table_;  // key << 8 | bound + 128 (upper) or bound + 192 (lower); 0 = free
  int shift_ = 0;
  std::uint64_t nodes_ = 0;
};

}  // namespace ludus
