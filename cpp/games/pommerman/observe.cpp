#include "games/pommerman/observe.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace ludus::pommerman {
namespace {

constexpr int kAboutColumns = 10;

struct Window {
  int top, bottom, left, right;  // rows and columns that are seen, inclusive
  [[nodiscard]] bool has(int cell) const {
    const int r = row_of(cell);
    const int c = column_of(cell);
    return r >= top && r <= bottom && c >= left && c <= right;
  }
};

Window window_of(const Rules& rules, const State& s, int seat) {
  const int last = rules.size - 1;
  if (!rules.fog) return {0, last, 0, last};
  const Cell own = s.agent[static_cast<std::size_t>(seat)].cell;
  const int r = row_of(own);
  const int c = column_of(own);
  return {std::max(0, r - kViewRadius), std::min(last, r + kViewRadius),
          std::max(0, c - kViewRadius), std::min(last, c + kViewRadius)};
}

// The number of agent `a` as seat `seat` counts: 0 is itself, then round the table.
int seen_from(const Rules& rules, int seat, int a) {
  return (a - seat + rules.seats) % rules.seats;
}

// Writes the three planes of a board of side n.
class BoardWriter {
 public:
  BoardWriter(const Rules& rules, const State& s, int seat, std::uint8_t* out)
      : rules_(rules),
        s_(s),
        window_(window_of(rules, s, seat)),
        seat_(seat),
        cell_(out),
        bomb_(out + rules.size * rules.size),
        blast_(out + 2 * rules.size * rules.size) {}

  void write() {
    items();
    std::memset(bomb_, 0, 2 * static_cast<std::size_t>(rules_.size * rules_.size));
    for (unsigned life = 0; life < 3; ++life) {  // the youngest of flames that share a cell counts
      s_.flames[life].each([&](int cell) {
        if (!window_.has(cell)) return;
        std::uint8_t& to = cell_[flat(cell)];
        to = static_cast<std::uint8_t>((to & 15U) | (life + 1) << 4);
      });
    }
    if (s_.bombs > 0) bombs();
  }

 private:
  [[nodiscard]] std::size_t flat(int cell) const {
    return rules_.flat[static_cast<std::size_t>(cell)];
  }

  // Rows are written as 16 bytes; what goes beyond a row is overwritten by the next one, and after
  // the last row lies the second plane, which is written later.
  void items() {
    using Row = std::array<std::uint64_t, 2>;
    static_assert(sizeof(Row) >= kMaxSize && cell_at(kMaxSize - 1, 0) + sizeof(Row) <= kCells);
    const int n = rules_.size;
    std::array<std::uint8_t, sizeof(Row)> shown{};
    std::memset(shown.data() + window_.left, 0xff,
                static_cast<std::size_t>(window_.right - window_.left + 1));
    const auto see = std::bit_cast<Row>(shown);
    constexpr std::uint64_t kFogs = 0x0101010101010101ULL * kFog;
    for (int r = 0; r < n; ++r) {
      Row row = {kFogs, kFogs};
      if (r >= window_.top && r <= window_.bottom) {
        std::memcpy(row.data(), s_.board.data() + cell_at(r, 0), sizeof row);
        for (std::size_t i = 0; i < row.size(); ++i) {
          row[i] = (row[i] & see[i]) | (kFogs & ~see[i]);
        }
      }
      std::memcpy(cell_ + r * n, row.data(), sizeof row);
    }
    for (int a = 0; a < rules_.seats; ++a) {
      const Cell cell = s_.agent[static_cast<std::size_t>(a)].cell;
      if (s_.board[cell] != kAgent0 + a || !window_.has(cell)) continue;
      cell_[flat(cell)] = static_cast<std::uint8_t>(kAgent0 + seen_from(rules_, seat_, a));
    }
  }

  // Bombs in sight, and the rays of their blasts in the order in which they go off: a bomb that a
  // ray reaches goes off with it.
  void bombs() {
    struct Seen {
      Cell cell;
      std::uint8_t blast, life;
    };
    std::array<Seen, kMaxBombs> seen;
    int n = 0;
    for (int b = 0; b < s_.bombs; ++b) {
      const Bomb& bomb = s_.bomb[static_cast<std::size_t>(b)];
      if (!window_.has(bomb.cell)) continue;
      const std::size_t at = flat(bomb.cell);
      bomb_[at] = static_cast<std::uint8_t>(bomb.blast | bomb.life << 4);
      blast_[at] = static_cast<std::uint8_t>(bomb.moving << 4);
      seen[static_cast<std::size_t>(n++)] = {bomb.cell, bomb.blast, bomb.life};
    }
    while (n > 0) {
      int next = 0;
      for (int i = 1; i < n; ++i) {
        if (seen[static_cast<std::size_t>(i)].life < seen[static_cast<std::size_t>(next)].life) {
          next = i;
        }
      }
      const Seen bomb = seen[static_cast<std::size_t>(next)];
      seen[static_cast<std::size_t>(next)] = seen[static_cast<std::size_t>(--n)];
      rays(bomb.cell, bomb.blast, bomb.life, [&](Cell reached) {
        if ((bomb_[flat(reached)] & 15U) == 0) return;
        for (int i = 0; i < n; ++i) {
          Seen& other = seen[static_cast<std::size_t>(i)];
          if (other.cell == reached) other.life = std::min(other.life, bomb.life);
        }
      });
    }
  }

  template <class Fn>
  void rays(Cell from, int strength, unsigned life, Fn&& reached) {
    reach(from, life);
    for (const int direction : {kUp, kDown, kLeft, kRight}) {
      Cell cell = from;
      for (int d = 1; d < strength; ++d) {
        cell = next_cell(cell, direction);
        const std::uint8_t item = s_.board[cell];
        if (item == kRigid || item == kOutside || !window_.has(cell)) break;
        reach(cell, life);
        reached(cell);
        if (item == kWood) break;
      }
    }
  }

  void reach(Cell cell, unsigned life) {
    std::uint8_t& to = blast_[flat(cell)];
    if ((to & 15U) == 0) to = static_cast<std::uint8_t>(to | life);  // the first is the soonest
  }

  const Rules& rules_;
  const State& s_;
  const Window window_;
  const int seat_;
  std::uint8_t* cell_;
  std::uint8_t* bomb_;
  std::uint8_t* blast_;
};

void observe_about(const Rules& rules, const State& s, int seat, std::byte* out) {
  const Agent& me = s.agent[static_cast<std::size_t>(seat)];
  std::array<std::uint16_t, kAboutColumns> row{};
  row[0] = static_cast<std::uint16_t>(row_of(me.cell));
  row[1] = static_cast<std::uint16_t>(column_of(me.cell));
  row[2] = me.ammo;
  row[3] = me.blast;
  row[4] = me.can_kick;
  for (int a = 0; a < rules.seats; ++a) {
    row[static_cast<std::size_t>(5 + seen_from(rules, seat, a))] =
        s.agent[static_cast<std::size_t>(a)].alive;
  }
  row[9] = s.steps;
  std::memcpy(out, row.data(), sizeof row);
}

// Whether a step onto `cell` may be worth offering under Mask::careful.
bool may_enter(const Rules& rules, const State& s, int seat, Cell cell, int direction) {
  const std::uint8_t item = s.board[cell];
  if (item == kFlames) {  // flames in their last step are gone before anyone moves
    return !s.flames[1].has(cell) && !s.flames[2].has(cell);
  }
  if (item != kBomb) return true;
  if (s.agent[static_cast<std::size_t>(seat)].can_kick == 0) return false;
  const Cell beyond = next_cell(cell, direction);
  if (rules.fog && !window_of(rules, s, seat).has(beyond)) return true;
  return s.board[beyond] == kPassage;
}

}  // namespace

std::vector<TensorSpec> tensors(const Rules& rules) {
  const int n = rules.size;
  std::vector<TensorSpec> t = {
      {.name = "board",
       .dtype = DType::u8,
       .shape = {3, n, n},
       .low = 0,
       .high = 255,
       .codec = "pommerman",
       .meaning =
           "two numbers of four bits a byte, low then high: item (agents counted from the "
           "observing seat) and flame life; blast strength and life of a bomb; steps until a "
           "blast in sight reaches the cell and a bomb's direction",
       .labels = {"item_and_flame", "strength_and_life", "blast_and_direction"}},
      {.name = "about",
       .dtype = DType::u16,
       .shape = {kAboutColumns},
       .low = 0,
       .high = 65'535,
       .meaning =
           "own position, equipment, who lives (own seat, then the others round the table, 0 "
           "where there is no seat), steps played",
       .labels = {"row", "column", "ammo", "blast_strength", "can_kick", "alive", "alive_1",
                  "alive_2", "alive_3", "step"}},
  };
  if (rules.radio()) {
    t.push_back({.name = "message",
                 .dtype = DType::bits,
                 .shape = {kMessageWords * kWords},
                 .low = 0,
                 .high = 1,
                 .meaning = "the two words that the teammate sent with its last action, one-hot",
                 .labels = {}});
  }
  return t;
}

void observe(const Rules& rules, const State& s, int seat, std::span<std::byte* const> out) {
  BoardWriter(rules, s, seat, reinterpret_cast<std::uint8_t*>(out[0])).write();
  observe_about(rules, s, seat, out[1]);
  if (!rules.radio()) return;
  const auto& words = s.received[static_cast<std::size_t>(seat)];
  for (std::size_t w = 0; w < kMessageWords; ++w) {
    out[2][w] = static_cast<std::byte>(1U << words[w]);
  }
}

void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask) {
  const Agent& me = s.agent[static_cast<std::size_t>(seat)];
  const std::size_t words = rules.radio() ? kMessageWords * kWords : 0;
  std::memset(mask, 1, kActions + words);
  if (rules.mask == Mask::all || me.alive == 0) return;
  for (const int d : {kUp, kDown, kLeft, kRight}) {
    const Cell target = next_cell(me.cell, d);
    bool offered = !in(kWalls, s.board[target]);
    if (rules.mask == Mask::careful) offered = offered && may_enter(rules, s, seat, target, d);
    mask[d] = offered ? 1 : 0;
  }
  bool bomb_here = me.ammo == 0;
  for (int b = 0; b < s.bombs && !bomb_here; ++b) {
    bomb_here = s.bomb[static_cast<std::size_t>(b)].cell == me.cell;
  }
  mask[kLayBomb] = bomb_here ? 0 : 1;
}

}  // namespace ludus::pommerman
