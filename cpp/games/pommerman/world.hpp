// State of a Pommerman match: one small struct without pointers.
//
// Cells. The board of side n <= 11 lies in a grid that is 12 cells wide: row r, column c is cell
// (r + 1) * 12 + c + 1. Everything around the board holds kOutside, so no step, ray or search needs
// a test of the border. Rising cell numbers are row-major order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/rng.hpp"

namespace ludus::pommerman {

inline constexpr int kMaxSize = 11;
inline constexpr int kWidth = kMaxSize + 1;
inline constexpr int kCells = 160;  // (kMaxSize + 2) * kWidth + 1, rounded up to whole words
inline constexpr int kAgents = 4;
// An agent lays at most one bomb a step and a bomb lasts ten: 10 of each agent's at any time.
inline constexpr int kMaxBombs = 40;
inline constexpr int kMaxAmmo = 10;
inline constexpr int kBombLife = 10;  // as laid; 9 when first seen
inline constexpr int kStartBlast = 2;
inline constexpr int kWords = 8;  // vocabulary of a radio word
inline constexpr int kMessageWords = 2;
inline constexpr int kRecent = 6;  // cells that SimpleAgent remembers

using Cell = std::uint8_t;

[[nodiscard]] constexpr Cell cell_at(int row, int column) {
  return static_cast<Cell>((row + 1) * kWidth + column + 1);
}
[[nodiscard]] constexpr int row_of(int cell) { return cell / kWidth - 1; }
[[nodiscard]] constexpr int column_of(int cell) { return cell % kWidth - 1; }

// Contents of a cell, numbered as in the original. 9 is never on a board.
enum Item : std::uint8_t {
  kPassage,
  kRigid,
  kWood,
  kBomb,
  kFlames,
  kFog,
  kExtraBomb,
  kIncrRange,
  kKick,
  kAgent0 = 10,
  kOutside = 15,
};

// Sets of items as bits.
using ItemSet = std::uint32_t;
[[nodiscard]] constexpr ItemSet set_of(int item) { return ItemSet{1} << item; }
[[nodiscard]] constexpr bool in(ItemSet set, int item) { return (set >> item & 1U) != 0; }
inline constexpr ItemSet kWalls = set_of(kRigid) | set_of(kWood) | set_of(kOutside);
inline constexpr ItemSet kPowerUps = set_of(kExtraBomb) | set_of(kIncrRange) | set_of(kKick);
inline constexpr ItemSet kAnyAgent = 0xfU << kAgent0;

enum Action : std::uint8_t { kStop, kUp, kDown, kLeft, kRight, kLayBomb, kActions };

// Of Action: what to add to a cell's number.
inline constexpr std::array<int, kActions> kOffset = {0, -kWidth, kWidth, -1, 1, 0};

[[nodiscard]] constexpr Cell next_cell(int cell, int action) {
  return static_cast<Cell>(cell + kOffset[static_cast<std::size_t>(action)]);
}

// A set of cells.
struct CellSet {
  std::array<std::uint64_t, 3> word{};

  constexpr void add(int cell) { word[index(cell)] |= std::uint64_t{1} << (cell & 63); }
  constexpr void remove(int cell) { word[index(cell)] &= ~(std::uint64_t{1} << (cell & 63)); }
  [[nodiscard]] constexpr bool has(int cell) const {
    return (word[index(cell)] >> (cell & 63) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool empty() const { return (word[0] | word[1] | word[2]) == 0; }
  // Calls fn(cell) in rising order.
  template <class Fn>
  constexpr void each(Fn&& fn) const {
    for (std::size_t w = 0; w < word.size(); ++w) {
      for (std::uint64_t left = word[w]; left != 0; left &= left - 1) {
        fn(static_cast<int>(w * 64) + std::countr_zero(left));
      }
    }
  }
  bool operator==(const CellSet&) const = default;

 private:
  static constexpr std::size_t index(int cell) { return static_cast<std::size_t>(cell) >> 6; }
};

struct Agent {
  Cell cell = 0;  // where it is or died
  std::uint8_t alive = 0;
  std::uint8_t ammo = 1;
  std::uint8_t blast = kStartBlast;
  std::uint8_t can_kick = 0;
};

struct Bomb {
  Cell cell = 0;
  std::uint8_t owner = 0;
  std::uint8_t life = kBombLife;
  std::uint8_t blast = kStartBlast;
  std::uint8_t moving = kStop;  // Action of its direction, kStop when it lies still
};

// Memory of the original's SimpleAgent.
struct SimpleMemory {
  std::array<Cell, kRecent> recent{};  // oldest first
  std::uint8_t recents = 0;
  std::uint8_t chased = kStop;  // last direction in which an enemy was followed
};

struct State {
  std::array<std::uint8_t, kCells> board{};
  std::array<std::uint8_t, kCells> hidden{};  // power-up under a wooden wall, 0 = none
  std::array<CellSet, 3> flames{};            // by remaining life
  std::array<Bomb, kMaxBombs> bomb{};         // in the order in which they were laid
  std::array<Agent, kAgents> agent{};
  std::array<SimpleMemory, kAgents> memory{};
  std::array<std::uint8_t, kAgents> chosen{};                               // Action
  std::array<std::array<std::uint8_t, kMessageWords>, kAgents> said{};      // with `chosen`
  std::array<std::array<std::uint8_t, kMessageWords>, kAgents> received{};  // from the teammate
  std::array<float, kAgents> reward{};                                      // of the last step
  std::uint8_t bombs = 0;
  std::uint8_t over = 0;
  std::uint16_t steps = 0;
  std::uint32_t unused = 0;
  Rng rng;
};

static_assert(std::is_trivially_copyable_v<State>);
static_assert(sizeof(State) <= 2048);

// Bit a = agent a lives.
[[nodiscard]] inline unsigned alive_mask(const State& s) {
  unsigned mask = 0;
  for (unsigned a = 0; a < kAgents; ++a) mask |= static_cast<unsigned>(s.agent[a].alive) << a;
  return mask;
}

}  // namespace ludus::pommerman
