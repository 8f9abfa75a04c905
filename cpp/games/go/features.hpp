// Observation of a position, packed as the spec in go.cpp defines.
#pragma once

#include "base/bit_writer.hpp"
#include "games/go/ladder.hpp"
#include "games/go/position.hpp"
#include "games/go/scoring.hpp"

namespace ludus::go {

template <int N>
void append(BitWriter& out, const Points<N>& set) {
  int left = N * N;
  for (const std::uint64_t v : set.w) {
    out.put(v & 0xffffffff, left < 32 ? left : 32);
    left -= 32;
    if (left <= 0) break;
    out.put(v >> 32, left < 32 ? left : 32);
    left -= 32;
  }
}

// AlphaGo Zero's 18 planes: own and opponent's stones now and in the seven positions before (newest
// first, interleaved), then one plane of ones if Black is to move and one if White is.
template <int N>
void write_history_planes(const Position<N>& p, int seat, int to_move, std::byte* bytes) {
  BitWriter out(bytes);
  for (int t = 0; t <= kPast; ++t) {
    append<N>(out, p.stones_before(t, seat));
    append<N>(out, p.stones_before(t, 1 - seat));
  }
  out.fill(to_move == kBlack, N * N);
  out.fill(to_move == kWhite, N * N);
  out.finish();
}

inline constexpr int kRichPlanes = 23;

// The position read for the policy: liberties, forbidden points, recent moves, life, ladders.
template <int N>
void write_rich_planes(const Position<N>& p, Ko ko, bool suicide, int seat, int to_move,
                       std::byte* bytes) {
  using Set = Points<N>;
  const Board<N>& b = p.board;
  BitWriter out(bytes);
  std::array<std::array<Set, 3>, 2> few{};  // by colour and true liberties 1, 2, 3
  for (std::size_t c = 0; c < 2; ++c) {
    Set left = b.stones[c];
    while (left.any()) {
      const int head = b.head(left.first());
      const Set chain = b.chain(head);
      left = left - chain;
      const int n = b.liberties(head).count();
      if (n <= 3)
        few[c][static_cast<std::size_t>(n - 1)] = few[c][static_cast<std::size_t>(n - 1)] | chain;
    }
  }
  const auto own = static_cast<std::size_t>(seat);
  const std::size_t other = 1 - own;
  append<N>(out, b.stones[own]);
  append<N>(out, b.stones[other]);
  for (const Set& s : few[own]) append<N>(out, s);
  for (const Set& s : few[other]) append<N>(out, s);
  append<N>(out, b.empties() - p.legal_points(ko, suicide, seat));
  for (const std::int16_t move : p.recent) {
    Set one;
    if (move >= 0 && move < N * N) one.set(move);
    append<N>(out, one);
  }
  for (const int c : {seat, 1 - seat}) {
    const PassAlive<N> alive(b, c);
    append<N>(out, alive.stones() | alive.territory());
  }
  append<N>(out, laddered<N>(b, seat, to_move == seat));
  append<N>(out, laddered<N>(b, 1 - seat, to_move != seat));
  append<N>(out, ladder_starts<N>(b, seat));
  out.fill(to_move == kBlack, N * N);
  out.fill(to_move == kWhite, N * N);
  out.fill(p.recent[0] == Position<N>::kPass, N * N);
  out.fill(true, N * N);
  out.finish();
}

}  // namespace ludus::go
