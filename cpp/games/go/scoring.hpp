// Whose the board is: area by what stands on it, and what is alive whatever happens.
#pragma once

#include "games/go/board.hpp"

namespace ludus::go {

// Points that belong to each colour: its stones, and the empty points from which only its stones
// are reached. Everything on the board is alive.
template <int N>
std::array<Points<N>, 2> area(const std::array<Points<N>, 2>& stones) {
  const Points<N> empties = Points<N>::all() - stones[0] - stones[1];
  const Points<N> black = stones[0].flooded(empties);
  const Points<N> white = stones[1].flooded(empties);
  return {black - white, white - black};
}

template <int N>
int area_margin(const std::array<Points<N>, 2>& stones) {  // Black's points less White's
  const auto a = area<N>(stones);
  return a[0].count() - a[1].count();
}

// Chains of `c` that cannot be taken even if `c` always passes, and the points that they surround
// for good (D. B. Benson, Life in the game of Go, 1976): chains of which each keeps two regions
// that are vital to it. A region is a connected set of points that are not `c`'s, and vital to a
// chain when every empty point of it is a liberty of that chain.
template <int N>
class PassAlive {
 public:
  using Set = Points<N>;

  PassAlive(const Board<N>& board, int c) : c_(c) {
    const Set own = board.stones[static_cast<std::size_t>(c)];
    find_chains(board, own);
    find_regions(board, own);
    bool changed = true;
    while (changed) {
      changed = false;
      for (int i = 0; i < chains_n_; ++i) {
        if (chain_alive_[at(i)] && vital_regions(i) < 2) {
          chain_alive_[at(i)] = false;
          changed = true;
        }
      }
      if (!changed) break;
      Set dead;
      for (int i = 0; i < chains_n_; ++i) {
        if (!chain_alive_[at(i)]) dead = dead | chains_[at(i)];
      }
      const Set neighbours = dead.next_to();
      for (int r = 0; r < regions_n_; ++r) {
        if (region_alive_[at(r)] && (regions_[at(r)] & neighbours).any())
          region_alive_[at(r)] = false;
      }
    }
    for (int i = 0; i < chains_n_; ++i) {
      if (chain_alive_[at(i)]) stones_ = stones_ | chains_[at(i)];
    }
    for (int r = 0; r < regions_n_; ++r) {
      if (region_alive_[at(r)] && vital_to_some_[at(r)]) territory_ = territory_ | regions_[at(r)];
    }
  }

  [[nodiscard]] const Set& stones() const { return stones_; }
  // Regions that only such chains surround and in which the opponent cannot live: all their empty
  // points are liberties of one of those chains. What the opponent has in them is dead.
  [[nodiscard]] const Set& territory() const { return territory_; }

 private:
  static constexpr int kMany = N * N;
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void find_chains(const Board<N>& board, const Set& own) {
    Set left = own;
    while (left.any()) {
      const int head = board.head(left.first());
      chains_[at(chains_n_)] = board.chain(head);
      liberties_[at(chains_n_)] = board.liberties(head);
      chain_alive_[at(chains_n_)] = true;
      left = left - chains_[at(chains_n_++)];
    }
  }
  void find_regions(const Board<N>& board, const Set& own) {
    const Set others = Set::all() - own;
    const Set empties = board.empties();
    Set left = others;
    while (left.any()) {
      Set seed;
      seed.set(left.first());
      const Set region = seed.flooded(others);
      left = left - region;
      regions_[at(regions_n_)] = region;
      inner_[at(regions_n_)] = region & empties;
      region_alive_[at(regions_n_++)] = true;
    }
  }
  int vital_regions(int chain) {
    int n = 0;
    for (int r = 0; r < regions_n_; ++r) {
      if (!region_alive_[at(r)] || !inner_[at(r)].any()) continue;
      if ((inner_[at(r)] - liberties_[at(chain)]).any()) continue;
      vital_to_some_[at(r)] = true;
      ++n;
    }
    return n;
  }

  int c_;
  int chains_n_ = 0;
  int regions_n_ = 0;
  std::array<Set, kMany> chains_{}, liberties_{}, regions_{}, inner_{};
  std::array<bool, kMany> chain_alive_{}, region_alive_{}, vital_to_some_{};
  Set stones_, territory_;
};

}  // namespace ludus::go
