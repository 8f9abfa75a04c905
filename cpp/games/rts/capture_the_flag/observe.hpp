// Observation of Capture the Flag by a seat, through the fog of war. Where the flag is, free or
// carried, is known to all, as in the paper.
//
// Three tensors. `cells` is a lossless packing of the 11 planes of the ELF paper's network input;
// `units` and `globals` describe the same state, and a little more about the seat's own side,
// compactly. In the ruleset "clean", seat 1 sees the map mirrored left to right, so that both seats
// play from left to right.
//
// ## The codec "rts_flag_cells"
//
// `cells` is uint16[17, 5]. TensorSpec::scale is the side S of the square map in cells (20); the
// codec gives float32[11, S, S] planes indexed [plane, y, x].
//
// Rows 0..15 are visible units in rising unit id, then empty rows:
//   col 0  cell + 1, where cell = y * S + x and x, y are the coordinates truncated (not rounded) to
//          integers; 0 = empty row, to be ignored
//   col 1  unit type 0..2, plus 4 when a later unit is in the same cell
//   col 2  owner + 1, plus 8 when it has the flag. In "elf" the owner is 0 or 1, the seat, and 2
//   for
//          the flag; in "clean" 0 is the seat that looks
//   col 3  hit points
//   col 4  maximal hit points
// Row 16 is about the seat: [score, 0, 0, S, 0].
//
// Planes:
//   0..2    one a unit type: 1 in the cell of each unit of it
//   3       owner + 1          } of the last unit in the cell,
//   4       hp ratio           } by rising unit id
//   5       has the flag: 1    }
//   6..10   score: the whole plane 6 + min(score, 4) is 1
// The hp ratio is float32(hp / (max_hp + 1e-6)), the division in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/capture_the_flag/rules.hpp"

namespace ludus::rts {

inline constexpr int kFlagUnitRows = 16;  // two bases, ten athletes, the flag; and some to spare
inline constexpr int kFlagUnitCols = 20;
inline constexpr int kFlagCellRows = kFlagUnitRows + 1;
inline constexpr int kFlagCellCols = 5;
inline constexpr int kFlagPlanes = 11;
inline constexpr int kFlagGlobals = 44;

[[nodiscard]] std::vector<TensorSpec> ctf_tensors(const CtfRules& rules);

// Writes the three tensors, in the order of ctf_tensors.
void observe_ctf(const CtfRules& rules, const State& state, int seat,
                 std::span<std::byte* const> tensors);

}  // namespace ludus::rts
