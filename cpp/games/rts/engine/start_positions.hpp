// Start positions of the original: a base for each seat in its corner with a resource near it, and
// random extra units; then the whole map may be mirrored.
#pragma once

#include "base/rng.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kStartSeats = 2;

// Extra units of the seats: drawn for each seat, drawn once and mirrored, or absent.
enum class StartUnits : std::uint8_t { random, symmetric, none };

// `tries` times a unit of `type`, each with a chance of `tenths` in ten.
struct Extra {
  int type, tries, tenths;
};

struct StartPositions {
  static constexpr int kMaxExtras = kMaxTypes;
  static constexpr int kMaxTries = 8;

  int base = 0, resource = 0;  // types
  int money = 0;               // of each seat
  StartUnits extra_units = StartUnits::random;
  int extras = 0;
  std::array<Extra, kMaxExtras> extra{};  // in the order in which they are drawn
};

// Clears the state and places all units. Only the rng decides where.
void place_start_positions(const EngineRules& engine, const StartPositions& start_positions,
                           State& state, Rng& rng);

}  // namespace ludus::rts
