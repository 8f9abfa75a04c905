// Points of an N x N board: their neighbours, bit sets over them, and the random numbers that
// position hashes are made of. Point y * N + x, y = 0 the top row; N * N is off the board.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/rng.hpp"

namespace ludus::go {

inline constexpr int kMinSize = 2;
inline constexpr int kMaxSize = 19;
inline constexpr int kMaxPoints = kMaxSize * kMaxSize;

enum Colour : int { kBlack = 0, kWhite = 1, kNone = 2 };

// One number a colour and point, the same for every board size.
inline constexpr auto kZobrist = [] {
  std::array<std::array<std::uint64_t, kMaxPoints>, 2> table{};
  for (std::uint64_t c = 0; c < 2; ++c) {
    for (std::uint64_t p = 0; p < kMaxPoints; ++p) {
      table[c][p] = mix64(0x676f0000 + c * kMaxPoints + p + 1);
    }
  }
  return table;
}();
inline constexpr std::uint64_t kWhiteToMove = mix64(0x676f0001ULL << 16);

// A set of points of a board of N * N, one bit each.
template <int N>
struct Points {
  static constexpr int kBits = N * N;
  static constexpr int kWords = (kBits + 63) / 64;
  static constexpr std::uint64_t kLastWord =
      kBits % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << kBits % 64) - 1;

  std::array<std::uint64_t, kWords> w{};

  [[nodiscard]] bool has(int p) const { return (w[word(p)] >> (p & 63) & 1) != 0; }
  void set(int p) { w[word(p)] |= std::uint64_t{1} << (p & 63); }
  void add(int p, bool has) { w[word(p)] |= std::uint64_t{has} << (p & 63); }
  void clear(int p) { w[word(p)] &= ~(std::uint64_t{1} << (p & 63)); }
  [[nodiscard]] bool any() const {
    std::uint64_t all = 0;
    for (const std::uint64_t v : w) all |= v;
    return all != 0;
  }
  [[nodiscard]] int count() const {
    int n = 0;
    for (const std::uint64_t v : w) n += std::popcount(v);
    return n;
  }
  [[nodiscard]] int first() const {  // of a set that is not empty
    for (std::size_t i = 0; i < kWords; ++i) {
      if (w[i] != 0) return static_cast<int>(i) * 64 + std::countr_zero(w[i]);
    }
    return kBits;
  }
  [[nodiscard]] int nth(int n) const {  // the n-th from 0, of a set that has so many
    for (std::size_t i = 0; i < kWords; ++i) {
      const int here = std::popcount(w[i]);
      if (n < here) {
        std::uint64_t v = w[i];
        for (; n > 0; --n) v &= v - 1;
        return static_cast<int>(i) * 64 + std::countr_zero(v);
      }
      n -= here;
    }
    return kBits;
  }
  template <class Fn>
  void for_each(Fn&& fn) const {  // rising
    for (std::size_t i = 0; i < kWords; ++i) {
      for (std::uint64_t v = w[i]; v != 0; v &= v - 1) {
        fn(static_cast<int>(i) * 64 + std::countr_zero(v));
      }
    }
  }

  friend Points operator&(const Points& a, const Points& b) {
    Points r;
    for (std::size_t i = 0; i < kWords; ++i) r.w[i] = a.w[i] & b.w[i];
    return r;
  }
  friend Points operator|(const Points& a, const Points& b) {
    Points r;
    for (std::size_t i = 0; i < kWords; ++i) r.w[i] = a.w[i] | b.w[i];
    return r;
  }
  friend Points operator-(const Points& a, const Points& b) {
    Points r;
    for (std::size_t i = 0; i < kWords; ++i) r.w[i] = a.w[i] & ~b.w[i];
    return r;
  }
  friend bool operator==(const Points&, const Points&) = default;

  [[nodiscard]] static constexpr Points all() {
    Points r;
    for (std::uint64_t& v : r.w) v = ~std::uint64_t{0};
    r.w[kWords - 1] = kLastWord;
    return r;
  }
  [[nodiscard]] static constexpr Points column(int x) {
    Points r;
    for (int p = x; p < kBits; p += N) r.w[word(p)] |= std::uint64_t{1} << (p & 63);
    return r;
  }
  // Moved by `by` points up (towards higher numbers) or down; what leaves the board is dropped.
  [[nodiscard]] Points up(int by) const {
    Points r;
    for (std::size_t i = kWords; i-- > 0;) {
      r.w[i] = w[i] << by | (i > 0 ? w[i - 1] >> (64 - by) : 0);
    }
    r.w[kWords - 1] &= kLastWord;
    return r;
  }
  [[nodiscard]] Points down(int by) const {
    Points r;
    for (std::size_t i = 0; i < kWords; ++i) {
      r.w[i] = w[i] >> by | (i + 1 < kWords ? w[i + 1] << (64 - by) : 0);
    }
    return r;
  }
  // The set moved by one column to the right or to the left.
  [[nodiscard]] Points right() const {
    constexpr Points kNotLast = without(column(N - 1));
    return (*this & kNotLast).up(1);
  }
  [[nodiscard]] Points left() const {
    constexpr Points kNotFirst = without(column(0));
    return (*this & kNotFirst).down(1);
  }
  [[nodiscard]] Points next_to() const { return right() | left() | up(N) | down(N); }
  // The points of `within` connected to the set through `within`, and the set itself.
  [[nodiscard]] Points flooded(const Points& within) const {
    Points now = *this;
    for (;;) {
      const Points next = now | (now.next_to() & within);
      if (next == now) return now;
      now = next;
    }
  }

 private:
  static constexpr std::size_t word(int p) { return static_cast<std::size_t>(p) >> 6; }
  static constexpr Points without(const Points& b) {
    Points r = all();
    for (std::size_t i = 0; i < kWords; ++i) r.w[i] &= ~b.w[i];
    return r;
  }
};

// The point dx to the right of p and dy below it.
template <int N>
constexpr std::uint16_t point_at_offset(int p, int dx, int dy) {
  const int x = p % N + dx;
  const int y = p / N + dy;
  const bool inside = x >= 0 && y >= 0 && x < N && y < N;
  return static_cast<std::uint16_t>(inside ? y * N + x : N * N);
}

template <int N>
struct Topology {
  static constexpr int kPoints = N * N;
  static constexpr int kOff = kPoints;  // what stands for every point off the board

  using Four = std::array<std::uint16_t, 4>;
  static constexpr auto kNeighbours = [] {
    std::array<Four, kPoints> table{};
    for (int p = 0; p < kPoints; ++p) {
      table[static_cast<std::size_t>(p)] = {
          point_at_offset<N>(p, -1, 0), point_at_offset<N>(p, 1, 0), point_at_offset<N>(p, 0, -1),
          point_at_offset<N>(p, 0, 1)};
    }
    return table;
  }();
  static constexpr auto kDiagonals = [] {
    std::array<Four, kPoints> table{};
    for (int p = 0; p < kPoints; ++p) {
      table[static_cast<std::size_t>(p)] = {
          point_at_offset<N>(p, -1, -1), point_at_offset<N>(p, 1, -1), point_at_offset<N>(p, -1, 1),
          point_at_offset<N>(p, 1, 1)};
    }
    return table;
  }();
};

}  // namespace ludus::go
