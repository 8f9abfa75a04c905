// Reading ladders: whether ataris suffice to take a chain of one or two liberties.
//
// Exact for the moves that it looks at (the defender extends or takes a chain that is in atari, the
// attacker gives atari), simple ko included, until `budget` moves have been read; a ladder that is
// not settled by then counts as not working.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "games/go/board.hpp"
#include "games/go/go.hpp"

namespace ludus::go {

// Moves of the owner of the chain at p, in atari, that may save it: its liberty, and the last
// liberties of the chains that hold it.
template <int N>
[[nodiscard]] Points<N> ladder_replies(const Board<N>& b, int p) {
  const int d = b.colour(p);
  const int head = b.head(p);
  Points<N> tries = b.liberties(head);
  b.for_each_stone(head, [&](int s) {
    for (const int q : Topology<N>::kNeighbours[static_cast<std::size_t>(s)]) {
      if (q == Board<N>::kOff || b.colour(q) != 1 - d) continue;
      const int last = b.only_liberty(b.head(q));
      if (last != Board<N>::kOff) tries.set(last);
    }
  });
  return tries;
}

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
    if (b.liberties(b.head(p)).count() > 1) return true;
    bool escaped = false;
    ladder_replies(b, p).for_each([&](int q) {
      if (escaped || !b.playable(d, q, false)) return;
      Board<N> next = b;
      next.play(d, q, NoSink{});
      const int liberties = next.liberties(next.head(p)).count();
      escaped = liberties > 2 || (liberties == 2 && !attacker_takes(next, p));
    });
    return escaped;
  }

  // Whether the budget was enough.
  [[nodiscard]] bool settled() const { return budget_ >= 0; }

 private:
  int budget_;
};

// As LadderReader, with every branch read to its end: which first moves are right, and how the
// ladder goes when the side that wins it is quick and the other one holds out.
template <int N>
class LadderSolver {
 public:
  explicit LadderSolver(int budget) : budget_(budget), left_(budget) {}

  // Reads the chain at p, with its owner or its opponent to move.
  [[nodiscard]] Go::Ladder solve(const Board<N>& b, int p, bool owner_moves) {
    Go::Ladder out;
    if (b.empty(p)) return out;
    const Points<N> tries = moves(b, p, owner_moves);
    Line best;
    bool any = false;
    tries.for_each([&](int q) {
      out.tries.push_back(q);
      Line line = after(b, p, q, owner_moves);
      if (line.taken != owner_moves) out.right.push_back(q);
      if (!any || better(line, best, owner_moves)) best = std::move(line);
      any = true;
    });
    out.taken = any ? best.taken : owner_moves && b.liberties(b.head(p)).count() == 1;
    out.line.assign(best.moves.rbegin(), best.moves.rend());
    if (exhausted_) shallow(b, p, owner_moves, tries, out);
    out.reads = budget_ - std::max(left_, 0);
    return out;
  }

 private:
  static constexpr int kMaxDepth = 3 * N * N;

  struct Line {
    bool taken = false;
    std::vector<int> moves;  // the last one first
  };

  static bool better(const Line& a, const Line& b, bool owner_moves) {
    if (a.taken != b.taken) return a.taken != owner_moves;
    const bool wins = a.taken != owner_moves;
    return wins ? a.moves.size() < b.moves.size() : a.moves.size() > b.moves.size();
  }

  // Moves that the side to move tries; empty where there is no ladder to read.
  [[nodiscard]] static Points<N> moves(const Board<N>& b, int p, bool owner_moves) {
    const int d = b.colour(p);
    const Points<N> liberties = b.liberties(b.head(p));
    const int n = liberties.count();
    Points<N> found;
    if (n > 2 || (owner_moves && n > 1)) return found;
    (owner_moves ? ladder_replies(b, p) : liberties).for_each([&](int q) {
      if (b.playable(owner_moves ? d : 1 - d, q, false)) found.set(q);
    });
    return found;
  }

  // The ladder after the move q.
  [[nodiscard]] Line after(const Board<N>& b, int p, int q, bool owner_moves) {
    Line line;
    if (!owner_moves && b.liberties(b.head(p)).count() == 1) {
      line.taken = true;
    } else if (--left_ < 0 || depth_ >= kMaxDepth) {
      exhausted_ = true;
    } else {
      const int d = b.colour(p);
      Board<N> next = b;
      next.play(owner_moves ? d : 1 - d, q, NoSink{});
      ++depth_;
      const Points<N> left = next.liberties(next.head(p));
      if (owner_moves && left.count() == 1) {
        line = {.taken = true, .moves = {left.first()}};
      } else {
        line = best(next, p, !owner_moves);
      }
      --depth_;
    }
    line.moves.push_back(q);
    return line;
  }

  [[nodiscard]] Line best(const Board<N>& b, int p, bool owner_moves) {
    Line best;
    bool any = false;
    moves(b, p, owner_moves).for_each([&](int q) {
      if (exhausted_) return;
      Line line = after(b, p, q, owner_moves);
      if (!any || better(line, best, owner_moves)) best = std::move(line);
      any = true;
    });
    if (!any) best.taken = owner_moves && b.liberties(b.head(p)).count() == 1;
    return best;
  }

  // An answer without reading everything.
  void shallow(const Board<N>& b, int p, bool owner_moves, const Points<N>& tries,
               Go::Ladder& out) {
    out.line.clear();
    out.right.clear();
    const int d = b.colour(p);
    tries.for_each([&](int q) {
      Board<N> next = b;
      next.play(owner_moves ? d : 1 - d, q, NoSink{});
      LadderReader<N> reader(budget_);
      bool right = false;
      if (owner_moves) {
        const int n = next.liberties(next.head(p)).count();
        right = n > 2 || (n == 2 && !reader.attacker_takes(next, p));
      } else {
        right = !reader.defender_escapes(next, p);
      }
      if (right) out.right.push_back(q);
      out.settled = out.settled && reader.settled();
    });
    out.taken = out.right.empty() == owner_moves;
  }

  int budget_;
  int left_;
  int depth_ = 0;
  bool exhausted_ = false;
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
