// The tensor `cells` of RTS games: visible units, packed. minirts/observe.hpp describes what stands
// where.
#pragma once

#include <algorithm>
#include <cstdint>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kCellRows = kSlots + 1;
inline constexpr int kCellCols = 5;

[[nodiscard]] inline float hp_ratio(int hp, int max_hp) {
  return static_cast<float>(hp / (max_hp + 1.0e-6));
}

[[nodiscard]] inline int age_of(const State& s, int i) {
  return std::max(0, static_cast<int>(s.tick) - static_cast<int>(s.built[i]));
}

// [0, 1] -> 0..255
[[nodiscard]] inline std::uint8_t unit_byte(float v) {
  return static_cast<std::uint8_t>(std::clamp(v, 0.0F, 1.0F) * 255.0F + 0.5F);
}

// The part of a cooldown that is still to wait, 0 = ready.
[[nodiscard]] inline float waiting(const EngineRules& engine, const State& s, int i, Cooldown cd) {
  const int length = engine.type[s.type[i]].cooldown[cd];
  if (length == 0 || (s.last[cd][i] == 0)) return 0.0F;
  const int left = length - (static_cast<int>(s.tick) - static_cast<int>(s.last[cd][i]));
  return static_cast<float>(std::max(0, left)) / static_cast<float>(length);
}

// Writes uint16[kCellRows, kCellCols] for `seat`, which sees the slots `seen`. `enemy` is added to
// the type of units of other owners.
void write_cells(const EngineRules& engine, const State& state, int seat, std::uint64_t seen,
                 int enemy, std::uint16_t* out);

}  // namespace ludus::rts
