// Events of one tick between a game and the engine: blows beside those that units deal by
// themselves, and who was hurt or killed by which unit. This is memory of the game, so that a State
// is as large for every game, and games that do not ask pay nothing.
#pragma once

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kMaxBlows = 192;
inline constexpr int kMaxWounds = 320;

// A unit loses hit points in this tick, as by an attack: the target's defence counts.
struct Blow {
  std::uint8_t unit, target;  // slots
  std::int32_t amount;
};

// Hit points that an attack took off a unit. Units are named by their running numbers, as slots
// move.
struct Wound {
  std::int32_t by;  // -1: the shooter is dead by now
  std::uint16_t victim;
  std::uint8_t owner, type;  // of who was hurt
  std::int32_t loss;         // hit points, at most those that were left
};

// A unit that died in this tick, killed by another.
struct Fall {
  std::int32_t killer;  // its running number, or -1: it is dead by now
  std::uint16_t victim;
  std::uint8_t owner, type;  // of the victim
  float x, y;                // where it fell
};

struct TickEvents {
  int blows = 0, wounds = 0, falls = 0;
  std::array<Blow, kMaxBlows> blow;
  std::array<Wound, kMaxWounds> wound;
  std::array<Fall, kSlots> fall;

  void strike(int unit, int target, int amount) {
    if (blows == kMaxBlows) return;
    blow[static_cast<std::size_t>(blows++)] = {static_cast<std::uint8_t>(unit),
                                               static_cast<std::uint8_t>(target), amount};
  }
};

}  // namespace ludus::rts
