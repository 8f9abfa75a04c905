// Stones, chains and pseudo-liberties of one position, updated move by move. Knows what a capture,
// a suicide and a simple ko are; repetition, passes and turns are the match's (position.hpp).
//
// One 16-bit word a point says everything that a move asks about its neighbours:
//   0                                 empty
//   kHead | colour bit | liberties    the head of a chain
//   colour bit | point of the head    any other stone of it
//   kHead | both colour bits | ...    off the board
// Liberties are pseudo-liberties: one for every pair of a stone and an empty neighbour. They are 0
// exactly when the chain has none, and cost one addition where true ones cost a search.
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

  static constexpr std::uint16_t kHead = 0x8000;
  static constexpr std::uint16_t kColours = 0x6000;
  static constexpr std::uint16_t kEdge = kHead | kColours | 0x1000;
  static constexpr std::uint16_t kLow = 0x1fff;

  std::uint64_t hash = 0;                         // of the stones: kZobrist, combined by xor
  std::array<Set, 2> stones{};                    // by colour
  std::array<std::uint16_t, kPoints + 1> link{};  // as above; [kOff] is kEdge
  std::array<std::uint16_t, kPoints + 1> next{};  // the next stone of the chain, in a circle
  std::uint16_t ko = kOff;                        // where the seat to move may not retake at once
  std::uint16_t captured = 0;  // stones that the last move took (own ones included)

  void clear() {
    *this = Board{};
    link[kOff] = kEdge;
  }

  [[nodiscard]] static constexpr std::uint16_t bit_of(int c) {
    return static_cast<std::uint16_t>(0x4000 >> c);
  }
  [[nodiscard]] static std::size_t at(int p) { return static_cast<std::size_t>(p); }
  [[nodiscard]] bool empty(int p) const { return link[at(p)] == 0; }
  [[nodiscard]] Colour colour(int p) const {  // of a point on the board
    const std::uint16_t v = link[at(p)];
    return v == 0 ? kNone : (v & bit_of(0)) != 0 ? kBlack : kWhite;
  }
  [[nodiscard]] int head(int p) const {  // of the chain of a stone
    const std::uint16_t v = link[at(p)];
    return (v & kHead) != 0 ? p : v & kLow;
  }
  [[nodiscard]] int pseudo_liberties(int head) const { return link[at(head)] & kLow; }
  [[nodiscard]] Set occupied() const { return stones[0] | stones[1]; }
  [[nodiscard]] Set empties() const { return Set::all() - occupied(); }

  // The stones by colour, also of a lean board.
  [[nodiscard]] std::array<Set, 2> stones_by_link() const {
    std::array<Set, 2> sets{};
    for (int p = 0; p < kPoints; ++p) {
      if (link[at(p)] != 0) sets[at(colour(p))].set(p);
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
        if (link[at(n)] == 0) set.set(n);
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
        if (link[at(n)] != 0 || n == found) continue;
        if (found != kOff) return kOff;
        found = n;
      }
      s = next[at(s)];
    } while (s != head);
    return found;
  }

  // What a stone of `c` on an empty point would do.
  struct Effect {
    bool captures = false;  // takes opponent stones
    bool lives = false;     // its chain has a liberty afterwards, captures counted
  };
  [[nodiscard]] Effect effect(int c, int p) const {
    const auto& four = T::kNeighbours[at(p)];
    std::array<int, 4> heads{};
    std::array<std::uint16_t, 4> v{};
    bool open = false;
    for (std::size_t i = 0; i < 4; ++i) {
      v[i] = link[four[i]];
      open |= v[i] == 0;
      heads[i] = (v[i] & kHead) != 0 ? four[i] : v[i] & kLow;
    }
    Effect e{.captures = false, .lives = open};
    for (std::size_t i = 0; i < 4; ++i) {
      if (v[i] == 0 || four[i] == kOff) continue;
      int touching = 0;  // pseudo-liberties that the chain has in p
      for (std::size_t j = 0; j < 4; ++j) touching += v[j] != 0 && heads[j] == heads[i] ? 1 : 0;
      const bool last = (link[at(heads[i])] & kLow) == touching;
      if ((v[i] & bit_of(c)) != 0) {
        e.lives |= !last;
      } else {
        e.captures |= last;
      }
    }
    e.lives |= e.captures;
    return e;
  }

  [[nodiscard]] bool has_empty_neighbour(int p) const {
    const auto& four = T::kNeighbours[at(p)];
    return ((link[four[0]] == 0) | (link[four[1]] == 0) | (link[four[2]] == 0) |
            (link[four[3]] == 0)) != 0;
  }
  // Whether the rules of liberties and simple ko allow a stone of `c` on empty point p.
  [[nodiscard]] bool playable(int c, int p, bool suicide) const {
    if (has_empty_neighbour(p)) return true;
    if (p == ko) return false;
    return suicide || effect(c, p).lives;
  }

  // The hash after a stone of `c` on empty point p, captures and suicide counted.
  [[nodiscard]] std::uint64_t hash_after(int c, int p) const {
    std::uint64_t h = hash ^ kZobrist[at(c)][at(p)];
    const auto& four = T::kNeighbours[at(p)];
    std::array<int, 4> taken{};
    std::size_t n = 0;
    const auto take = [&](bool own) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::uint16_t v = link[four[i]];
        if (v == 0 || four[i] == kOff || ((v & bit_of(c)) != 0) != own) continue;
        const int hd = head(four[i]);
        bool seen = false;
        for (std::size_t j = 0; j < n; ++j) seen |= taken[j] == hd;
        if (seen || (!own && !only_touches(hd, four))) continue;
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
    const auto four = T::kNeighbours[at(p)];
    std::array<std::uint16_t, 4> heads{};
    unsigned open = 0;
    unsigned own = 0;  // bit i: neighbour i is of that kind
    unsigned other = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint16_t v = link[four[i]];
      open += v == 0 ? 1U : 0U;
      own |= ((v & kColours) == bit_of(c) ? 1U : 0U) << i;
      other |= ((v & kColours) == bit_of(1 - c) ? 1U : 0U) << i;
      const auto h = (v & kHead) != 0 ? four[i] : static_cast<std::uint16_t>(v & kLow);
      // Empty points have no count: the edge's takes the decrement and is restored below.
      heads[i] = v == 0 ? static_cast<std::uint16_t>(kOff) : h;
    }
    for (const std::uint16_t h : heads) --link[h];
    link[kOff] = kEdge;
    link[at(p)] = static_cast<std::uint16_t>(kHead | bit_of(c) | open);
    next[at(p)] = static_cast<std::uint16_t>(p);
    if constexpr (!kLean) {
      stones[at(c)].set(p);
      hash ^= kZobrist[at(c)][at(p)];
    }

    unsigned taken = 0;
    for (unsigned i = 0; i < 4; ++i) taken |= ((link[heads[i]] & kLow) == 0 ? 1U : 0U) << i;
    int removed = 0;
    int last_removed = kOff;
    for (unsigned m = taken & other; m != 0; m &= m - 1) {
      const int h = heads[static_cast<std::size_t>(std::countr_zero(m))];
      if (link[at(h)] == 0) continue;  // a chain that touches p twice is gone already
      last_removed = h;
      removed += remove<kLean>(h, 1 - c, sink);
    }
    int chain = p;
    for (; own != 0; own &= own - 1) {
      const int h = head(four[static_cast<std::size_t>(std::countr_zero(own))]);
      if (h != chain) chain = merge(h, chain, c);
    }
    ko = kOff;
    if ((link[at(chain)] & kLow) == 0) {
      removed += remove<kLean>(chain, c, sink);
    } else if (removed == 1 && next[at(p)] == p && (link[at(p)] & kLow) == 1) {
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
  // Whether all pseudo-liberties of a chain are those that it has in the point between `four`.
  [[nodiscard]] bool only_touches(int hd, const typename T::Four& four) const {
    int touching = 0;
    for (const int n : four) touching += link[at(n)] != 0 && head(n) == hd ? 1 : 0;
    return (link[at(hd)] & kLow) == touching;
  }

  template <bool kLean, class Sink>
  int remove(int hd, int c, Sink&& sink) {
    int n = 0;
    int s = hd;
    do {
      link[at(s)] = 0;
      if constexpr (!kLean) {
        stones[at(c)].clear(s);
        hash ^= kZobrist[at(c)][at(s)];
      }
      for (const std::uint16_t q : T::kNeighbours[at(s)]) {
        const std::uint16_t v = link[q];
        // Stones of this chain are leaving too; the edge has no liberties to gain.
        if (v == 0 || (v & bit_of(c)) != 0) continue;
        ++link[(v & kHead) != 0 ? q : v & kLow];
      }
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
    link[at(keep)] = static_cast<std::uint16_t>(link[at(keep)] + (link[at(gone)] & kLow));
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
