#include "games/pommerman/simple.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ludus::pommerman {

ItemSet enemies_of(const Rules& rules, int seat) {
  const ItemSet others = kAnyAgent & ~set_of(kAgent0 + seat);
  return rules.teams() ? others & ~set_of(kAgent0 + (seat + 2) % kAgents) : others;
}

ItemSet passable_for(const Rules& rules, int seat) {
  return set_of(kPassage) | kPowerUps | (kAnyAgent & ~enemies_of(rules, seat));
}

void visible_board(const Rules& rules, const State& s, int seat,
                   std::array<std::uint8_t, kCells>& out) {
  const Cell own = s.agent[static_cast<std::size_t>(seat)].cell;
  const int n = rules.size;
  const int left = std::max(0, column_of(own) - kViewRadius);
  const int right = std::min(n - 1, column_of(own) + kViewRadius);
  out.fill(kOutside);
  for (int r = 0; r < n; ++r) {
    const Cell begin = cell_at(r, 0);
    std::memset(out.data() + begin, kFog, static_cast<std::size_t>(n));
    if (std::abs(r - row_of(own)) > kViewRadius) continue;
    const Cell from = cell_at(r, left);
    std::memcpy(out.data() + from, s.board.data() + from,
                static_cast<std::size_t>(right - left + 1));
  }
}

namespace {

constexpr std::uint8_t kNever = 255;  // a distance: listed but not reached
constexpr std::uint8_t kUnlisted = 254;
constexpr std::array<Action, 4> kDirections = {kUp, kDown, kLeft, kRight};

struct SeenBomb {
  Cell cell;
  std::uint8_t strength;
};

class Search {
 public:
  Search(const Rules& rules, State& s, int seat)
      : rules_(rules),
        s_(s),
        me_(s.agent[static_cast<std::size_t>(seat)]),
        memory_(s.memory[static_cast<std::size_t>(seat)]),
        seat_(seat),
        passable_(passable_for(rules, seat)),
        view_(s.board.data()) {
    if (rules.fog) {
      visible_board(rules, s, seat, masked_);
      view_ = masked_.data();
    }
  }

  Action decide() {
    see_bombs();
    walk();
    find_danger();
    if (unsafe_count_ > 0) return flee();
    if (enemy_adjacent() && may_bomb()) return kLayBomb;
    for (int enemy = 0; enemy < kAgents; ++enemy) {
      if (!in(enemies_of(rules_, seat_), kAgent0 + enemy)) continue;
      consider(enemy_cell_[static_cast<std::size_t>(enemy)], 3);
    }
    if (const Action d = towards(); d != kStop && (memory_.chased != d || s_.rng.coin())) {
      memory_.chased = d;
      return d;
    }
    forget_target();
    for (const auto& cells : powerups_) {
      cells.each([&](int cell) { consider(static_cast<Cell>(cell), 2); });
    }
    if (const Action d = towards(); d != kStop) return d;
    wood_.each([&](int cell) { consider(static_cast<Cell>(cell), 1); });
    if (towards() != kStop) return may_bomb() ? kLayBomb : kStop;
    wood_.each([&](int cell) { consider(static_cast<Cell>(cell), 2); });
    if (const Action d = towards(); d != kStop && !in_line(next_cell(me_.cell, d))) return d;
    return wander();
  }

 private:
  [[nodiscard]] bool can_pass(int cell) const {
    return in(passable_, view_[static_cast<std::size_t>(cell)]);
  }

  // Cells that show a bomb's strength, in row-major order; of bombs that share a cell the last
  // counts.
  void see_bombs() {
    for (int b = 0; b < s_.bombs; ++b) {
      const Bomb& bomb = s_.bomb[static_cast<std::size_t>(b)];
      if (view_[bomb.cell] == kFog) continue;
      int i = bombs_;
      while (i > 0 && bomb_[static_cast<std::size_t>(i - 1)].cell > bomb.cell) --i;
      if (i > 0 && bomb_[static_cast<std::size_t>(i - 1)].cell == bomb.cell) {
        bomb_[static_cast<std::size_t>(i - 1)].strength = bomb.blast;
        continue;
      }
      for (int k = bombs_++; k > i; --k) {
        bomb_[static_cast<std::size_t>(k)] = bomb_[static_cast<std::size_t>(k - 1)];
      }
      bomb_[static_cast<std::size_t>(i)] = {bomb.cell, bomb.blast};
    }
  }

  // Distances from my cell. Cells that cannot be passed get one but lead nowhere. Between equally
  // short ways the last one seen replaces the first with probability one half.
  void walk() {
    constexpr ItemSet kUnseen = set_of(kFog) | set_of(kRigid) | set_of(kFlames) | set_of(kOutside);
    const CellSet& reach = rules_.in_reach[me_.cell];
    distance_.fill(kUnlisted);
    reach.each([&](int cell) {
      const auto c = static_cast<std::size_t>(cell);
      const std::uint8_t item = view_[c];
      if (in(kUnseen, item)) return;
      distance_[c] = kNever;
      if (item == kWood) wood_.add(cell);
      if (in(kPowerUps, item)) powerups_[static_cast<std::size_t>(item - kExtraBomb)].add(cell);
      if (in(kAnyAgent, item)) {
        enemy_cell_[static_cast<std::size_t>(item - kAgent0)] = static_cast<Cell>(cell);
      }
    });
    distance_[me_.cell] = 0;
    queue_[0] = me_.cell;
    queued_ = 1;
    for (int head = 0; head < queued_; ++head) {
      const Cell p = queue_[static_cast<std::size_t>(head)];
      if (!can_pass(p)) continue;
      const auto v = static_cast<std::uint8_t>(distance_[p] + 1);
      for (const Action d : kDirections) {
        const Cell q = next_cell(p, d);
        const std::uint8_t old = distance_[q];
        if (old == kUnlisted) continue;
        if (v < old) {
          distance_[q] = v;
          before_[q] = p;
          queue_[static_cast<std::size_t>(queued_++)] = q;
        } else if (v == old && s_.rng.coin()) {
          before_[q] = p;
        }
      }
    }
  }

  void mark_unsafe(Action d, std::uint8_t range) {
    for (int i = 0; i < unsafe_count_; ++i) {
      auto& u = unsafe_[static_cast<std::size_t>(i)];
      if (u.direction != d) continue;
      u.range = std::max(u.range, range);
      return;
    }
    unsafe_[static_cast<std::size_t>(unsafe_count_++)] = {d, range};
  }

  // Directions in which a bomb close enough lies; walls between do not count.
  void find_danger() {
    for (int b = 0; b < bombs_; ++b) {
      const SeenBomb& bomb = bomb_[static_cast<std::size_t>(b)];
      const std::uint8_t d = distance_[bomb.cell];
      if (d >= kUnlisted || d > bomb.strength) continue;
      if (bomb.cell == me_.cell) {
        for (const Action every : {kRight, kLeft, kUp, kDown}) mark_unsafe(every, bomb.strength);
      } else if (row_of(bomb.cell) == row_of(me_.cell)) {
        mark_unsafe(bomb.cell > me_.cell ? kRight : kLeft, bomb.strength);
      } else if (column_of(bomb.cell) == column_of(me_.cell)) {
        mark_unsafe(bomb.cell > me_.cell ? kDown : kUp, bomb.strength);
      }
    }
  }

  Action flee() {
    std::array<Action, 4> safe{};
    std::uint32_t n = 0;
    if (unsafe_count_ == 4) {
      for (const Unsafe& u : unsafe_) {
        const Cell target = next_cell(me_.cell, u.direction);
        if (!can_pass(target) || !leads_out(target, u.range)) continue;
        safe[n++] = u.direction;
        break;
      }
    } else {
      unsigned off_board = 0;
      std::array<Action, 4> fallback{};  // towards a blast, but at least on the board
      std::uint32_t n_fallback = 0;
      const auto is_unsafe = [&](Action d) {
        return std::any_of(unsafe_.begin(), unsafe_.begin() + unsafe_count_,
                           [d](const Unsafe& u) { return u.direction == d; });
      };
      for (const Action d : kDirections) {
        const Cell target = next_cell(me_.cell, d);
        if (view_[target] == kOutside) {
          off_board |= 1U << d;
        } else if (!is_unsafe(d) && (can_pass(target) || view_[target] == kFog)) {
          safe[n++] = d;
        }
      }
      for (int i = 0; n < 1 && i < unsafe_count_; ++i) {
        const Action d = unsafe_[static_cast<std::size_t>(i)].direction;
        if ((off_board >> d & 1U) == 0) fallback[n_fallback++] = d;
      }
      if (n == 0) {
        safe = fallback;
        n = n_fallback;
      }
    }
    if (n == 0) safe[n++] = kStop;
    return safe[s_.rng.below(n)];
  }

  // Whether some cell that can be walked to from `target`, my own cell apart, lies off both lines
  // through it or beyond `range`.
  [[nodiscard]] bool leads_out(Cell target, int range) const {
    std::array<Cell, kCells> todo;
    CellSet seen;
    int n = 0;
    todo[static_cast<std::size_t>(n++)] = target;
    seen.add(target);
    seen.add(me_.cell);  // a bomb lies there
    while (n > 0) {
      const Cell p = todo[static_cast<std::size_t>(--n)];
      const int rows = std::abs(row_of(p) - row_of(target));
      const int columns = std::abs(column_of(p) - column_of(target));
      if ((rows != 0 && columns != 0) || rows + columns > range) return true;
      for (const Action d : kDirections) {
        const Cell q = next_cell(p, d);
        if (seen.has(q) || !can_pass(q)) continue;
        seen.add(q);
        todo[static_cast<std::size_t>(n++)] = q;
      }
    }
    return false;
  }

  [[nodiscard]] bool enemy_adjacent() const {
    for (int enemy = 0; enemy < kAgents; ++enemy) {
      const Cell cell = enemy_cell_[static_cast<std::size_t>(enemy)];
      if (cell != 0 && in(enemies_of(rules_, seat_), kAgent0 + enemy) && distance_[cell] == 1) {
        return true;
      }
    }
    return false;
  }

  // Whether a bomb laid here leaves somewhere to go. (Where it sees no free cell at all the
  // original ends with an error; here the answer is no.)
  [[nodiscard]] bool may_bomb() const {
    if (me_.ammo == 0) return false;
    for (int i = 0; i < queued_; ++i) {
      const Cell cell = queue_[static_cast<std::size_t>(i)];
      if (view_[cell] != kPassage) continue;
      if (distance_[cell] > me_.blast) return true;
      if (row_of(cell) != row_of(me_.cell) && column_of(cell) != column_of(me_.cell)) return true;
    }
    return false;
  }

  // Keeps the nearest of the cells offered, within `radius`; the last among equals.
  void consider(Cell cell, int radius) {
    if (cell == 0 || distance_[cell] > radius || distance_[cell] > target_distance_) return;
    target_ = cell;
    target_distance_ = distance_[cell];
  }
  void forget_target() {
    target_ = 0;
    target_distance_ = kNever;
  }

  // The first step on the way to the target, kStop without one.
  [[nodiscard]] Action towards() const {
    if (target_ == 0) return kStop;
    Cell step = target_;
    while (before_[step] != me_.cell) step = before_[step];
    for (const Action d : kDirections) {
      if (next_cell(me_.cell, d) == step) return d;
    }
    return kStop;
  }

  // Whether a bomb lies in the cell's row or column within its strength; walls do not count.
  [[nodiscard]] bool in_line(Cell cell) const {
    for (int b = 0; b < bombs_; ++b) {
      const SeenBomb& bomb = bomb_[static_cast<std::size_t>(b)];
      const int rows = std::abs(row_of(bomb.cell) - row_of(cell));
      const int columns = std::abs(column_of(bomb.cell) - column_of(cell));
      if ((rows == 0 && columns <= bomb.strength) || (columns == 0 && rows <= bomb.strength)) {
        return true;
      }
    }
    return false;
  }

  // Anywhere that is free, safe and, if possible, not where it was lately.
  Action wander() {
    std::array<Action, 5> ways{};
    std::uint32_t n = 0;
    for (const Action d : {kStop, kLeft, kRight, kUp, kDown}) {
      const Cell target = next_cell(me_.cell, d);
      if (can_pass(target) && !in_line(target)) ways[n++] = d;
    }
    std::array<Action, 5> fresh{};
    std::uint32_t n_fresh = 0;
    const auto recent = memory_.recent.begin();
    for (std::uint32_t i = 0; i < n; ++i) {
      const Cell target = next_cell(me_.cell, ways[i]);
      if (std::find(recent, recent + memory_.recents, target) == recent + memory_.recents) {
        fresh[n_fresh++] = ways[i];
      }
    }
    if (n_fresh > 0) {
      ways = fresh;
      n = n_fresh;
    }
    if (n > 1)
      n = static_cast<std::uint32_t>(std::remove(ways.begin(), ways.begin() + n, kStop) -
                                     ways.begin());
    if (n == 0) ways[n++] = kStop;
    remember();
    return ways[s_.rng.below(n)];
  }

  void remember() {
    if (memory_.recents == kRecent) {
      std::copy(memory_.recent.begin() + 1, memory_.recent.end(), memory_.recent.begin());
      --memory_.recents;
    }
    memory_.recent[memory_.recents++] = me_.cell;
  }

  struct Unsafe {
    Action direction;
    std::uint8_t range;
  };

  const Rules& rules_;
  State& s_;
  const Agent& me_;
  SimpleMemory& memory_;
  int seat_;
  ItemSet passable_;
  const std::uint8_t* view_;
  std::array<std::uint8_t, kCells> masked_;
  std::array<SeenBomb, kMaxBombs> bomb_;
  int bombs_ = 0;
  std::array<std::uint8_t, kCells> distance_;
  std::array<Cell, kCells> before_;
  std::array<Cell, kCells> queue_;
  int queued_ = 0;
  CellSet wood_;
  std::array<CellSet, 3> powerups_;
  std::array<Cell, kAgents> enemy_cell_{};  // 0 = not seen
  std::array<Unsafe, 4> unsafe_;
  int unsafe_count_ = 0;
  Cell target_ = 0;
  std::uint8_t target_distance_ = kNever;
};

}  // namespace

Action simple_action(const Rules& rules, State& s, int seat) {
  return Search(rules, s, seat).decide();
}

}  // namespace ludus::pommerman
