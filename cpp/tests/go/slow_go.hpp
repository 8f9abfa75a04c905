// Go again, as plainly as it can be written: lists of colours, flood fill, all boards remembered.
// What the fast rules are compared with.
#pragma once

#include <set>
#include <vector>

namespace ludus {

struct SlowGo {
  enum class Ko { positional, situational, simple, none };
  using Grid = std::vector<int>;  // 0 black, 1 white, 2 empty

  int size;
  Ko ko;
  bool suicide;
  Grid grid = Grid(static_cast<std::size_t>(size * size), 2);
  Grid before = {};  // the board before the last move, for simple ko
  std::set<std::pair<Grid, int>> seen = {{grid, mark(0)}};

  [[nodiscard]] int mark(int to_move) const { return ko == Ko::situational ? to_move : 0; }
  [[nodiscard]] std::vector<int> neighbours(int p) const {
    std::vector<int> out;
    if (p % size > 0) out.push_back(p - 1);
    if (p % size < size - 1) out.push_back(p + 1);
    if (p >= size) out.push_back(p - size);
    if (p + size < size * size) out.push_back(p + size);
    return out;
  }
  static int& at(Grid& g, int p) { return g[static_cast<std::size_t>(p)]; }
  static int at(const Grid& g, int p) { return g[static_cast<std::size_t>(p)]; }

  // The points of p's colour connected to it; `touches` hears the colours around them.
  std::set<int> group(const Grid& g, int p, std::set<int>& touches) const {
    std::set<int> members = {p};
    std::vector<int> open = {p};
    while (!open.empty()) {
      const int q = open.back();
      open.pop_back();
      for (const int n : neighbours(q)) {
        if (at(g, n) != at(g, p)) {
          touches.insert(at(g, n));
        } else if (members.insert(n).second) {
          open.push_back(n);
        }
      }
    }
    return members;
  }
  void take_dead(Grid& g, int colour) const {
    const Grid was = g;
    for (int p = 0; p < size * size; ++p) {
      std::set<int> touches;
      if (at(was, p) != colour) continue;
      group(was, p, touches);
      if (!touches.contains(2)) at(g, p) = 2;
    }
  }
  [[nodiscard]] Grid after(int c, int p) const {
    Grid g = grid;
    at(g, p) = c;
    take_dead(g, 1 - c);
    take_dead(g, c);
    return g;
  }
  [[nodiscard]] bool legal(int c, int p) const {
    if (at(grid, p) != 2) return false;
    const Grid g = after(c, p);
    if (at(g, p) == 2 && !suicide) return false;
    if (ko == Ko::none) return true;
    if (ko == Ko::simple) return g == grid || g != before;  // the former: a suicide of one stone
    return !seen.contains({g, mark(1 - c)});
  }
  void play(int c, int p) {  // p < 0: a pass
    before = p < 0 ? Grid{} : grid;
    if (p >= 0) grid = after(c, p);
    seen.insert({grid, mark(1 - c)});
  }
  [[nodiscard]] int margin() const {
    int sum = 0;
    for (int p = 0; p < size * size; ++p) {
      std::set<int> touches = {at(grid, p)};
      if (at(grid, p) == 2) {
        touches.clear();
        group(grid, p, touches);
      }
      if (touches == std::set<int>{0}) ++sum;
      if (touches == std::set<int>{1}) --sum;
    }
    return sum;
  }
};

}  // namespace ludus
