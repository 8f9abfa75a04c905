#include "games/connect_four/solver.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace ludus {
namespace {

using C = ConnectFour;
using Position = ConnectFourSolver::Position;

constexpr int kCells = C::kCells;

// Bounds as bytes 1 .. 255: an upper bound in the lower half, a lower bound in the upper half.
constexpr int kUpper = 64;
constexpr int kLower = 192;

}  // namespace

int Position::ply() const { return std::popcount(all); }

bool Position::full(int column) const { return (C::landing(all) & C::column_mask(column)) == 0; }

Position Position::played(int column) const {
  return {own ^ all, all | (C::landing(all) & C::column_mask(column))};
}

ConnectFourSolver::ConnectFourSolver(int mib) {
  if (mib < 1 || mib > 65536) {
    throw ParamError("solver: a table of " + std::to_string(mib) + " MiB, expected 1 to 65536");
  }
  const auto entries = std::bit_floor(static_cast<std::uint64_t>(mib) << 17);
  shift_ = 64 - std::countr_zero(entries);
  table_.assign(entries, 0);
}

void ConnectFourSolver::forget() { std::ranges::fill(table_, 0); }

std::size_t ConnectFourSolver::slot(std::uint64_t key) const {
  return key * 0x9e3779b97f4a7c15ULL >> shift_;
}

Position ConnectFourSolver::after(std::span<const int> columns) {
  Position p;
  for (const int c : columns) {
    if (c < 0 || c >= C::kColumns || p.lost() || p.full(c)) {
      throw GameError("connect_four: move " + std::to_string(p.ply() + 1) + ", column " +
                      std::to_string(c) + ", cannot be played");
    }
    p = p.played(c);
  }
  return p;
}

// Value of a position in which no stone of the seat to move wins at once.
int ConnectFourSolver::search(const Position& p, int alpha, int beta) {
  ++nodes_;
  const std::uint64_t moves = C::safe_moves(p.own, p.all);
  const int ply = p.ply();
  if (moves == 0) return ply == kCells ? 0 : -(kCells - ply) / 2;
  if (ply >= kCells - 2) return 0;  // no one wins with either of the last two stones

  // The other seat cannot win with its next stone, nor this one with this stone.
  int low = -(kCells - 2 - ply) / 2;
  int high = (kCells - 1 - ply) / 2;
  const std::uint64_t key = C::key_of(p.own, p.all);
  std::uint64_t& entry = table_[slot(key)];
  if (entry >> 8 == key) {
    const int bound = static_cast<int>(entry & 0xff);
    if (bound >= 128) {
      low = std::max(low, bound - kLower);
    } else {
      high = std::min(high, bound - kUpper);
    }
  }
  alpha = std::max(alpha, low);
  if (alpha >= beta) return alpha;
  beta = std::min(beta, high);
  if (alpha >= beta) return beta;

  const C::Ordered order = C::ordered(moves, p.own, p.all);
  for (std::size_t i = 0; i < static_cast<std::size_t>(order.count); ++i) {
    const std::uint64_t cell = order.cells[i];
    const int score = -search({p.own ^ p.all, p.all | cell}, -beta, -alpha);
    if (score >= beta) {
      table_[slot(key)] = key << 8 | static_cast<std::uint64_t>(score + kLower);
      return score;
    }
    alpha = std::max(alpha, score);
  }
  table_[slot(key)] = key << 8 | static_cast<std::uint64_t>(alpha + kUpper);
  return alpha;
}

int ConnectFourSolver::solve(const Position& p, bool sign_only) {
  const int ply = p.ply();
  if (p.lost() || ply == kCells) throw GameError("connect_four: the match is over");
  if ((C::landing(p.all) & C::threats(p.own, p.all)) != 0) {
    return sign_only ? 1 : (kCells + 1 - ply) / 2;
  }
  if (sign_only) {
    const int score = search(p, -1, 1);
    return (score > 0) - (score < 0);
  }
  int low = -(kCells - ply) / 2;
  int high = (kCells + 1 - ply) / 2;
  while (low < high) {  // null windows that close in, from 0 outwards
    int middle = low + (high - low) / 2;
    if (middle <= 0 && low / 2 < middle) middle = low / 2;
    if (middle >= 0 && high / 2 > middle) middle = high / 2;
    const int score = search(p, middle, middle + 1);
    (score <= middle ? high : low) = score;
  }
  return low;
}

std::array<int, C::kColumns> ConnectFourSolver::analyse(const Position& p, bool sign_only) {
  std::array<int, C::kColumns> scores{};
  for (int c = 0; c < C::kColumns; ++c) {
    const auto i = static_cast<std::size_t>(c);
    if (p.full(c)) {
      scores[i] = kIllegal;
      continue;
    }
    const Position next = p.played(c);
    if (next.lost()) {
      scores[i] = sign_only ? 1 : (kCells + 1 - p.ply()) / 2;
    } else {
      scores[i] = next.ply() == kCells ? 0 : -solve(next, sign_only);
    }
  }
  return scores;
}

}  // namespace ludus
