// Observation of MiniRTS by a seat, through the fog of war.
//
// Three tensors, and a picture (engine/pixels.hpp) where it is asked for. `cells` is a lossless
// packing of the 22 planes of the ELF paper's network input; `units` and `globals` describe the
// same state, and a little more about the seat's own side, compactly.
//
// ## The codec "rts_cells"
//
// `cells` is uint16[65, 5]. TensorSpec::scale is the side S of the square map in cells (an integer,
// 20 by default); the codec gives float32[22, S, S] planes indexed [plane, y, x].
//
// Rows 0..63 are visible units in rising unit id, then empty rows:
//   col 0  cell + 1, where cell = y * S + x and x, y are the coordinates truncated (not rounded) to
//          integers; 0 = empty row, to be ignored
//   col 1  unit type 0..5, plus 8 for an enemy
//   col 2  hit points
//   col 3  maximal hit points
//   col 4  age: ticks since the unit was built
// Row 64 is about the seat: [money, own base's hp, own base's maximal hp, S, 0]; the base's two
// numbers are 0 when the seat has no base.
//
// Planes:
//   0..5    one a unit type: 1 in the cell of each unit of it
//   6       affiliation: 1 own, 2 enemy
//   7       hp ratio: float32(hp / (max_hp + 1e-6)), the division in float64
//   8       own base's hp ratio by the same formula, the whole plane
//   9       decay: float32(50 / (age + 1)), the division in float64
//   10..16  age bins: 1 in plane 10 + b, b = number of thresholds (200, 500, 1000, 2000, 5000,
//           10000) that are <= age
//   17..21  money: the whole plane 17 + min(money div 50, 4) is 1
// Where several units share a cell, each of the planes 0..16 except 8 holds the mean, over those
// units that write to that plane in that cell, of what they write: the float32 sum in row order
// divided by the float32 count. So planes 0..5 and 10..16 stay 0 or 1.
//
// expand_planes is the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/engine/cells.hpp"
#include "games/rts/minirts/rules.hpp"

namespace ludus::rts {

inline constexpr int kPlanes = 22;
inline constexpr int kUnitRows = kSlots;
inline constexpr int kUnitCols = 24;
inline constexpr int kGlobals = 54;

[[nodiscard]] std::vector<TensorSpec> mini_tensors(const MiniRules& rules);

// Writes the tensors in the order of mini_tensors; skips null pointers.
void observe_mini(const MiniRules& rules, const State& state, int seat,
                  std::span<std::byte* const> tensors);

// The reference of the codec: `cells` as above, `planes` float32[22, side, side].
void expand_planes(std::span<const std::uint16_t> cells, int side, std::span<float> planes);

}  // namespace ludus::rts
