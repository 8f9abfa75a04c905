// The original's random start: each seat a base in its corner with a resource near it, and extra
// units by chance; then the whole map may be mirrored.
#pragma once

#include "base/rng.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kHomes = 2;

// What seats get beside their homes: drawn for each; drawn once and mirrored; nothing.
enum class StartUnits : std::uint8_t { random, symmetric, none };

// `tries` times a unit of `type`, each with a chance of `tenths` in ten.
struct Extra {
  int type, tries, tenths;
};

struct Homes {
  static constexpr int kMaxExtras = kMaxTypes;
  static constexpr int kMaxTries = 8;

  int base = 0, resource = 0;  // types
  int money = 0;               // of each seat
  StartUnits extra_units = StartUnits::random;
  int extras = 0;
  std::array<Extra, kMaxExtras> extra{};  // in the order in which they are drawn
};

// A new match. What the rng gives decides everything.
void place_homes(const EngineRules& engine, const Homes& homes, State& state, Rng& rng);

}  // namespace ludus::rts
