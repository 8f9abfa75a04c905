// SimpleAgent written a second time, straight from the fact specification and without regard to
// speed, on what the original hands to an agent: maps over (row, column) and lists.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "games/pommerman/rules.hpp"

namespace ludus::pommerman {

using Position = std::pair<int, int>;

struct ReferenceAgent {
  std::vector<Position> recent;
  int previous_direction = -1;  // none

  struct Observation {
    int n = 0;
    std::vector<std::vector<int>> board, strength;  // as seen: fog is 5, hidden bombs are 0
    Position me;
    int ammo = 0, blast = 0;
    std::vector<int> enemies;
  };

  static Observation see(const Rules& rules, const State& s, int seat) {
    Observation o;
    o.n = rules.size;
    const Agent& me = s.agent[static_cast<std::size_t>(seat)];
    o.me = {row_of(me.cell), column_of(me.cell)};
    o.ammo = me.ammo;
    o.blast = me.blast;
    o.board.assign(static_cast<std::size_t>(o.n), std::vector<int>(static_cast<std::size_t>(o.n)));
    o.strength = o.board;
    const auto visible = [&](Position p) {
      return !rules.fog ||
             (std::abs(p.first - o.me.first) <= 4 && std::abs(p.second - o.me.second) <= 4);
    };
    for (int r = 0; r < o.n; ++r) {
      for (int c = 0; c < o.n; ++c) {
        at(o.board, {r, c}) = visible({r, c}) ? s.board[cell_at(r, c)] : int{kFog};
      }
    }
    for (std::size_t b = 0; b < s.bombs; ++b) {
      const Position p{row_of(s.bomb[b].cell), column_of(s.bomb[b].cell)};
      if (visible(p)) at(o.strength, p) = s.bomb[b].blast;
    }
    for (int a = 0; a < kAgents; ++a) {
      const bool mate = rules.teams() && a % 2 == seat % 2;
      if (a != seat && !mate) o.enemies.push_back(kAgent0 + a);
    }
    return o;
  }

  int act(const Observation& o, Rng& rng) {
    constexpr int kInfinite = 1 << 20;
    const std::vector<int> order = {kUp, kDown, kLeft, kRight};
    const auto on_board = [&](Position p) {
      return p.first >= 0 && p.second >= 0 && p.first < o.n && p.second < o.n;
    };
    const auto passable = [&](const std::vector<std::vector<int>>& board, Position p) {
      const int v = board[static_cast<std::size_t>(p.first)][static_cast<std::size_t>(p.second)];
      for (const int e : o.enemies) {
        if (e == v) return false;
      }
      return v == 0 || (v >= 6 && v <= 8) || (v >= 10 && v <= 13);
    };
    const auto choice = [&](const std::vector<int>& list) {
      return list[rng.below(static_cast<std::uint32_t>(list.size()))];
    };

    std::vector<std::pair<Position, int>> bombs;
    for (int r = 0; r < o.n; ++r) {
      for (int c = 0; c < o.n; ++c) {
        if (at(o.strength, {r, c}) > 0) bombs.push_back({{r, c}, at(o.strength, {r, c})});
      }
    }

    std::map<Position, int> dist;
    std::map<Position, Position> prev;
    std::map<int, std::vector<Position>> items;
    const auto [x, y] = o.me;
    for (int r = std::max(0, x - 10); r < std::min(o.n, x + 10); ++r) {
      for (int c = std::max(0, y - 10); c < std::min(o.n, y + 10); ++c) {
        const int v = at(o.board, {r, c});
        if (std::abs(r - x) + std::abs(c - y) > 10 || v == kFog || v == kRigid || v == kFlames) {
          continue;
        }
        dist[{r, c}] = Position{r, c} == o.me ? 0 : kInfinite;
        items[v].push_back({r, c});
      }
    }
    std::deque<Position> queue = {o.me};
    while (!queue.empty()) {
      const Position p = queue.front();
      queue.pop_front();
      if (!passable(o.board, p)) continue;
      for (const int d : order) {
        const Position q = next(p, d);
        if (!dist.contains(q)) continue;
        const int v = dist[p] + 1;
        if (v < dist[q]) {
          dist[q] = v;
          prev[q] = p;
          queue.push_back(q);
        } else if (v == dist[q] && rng.coin()) {
          prev[q] = p;
        }
      }
    }

    std::vector<std::pair<int, int>> unsafe;  // direction, range; in the order of insertion
    const auto mark = [&](int d, int range) {
      for (auto& [direction, r] : unsafe) {
        if (direction == d) {
          r = std::max(r, range);
          return;
        }
      }
      unsafe.emplace_back(d, range);
    };
    for (const auto& [p, s] : bombs) {
      if (!dist.contains(p) || dist[p] > s) continue;
      if (p == o.me) {
        for (const int d : {kRight, kLeft, kUp, kDown}) mark(d, s);
      } else if (p.first == x) {
        mark(p.second > y ? kRight : kLeft, s);
      } else if (p.second == y) {
        mark(p.first > x ? kDown : kUp, s);
      }
    }
    if (!unsafe.empty()) return choice(safe_directions(o, unsafe, order, on_board, passable));

    const auto maybe_bomb = [&] {
      if (o.ammo < 1) return false;
      for (const Position& p : items[kPassage]) {
        if (dist[p] == kInfinite) continue;
        if (dist[p] > o.blast || (p.first != x && p.second != y)) return true;
      }
      return false;
    };
    for (const int e : o.enemies) {
      for (const Position& p : items[e]) {
        if (dist[p] == 1 && maybe_bomb()) return kLayBomb;
      }
    }
    const auto toward = [&](const std::vector<int>& objects, int radius) {
      Position best{-1, -1};
      int best_distance = 0;
      for (const auto& [p, d] : dist) best_distance = std::max(best_distance, d);
      for (const int object : objects) {
        for (const Position& p : items[object]) {
          if (dist[p] > radius || dist[p] > best_distance) continue;
          best = p;
          best_distance = dist[p];
        }
      }
      if (best.first < 0) return -1;
      while (prev[best] != o.me) best = prev[best];
      for (const int d : order) {
        if (next(o.me, d) == best) return d;
      }
      return -1;
    };
    const auto in_line = [&](Position p) {
      for (const auto& [b, s] : bombs) {
        if (p.first == b.first && std::abs(p.second - b.second) <= s) return true;
        if (p.second == b.second && std::abs(p.first - b.first) <= s) return true;
      }
      return false;
    };
    int d = toward(o.enemies, 3);
    if (d >= 0 && (previous_direction != d || rng.coin())) return previous_direction = d;
    d = toward({kExtraBomb, kIncrRange, kKick}, 2);
    if (d >= 0) return d;
    if (toward({kWood}, 1) >= 0) return maybe_bomb() ? kLayBomb : kStop;
    d = toward({kWood}, 2);
    if (d >= 0 && !in_line(next(o.me, d))) return d;

    std::vector<int> ways;
    for (const int w : {kStop, kLeft, kRight, kUp, kDown}) {
      const Position p = next(o.me, w);
      if (on_board(p) && passable(o.board, p) && !in_line(p)) ways.push_back(w);
    }
    std::vector<int> fresh;
    for (const int w : ways) {
      if (std::find(recent.begin(), recent.end(), next(o.me, w)) == recent.end())
        fresh.push_back(w);
    }
    if (!fresh.empty()) ways = fresh;
    if (ways.size() > 1) std::erase(ways, int{kStop});
    if (ways.empty()) ways = {kStop};
    recent.push_back(o.me);
    if (recent.size() > 6) recent.erase(recent.begin());
    return choice(ways);
  }

 private:
  static int& at(std::vector<std::vector<int>>& grid, Position p) {
    return grid[static_cast<std::size_t>(p.first)][static_cast<std::size_t>(p.second)];
  }
  static int at(const std::vector<std::vector<int>>& grid, Position p) {
    return grid[static_cast<std::size_t>(p.first)][static_cast<std::size_t>(p.second)];
  }
  static Position next(Position p, int d) {
    constexpr int kRows[] = {0, -1, 1, 0, 0};
    constexpr int kColumns[] = {0, 0, 0, -1, 1};
    return {p.first + kRows[d], p.second + kColumns[d]};
  }

  template <class OnBoard, class Passable>
  static std::vector<int> safe_directions(const Observation& o,
                                          const std::vector<std::pair<int, int>>& unsafe,
                                          const std::vector<int>& order, OnBoard&& on_board,
                                          Passable&& passable) {
    if (unsafe.size() == 4) {
      auto board = o.board;
      at(board, o.me) = kBomb;
      for (const auto& [k, range] : unsafe) {
        const Position t = next(o.me, k);
        if (!on_board(t) || !passable(board, t)) continue;
        std::set<std::pair<int, Position>> queue = {{0, t}};  // by distance, then cell
        std::set<Position> seen;
        while (!queue.empty()) {
          const auto [distance, p] = *queue.begin();
          queue.erase(queue.begin());
          seen.insert(p);
          if ((p.first != t.first && p.second != t.second) || distance > range) return {k};
          for (const int d : order) {
            const Position q = next(p, d);
            if (seen.contains(q) || !on_board(q) || !passable(board, q)) continue;
            queue.insert({std::abs(q.first - t.first) + std::abs(q.second - t.second), q});
          }
        }
      }
      return {kStop};
    }
    std::vector<int> safe, disallowed;
    const auto listed = [](const std::vector<int>& list, int d) {
      return std::find(list.begin(), list.end(), d) != list.end();
    };
    for (const int d : order) {
      const Position p = next(o.me, d);
      if (!on_board(p)) {
        disallowed.push_back(d);
        continue;
      }
      bool dangerous = false;
      for (const auto& [direction, range] : unsafe) dangerous = dangerous || direction == d;
      if (!dangerous && (passable(o.board, p) || at(o.board, p) == kFog)) safe.push_back(d);
    }
    if (safe.empty()) {
      for (const auto& [direction, range] : unsafe) {
        if (!listed(disallowed, direction)) safe.push_back(direction);
      }
    }
    return safe.empty() ? std::vector<int>{kStop} : safe;
  }
};

}  // namespace ludus::pommerman
