// A board with its past: whose positions may not come back, and the last boards that features show.
//
// Repetition is found by hashes of 64 bits, all kept in order of play (`keys`, at the very end, so
// that a copy can stop at the last one in use). A filter of a few hundred bits answers first
// whether a hash can be among them at all.
#pragma once

#include <cstddef>
#include <cstring>

#include "games/go/board.hpp"

namespace ludus::go {

enum class Ko : std::uint8_t {
  positional,   // no board may come back
  situational,  // no board may come back with the same seat to move
  simple,  // a stone just taken may not be retaken at once where that takes a single stone back
  none,    // everything may come back
};

[[nodiscard]] constexpr bool is_superko(Ko ko) {
  return ko == Ko::positional || ko == Ko::situational;
}

inline constexpr int kMaxTurns = 1024;
inline constexpr int kPast = 7;    // boards before the present one that are kept
inline constexpr int kRecent = 5;  // moves that are kept

template <int N>
struct Position {
  using Set = Points<N>;
  static constexpr int kPoints = N * N;
  static constexpr int kPass = kPoints;
  static constexpr std::size_t kFilterBits = N <= 9 ? 1024 : 2048;

  Board<N> board;
  std::array<std::array<Set, 2>, kPast> past{};  // a ring; past[newest] is the board one turn ago
  std::array<Set, 2> emptied{};  // points that once held a stone of that colour, freed
  std::array<std::int16_t, kRecent> recent{};  // moves, newest first; kPass; -1 = before the match
  std::uint8_t newest = 0;
  std::uint8_t kept = 0;       // boards in the ring
  std::uint16_t recorded = 0;  // keys in use
  std::uint64_t path = 0;      // hash of everything that happened
  std::array<std::uint64_t, kFilterBits / 64> filter{};
  std::array<std::uint64_t, kMaxTurns + 2> keys{};

  void clear() {
    std::memset(static_cast<void*>(this), 0, sizeof *this);
    board.clear();
    recent.fill(-1);
  }

  // Bytes that a copy must hold; what lies behind them is not in use.
  [[nodiscard]] std::size_t live_bytes() const {
    return offsetof(Position, keys) + recorded * sizeof(std::uint64_t);
  }

  [[nodiscard]] static std::uint64_t key(Ko ko, std::uint64_t hash, int to_move) {
    return ko == Ko::situational && to_move == kWhite ? hash ^ kWhiteToMove : hash;
  }
  // Makes the present board one that may not come back; `to_move` is whose turn it is now.
  void record(Ko ko, int to_move) {
    if (!is_superko(ko)) return;
    const std::uint64_t k = key(ko, board.hash, to_move);
    keys[recorded++] = k;
    filter[slot(k)] |= bit(k);
  }
  [[nodiscard]] bool seen(std::uint64_t k) const {
    if ((filter[slot(k)] & bit(k)) == 0) return false;
    for (std::size_t i = recorded; i-- > 0;) {
      if (keys[i] == k) return true;
    }
    return false;
  }

  // Whether superko forbids a stone of `c` on p, which the board itself allows.
  [[nodiscard]] bool repeats(Ko ko, int c, int p) const {
    if (!is_superko(ko) || !can_repeat(c, p)) return false;
    return seen(key(ko, board.hash_after(c, p), 1 - c));
  }

  [[nodiscard]] bool legal(Ko ko, bool suicide, int c, int p) const {
    if (p == kPass) return true;
    return board.empty(p) && board.playable(c, p, suicide) && !repeats(ko, c, p);
  }

  // All points that `c` may play on, the pass left out.
  [[nodiscard]] Set legal_points(Ko ko, bool suicide, int c) const {
    const Set empties = board.empties();
    Set r = empties & empties.next_to();
    (empties - r).for_each([&](int p) {
      if (board.playable(c, p, suicide) && !repeats(ko, c, p)) r.set(p);
    });
    if (is_superko(ko)) {
      (r & emptied[static_cast<std::size_t>(c)]).for_each([&](int p) {
        if (repeats(ko, c, p)) r.clear(p);
      });
    }
    return r;
  }

  // Plays a legal move or a pass of `c`.
  void play(Ko ko, int c, int p) {
    newest = newest == 0 ? kPast - 1 : newest - 1;
    past[newest] = board.stones;
    kept = kept < kPast ? static_cast<std::uint8_t>(kept + 1) : kPast;
    for (std::size_t i = kRecent - 1; i > 0; --i) recent[i] = recent[i - 1];
    recent[0] = static_cast<std::int16_t>(p);
    if (p == kPass) {
      board.ko = Board<N>::kOff;
      board.captured = 0;
    } else if (board.play(c, p, NoSink{}) > 0) {
      for (std::size_t k = 0; k < 2; ++k) {
        emptied[k] = emptied[k] | (past[newest][k] - board.stones[k]);
      }
    }
    if (ko == Ko::none) board.ko = Board<N>::kOff;
    path = mix64(path ^
                 (board.hash + static_cast<std::uint64_t>(p) * 2 + static_cast<std::uint64_t>(c)));
    record(ko, 1 - c);
  }

  // The stones of `c` that were on the board `turns` ago, 0 .. kPast; empty before the start.
  [[nodiscard]] Set stones_before(int turns, int c) const {
    if (turns == 0) return board.stones[static_cast<std::size_t>(c)];
    if (turns > kept) return {};
    return past[static_cast<std::size_t>((newest + turns - 1) % kPast)]
               [static_cast<std::size_t>(c)];
  }

 private:
  // A board that comes back has the new stone where it once stood, so the point has been freed
  // since. Only suicide gives a board without the new stone.
  [[nodiscard]] bool can_repeat(int c, int p) const {
    if (emptied[static_cast<std::size_t>(c)].has(p)) return true;
    return !board.has_empty_neighbour(p) && !board.effect(c, p).lives;
  }
  static std::size_t slot(std::uint64_t k) { return k % kFilterBits / 64; }
  static std::uint64_t bit(std::uint64_t k) { return std::uint64_t{1} << (k & 63); }
};

}  // namespace ludus::go
