// The start of a match, drawn as the original draws it: walls symmetric to the main diagonal, drawn
// again until hardly any free cell is cut off, then power-ups under wooden walls.
#include <algorithm>
#include <array>
#include <bit>

#include "games/pommerman/rules.hpp"

namespace ludus::pommerman {
namespace {

constexpr int kMaxCutOff = 4;

// Free cells that cannot be reached from the last agent's corner through anything but rigid wall.
int cut_off(const Rules& rules, const State& s) {
  std::array<std::uint16_t, kMaxSize + 2> open{};  // bit c of row r, with a closed row around
  std::array<std::uint16_t, kMaxSize + 2> seen{};
  const int n = rules.size;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      const bool rigid = s.board[cell_at(r, c)] == kRigid;
      open[static_cast<std::size_t>(r + 1)] |= static_cast<std::uint16_t>((rigid ? 0 : 1) << c);
    }
  }
  seen[static_cast<std::size_t>(n - 1)] = static_cast<std::uint16_t>(1U << (n - 2));
  for (bool grows = true; grows;) {
    grows = false;
    const auto spread = [&](std::size_t r) {
      const unsigned row = seen[r];
      const auto more = static_cast<std::uint16_t>(
          (row | row << 1 | row >> 1 | seen[r - 1] | seen[r + 1]) & open[r]);
      grows |= more != seen[r];
      seen[r] = more;
    };
    for (int r = n; r >= 1; --r) spread(static_cast<std::size_t>(r));
    for (int r = 1; r <= n; ++r) spread(static_cast<std::size_t>(r));
  }
  int missed = 0;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      const bool reached = (seen[static_cast<std::size_t>(r + 1)] >> c & 1U) != 0;
      if (s.board[cell_at(r, c)] == kPassage && !reached) ++missed;
    }
  }
  return missed;
}

void draw_walls(const Rules& rules, State& s) {
  std::array<std::array<Cell, 2>, kMaxSize * kMaxSize / 2> pairs;
  auto left = static_cast<std::uint32_t>(rules.mirrored.size());
  std::copy(rules.mirrored.begin(), rules.mirrored.end(), pairs.begin());
  const auto draw = [&](int cells, std::uint8_t wall) {
    for (; cells > 0 && left > 0; cells -= 2) {
      auto& pick = pairs[s.rng.below(left)];
      for (const Cell cell : pick) s.board[cell] = wall;
      pick = pairs[--left];
    }
  };
  s.board = rules.empty;
  const auto fixed = std::count(s.board.begin(), s.board.end(), kWood);
  for (int a = 0; a < rules.seats; ++a) {
    s.board[rules.start[static_cast<std::size_t>(a)]] = static_cast<std::uint8_t>(kAgent0 + a);
  }
  draw(rules.rigid, kRigid);
  draw(rules.wood - static_cast<int>(fixed), kWood);
}

void hide_items(const Rules& rules, State& s) {
  std::array<Cell, kMaxSize * kMaxSize> walls;
  std::uint32_t left = 0;
  for (int cell = 0; cell < kCells; ++cell) {
    if (s.board[static_cast<std::size_t>(cell)] == kWood) walls[left++] = static_cast<Cell>(cell);
  }
  for (int i = 0; i < rules.items && left > 0; ++i) {
    Cell& pick = walls[s.rng.below(left)];
    s.hidden[pick] = static_cast<std::uint8_t>(kExtraBomb + s.rng.below(3));
    pick = walls[--left];
  }
}

}  // namespace

void place_start(const Rules& rules, State& s) {
  do {
    draw_walls(rules, s);
  } while (cut_off(rules, s) > kMaxCutOff);
  hide_items(rules, s);
  for (int a = 0; a < rules.seats; ++a) {
    Agent& agent = s.agent[static_cast<std::size_t>(a)];
    agent.cell = rules.start[static_cast<std::size_t>(a)];
    agent.alive = 1;
  }
}

}  // namespace ludus::pommerman
