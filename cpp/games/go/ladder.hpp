// Reading ladders: whether ataris suffice to take a chain of one or two liberties.
//
// Exact for the moves that it looks at (the defender extends or takes a chain that is in atari, the
// attacker gives atari), simple ko included, until `budget` moves have been read; a ladder that is
// not settled by then counts as not working.
#pragma once

#include "games/go/board.hpp"

namespace ludus::go {

template <int N>
class LadderReader {
 public:
  using Set = Points<N>;
  static constexpr int kBudget = 2000;

  explicit LadderReader(int budget = kBudget) : budget_(budget) {}

  // Whether the opponent of the chain at p, to move, takes it.
  bool attacker_takes(const Board<N>& b, int p) {
    if (b.empty(p) || --budget_ < 0) return false;
    const int d = b.colour(p);
    const int head = b.head(p);
    const Set liberties = b.liberties(head);
    const int n = liberties.count();
    if (n == 1) return b.playable(1 - d, liberties.first(), false);
    if (n > 2) return false;
    bool taken = false;
    liberties.for_each([&](int q) {
      if (taken || !b.playable(1 - d, q, false)) return;
      Board<N> next = b;
      next.play(1 - d, q, NoSink{});
      taken = !defender_escapes(next, p);
    });
    return taken;
  }

  // Whether the chain at p, in atari and its owner to move, gets away.
  bool defender_escapes(const Board<N>& b, int p) {
    if (b.empty(p)) return false;
    if (--budget_ < 0) return true;
    const int d = b.colour(p);
    const int head = b.head(p);
    Set tries = b.liberties(head);
    if (tries.count() > 1) return true;
    b.for_each_stone(head, [&](int s) {  // chains of the attacker that can be taken
      for (const int q : Topology<N>::kNeighbours[static_cast<std::size_t>(s)]) {
        if (q == Board<N>::kOff || b.colour(q) != 1 - d) continue;
        const int last = b.only_liberty(b.head(q));
        if (last != Board<N>::kOff) tries.set(last);
      }
    });
    bool escaped = false;
    tries.for_each([&](int q) {
      if (escaped || !b.playable(d, q, false)) return;
      Board<N> next = b;
      next.play(d, q, NoSink{});
      const int liberties = next.liberties(next.head(p)).count();
      escaped = liberties > 2 || (liberties == 2 && !attacker_takes(next, p));
    });
    return escaped;
  }

 private:
  int budget_;
};

// Chains of `c` that a ladder takes: in atari without a way out though it is their owner's turn, or
// with at most two liberties and taken when the opponent moves first.
template <int N>
Points<N> laddered(const Board<N>& b, int c, bool owner_to_move) {
  Points<N> found;
  Points<N> left = b.stones[static_cast<std::size_t>(c)];
  while (left.any()) {
    const int p = left.first();
    const int head = b.head(p);
    const Points<N> chain = b.chain(head);
    left = left - chain;
    const int n = b.liberties(head).count();
    if (n > 2 || (n == 2 && owner_to_move)) continue;
    LadderReader<N> reader;
    const bool taken = owner_to_move ? !reader.defender_escapes(b, p) : reader.attacker_takes(b, p);
    if (taken) found = found | chain;
  }
  return found;
}

// Moves of `c` that start a ladder which takes a chain of two liberties.
template <int N>
Points<N> ladder_starts(const Board<N>& b, int c) {
  Points<N> found;
  Points<N> left = b.stones[static_cast<std::size_t>(1 - c)];
  while (left.any()) {
    const int p = left.first();
    const int head = b.head(p);
    left = left - b.chain(head);
    const Points<N> liberties = b.liberties(head);
    if (liberties.count() != 2) continue;
    liberties.for_each([&](int q) {
      if (!b.playable(c, q, false)) return;
      Board<N> next = b;
      next.play(c, q, NoSink{});
      if (!LadderReader<N>().defender_escapes(next, p)) found.set(q);
    });
  }
  return found;
}

}  // namespace ludus::go
