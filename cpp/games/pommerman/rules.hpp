// Parameters of Pommerman and what follows from them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "game/params.hpp"
#include "game/spec.hpp"
#include "games/pommerman/world.hpp"

namespace ludus::pommerman {

enum class Mode : std::uint8_t { ffa, team, radio, one_vs_one };
enum class Pay : std::uint8_t { result, original };
enum class Mask : std::uint8_t { all, useful, careful };

inline constexpr int kViewRadius = 4;  // of a seat in fog
inline constexpr int kCollapses = 4;

struct Rules {
  Mode mode = Mode::ffa;
  bool fog = false;
  bool collapse = false;
  int size = kMaxSize;
  int seats = kAgents;
  int max_steps = 800;
  int max_blast = 10;
  int rigid = 36, wood = 36, items = 20;  // of a new board
  std::array<int, kCollapses> collapse_at{};
  Mask mask = Mask::useful;
  Pay pay = Pay::result;
  float reward_pickup = 0.0F, reward_wood = 0.0F, reward_kill = 0.0F;

  std::array<Cell, kAgents> start{};
  std::array<std::uint8_t, kCells> empty{};   // the board before walls are drawn
  std::array<std::uint8_t, kCells> flat{};    // number of a cell in the n x n tensors
  std::vector<std::array<Cell, 2>> mirrored;  // pairs of cells that may get a wall
  std::array<CellSet, kCells> in_reach;       // of SimpleAgent's search, by its own cell

  [[nodiscard]] bool teams() const { return mode == Mode::team || mode == Mode::radio; }
  [[nodiscard]] bool radio() const { return mode == Mode::radio; }
};

// Names, ranges and meanings of all parameters.
[[nodiscard]] const std::vector<ParamSpec>& declared();

[[nodiscard]] Rules make_rules(const Params& params);

// Rules of an empty board of any side in [4, 11] with four agents, for tests with given positions.
[[nodiscard]] Rules bare_rules(int size);

// The start of a match: walls, agents, hidden power-ups.
void place_start(const Rules& rules, State& s);

}  // namespace ludus::pommerman
