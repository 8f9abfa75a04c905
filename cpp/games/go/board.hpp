// Stones, chains and pseudo-liberties of one position, updated move by move. Knows what a capture,
// a suicide and a simple ko are; repetition, passes and turns are the match's (position.hpp).
//
// One 16-bit word a point holds all that a move needs about its neighbours, without a branch:
//   colour bit | head          a stone; head = the point that stands for its chain
//   kFree | kOff               empty
//   both colour bits | kOff    off the board
// Liberties are counted at the head, as pseudo-liberties: one for every pair of a stone and an
// empty neighbour. They are 0 exactly when the chain has none, and cost one addition where true
// ones cost a search. What empty points and the edge are counted goes to [kOff], which no one
// reads.
#pragma once

#include "games/go/topology.hpp"

namespace ludus::go {

// Receives what a move takes off the board; Board::play is compiled once for each kind.
struct NoSink {
  void removed(int /*point*/) {}
};

template <int N>
struct Board {
  using T = Topology<N>;
  using Set = Points<N>;
  static constexpr int kPoints = N * N;
  static constexpr int kOff = T::kOff;

  static constexpr std::uint16_t kFree = 0x8000;
  static constexpr std::uint16_t kColours = 0x6000;
  static constexpr std::uint16_t kLow = 0x1fff;
  static constexpr std::uint16_t kEmpty = kFree | kOff;
  static constexpr std::uint16_t kEdge = kColours | kOff;

  std::uint64_t hash = 0;                           // of the stones: kZobrist, combined by xor
  std::array<Set, 2> stones{};                      // by colour
  std::array<std::uint16_t, kPoints + 1> link{};    // as above; [kOff] is kEdge
  std::array<std::uint16_t, kPoints + 1> next{};    // the next stone of the chain, in a circle
  std::array<std::uint16_t, kPoints + 1> pseudo{};  // liberties of the chain, at its head
  std::uint16_t ko = kOff;                          // where the seat to move may not retake at once
  std::uint16_t captured = 0;  // stones that the last move took (own ones included)

  void clear() {
    *this = Board{};
    link.fill(kEmpty);
    link[kOff] = kEdge;
  }

  [[nodiscard]] static constexpr std::uint16_t bit_of(int c) {
    return static_cast<std::uint16_t>(0x4000 >> c);
  }
  [[nodiscard]] static std::size_t at(int p) { return static_cast<std::size_t>(p); }
  [[nodiscard]] bool empty(int p) const { return link[at(p)] == kEmpty; }
  [[nodiscard]] Colour colour(int p) const {  // of a point on the board
    const std::uint16_t v = link[at(p)];
    return v == kEmpty ? kNone : (v & bit_of(0)) != 0 ? kBlack : kWhite;
  }
  [[nodiscard]] int head(int p) const { return link[at(p)] & kLow; }  // of the chain of a stone
  [[nodiscard]] Set occupied() const { return stones[0] | stones[1]; }
  [[nodiscard]] Set empties() const { return Set::all() - occupied(); }

  // The stones by colour, also of a lean board.
  [[nodiscard]] std::array<Set, 2> stones_by_link() const {
    std::array<Set, 2> sets{};
    for (int p = 0; p < kPoints; ++p) {
      sets[0].add(p, (link[at(p)] & bit_of(0)) != 0);
      sets[1].add(p, (link[at(p)] & bit_of(1)) != 0);
    }
    return sets;
  }

  template <class Fn>
  void for_each_stone(int head, Fn&& fn) const {
    int s = head;
    do {
      fn(s);
      s = next[at(s)];
    } while (s != head);
  }
  [[nodiscard]] Set chain(int head) const {
    Set set;
    for_each_stone(head, [&](int s) { set.set(s); });
    return set;
  }
  // True liberties of a chain. Costs a walk over its stones.
  [[nodiscard]] Set liberties(int head) const {
    Set set;
    for_each_stone(head, [&](int s) {
      for (const int n : T::kNeighbours[at(s)]) {
        if (empty(n)) set.set(n);
      }
    });
    return set;
  }
  // The only liberty of a chain, or kOff if it has another.
  [[nodiscard]] int only_liberty(int head) const {
    int found = kOff;
    int s = head;
    do {
      for (const int n : T::kNeighbours[at(s)]) {
        if (!empty(n) || n == found) continue;
        if (found != kOff) return kOff;
        found = n;
      }
      s = next[at(s)];
    } while (s != head);
    return found;
  }

  // Effect of a stone of `c` on an empty point.
  struct Effect {
    bool captures = false;  // takes opponent stones
    bool lives = false;     // its chain has a liberty afterwards, captures counted
  };
  [[nodiscard]] Effect effect(int c, int p) const {
    const Around four(*this, p);
    const std::array<bool, 4> last = last_liberties(four);
    Effect e{.captures = false, .lives = four.any_free()};
    for (std::size_t i = 0; i < 4; ++i) {
      e.lives |= four.is(i, c) & !last[i];
      e.captures |= four.is(i, 1 - c) & last[i];
    }
    e.lives |= e.captures;
    return e;
  }

  [[nodiscard]] bool has_empty_neighbour(int p) const { return Around(*this, p).any_free(); }
  // Whether the rules of liberties and simple ko allow a stone of `c` on empty point p.
  [[nodiscard]] bool playable(int c, int p, bool suicide) const {
    if (has_empty_neighbour(p)) return true;
    if (p == ko) return false;
    return suicide || effect(c, p).lives;
  }

  // The hash after a stone of `c` on empty point p, captures and suicide counted.
  [[nodiscard]] std::uint64_t hash_after(int c, int p) const {
    std::uint64_t h = hash ^ kZobrist[at(c)][at(p)];
    const Around four(*this, p);
    const std::array<bool, 4> last = last_liberties(four);
    std::array<int, 4> taken{};
    std::size_t n = 0;
    const auto take = [&](bool own) {
      for (std::size_t i = 0; i < 4; ++i) {
        if (!four.is(i, own ? c : 1 - c)) continue;
        const int hd = four.head(i);
        bool seen = false;
        for (std::size_t j = 0; j < n; ++j) seen |= taken[j] == hd;
        if (seen || (!own && !last[i])) continue;
        taken[n++] = hd;
        const auto& z = kZobrist[at(own ? c : 1 - c)];
        for_each_stone(hd, [&](int s) { h ^= z[at(s)]; });
      }
    };
    take(false);
    if (n == 0 && !effect(c, p).lives) {
      take(true);
      h ^= kZobrist[at(c)][at(p)];
    }
    return h;
  }

  // Puts a stone of `c` on empty point p where playable() allows it. Gives the number of stones
  // removed; sink.removed(point) hears of each. A lean board keeps neither `hash` nor `stones`.
  template <bool kLean = false, class Sink>
  int play(int c, int p, Sink&& sink) {
    const Around four(*this, p);
    unsigned own = 0;  // bit i: neighbour i is of that kind
    unsigned taken = 0;
    for (std::size_t i = 0; i < 4; ++i) --pseudo[at(four.head(i))];
    for (std::size_t i = 0; i < 4; ++i) {
      own |= static_cast<unsigned>(four.is(i, c)) << i;
      taken |= static_cast<unsigned>(four.is(i, 1 - c) & (pseudo[at(four.head(i))] == 0)) << i;
    }
    if constexpr (!kLean) {
      stones[at(c)].set(p);
      hash ^= kZobrist[at(c)][at(p)];
    }

    int chain = p;
    if (own == 0) {
      link[at(p)] = static_cast<std::uint16_t>(bit_of(c) | p);
      next[at(p)] = static_cast<std::uint16_t>(p);
      pseudo[at(p)] = four.free();
    } else {  // one stone more in the circle of the first chain
      chain = four.head(static_cast<std::size_t>(std::countr_zero(own)));
      link[at(p)] = static_cast<std::uint16_t>(bit_of(c) | chain);
      next[at(p)] = next[at(chain)];
      next[at(chain)] = static_cast<std::uint16_t>(p);
      pseudo[at(chain)] += four.free();
    }
    int removed = 0;
    int last_removed = kOff;
    for (; taken != 0; taken &= taken - 1) {
      const int h = four.head(static_cast<std::size_t>(std::countr_zero(taken)));
      if (empty(h)) continue;  // a chain that touches p twice is gone already
      last_removed = h;
      removed += remove<kLean>(h, 1 - c, sink);
    }
    for (own &= own - 1; own != 0; own &= own - 1) {  // those that it connects with the first
      const int h = head(T::kNeighbours[at(p)][static_cast<std::size_t>(std::countr_zero(own))]);
      if (h != chain) chain = merge(h, chain, c);
    }
    ko = kOff;
    if (pseudo[at(chain)] == 0) {
      removed += remove<kLean>(chain, c, sink);
    } else if (removed == 1 && next[at(p)] == p && pseudo[at(p)] == 1) {
      ko = static_cast<std::uint16_t>(
          last_removed);  // a lone stone whose one liberty is the taken one
    }
    captured = static_cast<std::uint16_t>(removed);
    return removed;
  }

  // Whether p is a point that `c` should not fill in a random playout: all neighbours its own, and
  // not more than one diagonal the opponent's (none at the edge).
  [[nodiscard]] bool eyelike(int c, int p) const {
    const auto& four = T::kNeighbours[at(p)];
    if ((link[four[0]] & link[four[1]] & link[four[2]] & link[four[3]] & bit_of(c)) == 0)
      return false;
    unsigned against = 0;
    unsigned edge = 0;
    for (const std::uint16_t d : T::kDiagonals[at(p)]) {
      const std::uint16_t v = link[d];
      edge |= d == kOff ? 1U : 0U;
      against += (v & kColours) == bit_of(1 - c) ? 1U : 0U;
    }
    return against + edge < 2;
  }

 private:
  // The four neighbours of a point, as they are now.
  struct Around {
    std::array<std::uint16_t, 4> v;
    Around(const Board& board, int p) {
      const auto& four = T::kNeighbours[at(p)];
      for (std::size_t i = 0; i < 4; ++i) v[i] = board.link[four[i]];
    }
    [[nodiscard]] int head(std::size_t i) const { return v[i] & kLow; }
    [[nodiscard]] bool is(std::size_t i, int c) const { return (v[i] & kColours) == bit_of(c); }
    [[nodiscard]] bool any_free() const { return ((v[0] | v[1] | v[2] | v[3]) & kFree) != 0; }
    [[nodiscard]] std::uint16_t free() const {
      return static_cast<std::uint16_t>((v[0] >> 15) + (v[1] >> 15) + (v[2] >> 15) + (v[3] >> 15));
    }
  };
  // Whether all liberties that the chain of each neighbour has are those in the point between them.
  [[nodiscard]] std::array<bool, 4> last_liberties(const Around& four) const {
    std::array<bool, 4> last{};
    for (std::size_t i = 0; i < 4; ++i) {
      int touching = 0;
      for (std::size_t j = 0; j < 4; ++j) touching += four.head(j) == four.head(i) ? 1 : 0;
      last[i] = pseudo[at(four.head(i))] == touching;
    }
    return last;
  }

  template <bool kLean, class Sink>
  int remove(int hd, int c, Sink&& sink) {
    int n = 0;
    int s = hd;
    do {
      link[at(s)] = kEmpty;
      if constexpr (!kLean) {
        stones[at(c)].clear(s);
        hash ^= kZobrist[at(c)][at(s)];
      }
      // Stones of this chain are leaving too: what is counted at their head is never read.
      for (const std::uint16_t q : T::kNeighbours[at(s)]) ++pseudo[at(head(q))];
      sink.removed(s);
      ++n;
      s = next[at(s)];
    } while (s != hd);
    return n;
  }

  // One chain of two, the shorter one relabelled; gives its head.
  int merge(int a, int b, int c) {
    int i = a;
    int j = b;
    do {  // side by side until one circle is closed
      i = next[at(i)];
      j = next[at(j)];
    } while (i != a && j != b);
    const int keep = i == a ? b : a;
    const int gone = i == a ? a : b;
    pseudo[at(keep)] = static_cast<std::uint16_t>(pseudo[at(keep)] + pseudo[at(gone)]);
    const auto label = static_cast<std::uint16_t>(bit_of(c) | keep);
    int s = gone;
    do {
      link[at(s)] = label;
      s = next[at(s)];
    } while (s != gone);
    std::swap(next[at(keep)], next[at(gone)]);
    return keep;
  }
};

}  // namespace ludus::go
