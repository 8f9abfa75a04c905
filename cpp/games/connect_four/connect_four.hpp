// Connect Four on the standard board of seven columns and six rows, as two bitboards.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>

#include "game/game.hpp"
#include "game/state.hpp"
#include "game/turns.hpp"

namespace ludus {

struct ConnectFour {
  static constexpr const char* kName = "connect_four";
  static constexpr int kColumns = 7;
  static constexpr int kRows = 6;
  static constexpr int kCells = kColumns * kRows;
  // A column is kRows bits, the lowest row first, and one bit that stays empty, so that no line of
  // four runs from the top of one column into the next: bit = column * kStride + row from below.
  static constexpr int kStride = kRows + 1;

  // Observed features in addition to the stones: none, or planes derived from them.
  enum class Features : std::uint8_t { stones, threats, parity };

  struct Rules {
    Opens opens = Opens::seat0;
    Features features = Features::stones;
  };

  struct State {
    Rng rng;                                // the match's own stream, for bots that draw
    std::array<std::uint64_t, 2> stones{};  // one bitboard a seat
    std::uint32_t tick = 0;
    std::uint8_t to_move = 0;
    std::int8_t winner = -1;  // seat, or -1 while no one has four in a row
    std::int8_t chosen = -1;  // column queued by act/bot, played by advance
    std::int8_t last = -1;    // column of the last move, or -1; for viewers
  };

  // Whether a bitboard holds four in a row.
  static bool four(std::uint64_t stones) {
    for (const int step : {1, kStride - 1, kStride, kStride + 1}) {
      const std::uint64_t pairs = stones & stones >> step;
      if ((pairs & pairs >> 2 * step) != 0) return true;
    }
    return false;
  }
  static constexpr std::uint64_t kBottom = 0x0000040810204081;  // the lowest cell of each column
  static constexpr std::uint64_t kBoard = kBottom * ((1U << kRows) - 1);
  static constexpr std::uint64_t column_mask(int column) {
    return std::uint64_t{(1U << kRows) - 1} << column * kStride;
  }
  // The cells that a stone dropped now would come to rest in, one a column that is not full.
  static std::uint64_t landing(std::uint64_t occupied) { return (occupied + kBottom) & kBoard; }

  // Free cells, reachable yet or not, in which one more of `stones` would complete four.
  static std::uint64_t threats(std::uint64_t stones, std::uint64_t occupied) {
    std::uint64_t found = stones << 1 & stones << 2 & stones << 3;
    for (const int d : {kStride - 1, kStride, kStride + 1}) {
      const std::uint64_t above = stones << d & stones << 2 * d;
      const std::uint64_t below = stones >> d & stones >> 2 * d;
      found |= above & (stones << 3 * d | stones >> d);
      found |= below & (stones >> 3 * d | stones << d);
    }
    return found & kBoard & ~occupied;
  }

  // Cells to play in that do not let the opponent win with its next stone, for a seat that cannot
  // win with this one; 0 when all do.
  static std::uint64_t safe_moves(std::uint64_t own, std::uint64_t occupied) {
    std::uint64_t moves = landing(occupied);
    const std::uint64_t against = threats(own ^ occupied, occupied);
    if (const std::uint64_t forced = moves & against; forced != 0) {
      if ((forced & (forced - 1)) != 0) return 0;  // two at once cannot be stopped
      moves = forced;
    }
    return moves & ~(against >> 1);  // nor may it be given the cell above
  }

  // `moves` as cells: those that make more threats first, the middle before the edges among equals.
  struct Ordered {
    std::array<std::uint64_t, kColumns> cells{};
    int count = 0;
  };
  static Ordered ordered(std::uint64_t moves, std::uint64_t own, std::uint64_t occupied) {
    Ordered out;
    std::array<int, kColumns> worth{};
    for (const int c : {3, 2, 4, 1, 5, 0, 6}) {
      const std::uint64_t cell = moves & column_mask(c);
      if (cell == 0) continue;
      const int made = std::popcount(threats(own | cell, occupied | cell));
      auto at = static_cast<std::size_t>(out.count++);
      for (; at > 0 && worth[at - 1] < made; --at) {
        worth[at] = worth[at - 1];
        out.cells[at] = out.cells[at - 1];
      }
      worth[at] = made;
      out.cells[at] = cell;
    }
    return out;
  }

  // One number a position for its seat to move, the same for its mirror image where there may be
  // many of both.
  static std::uint64_t key_of(std::uint64_t own, std::uint64_t occupied) {
    const std::uint64_t key = own + occupied + kBottom;
    if (std::popcount(occupied) > 16) return key;
    return std::min(key, mirrored(own) + mirrored(occupied) + kBottom);
  }
  static std::uint64_t mirrored(std::uint64_t b) {
    std::uint64_t r = 0;
    for (int c = 0; c < kColumns; ++c) {
      const std::uint64_t column = b >> c * kStride & ((1U << kStride) - 1);
      r |= column << (kColumns - 1 - c) * kStride;
    }
    return r;
  }

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static SeatMask to_act(const Rules& rules, const State& s);
  static void act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action);
  static void bot(const Rules& rules, State& s, int seat, int bot);
  static void bot_choice(const Rules& rules, State& s, int seat, int bot,
                         std::span<std::int32_t> action);
  static void advance(const Rules& rules, State& s);
  static std::uint32_t tick(const State& s) { return s.tick; }
  static Status status(const Rules& rules, const State& s);
  static void rewards(const Rules& rules, const State& s, std::span<float> out);
  static void outcome(const Rules& rules, const State& s, std::span<float> out);
  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors);
  static void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);
  static std::uint64_t hash(const Rules& rules, const State& s);
  static std::uint64_t key(const Rules& rules, const State& s);
  static StaticEvaluation static_evaluation(const Rules& rules, const State& s,
                                            std::span<std::uint16_t> moves);
  static std::string view(const Rules& rules, const State& s);
};

static_assert(Game<ConnectFour> && HasStaticEvaluation<ConnectFour>);

}  // namespace ludus
