// Tactical orders of the games with an economy: one manoeuvre of one group a decision, or one
// purchase. Four heads:
//
//   order   nothing, what to buy (as the strategic orders do), or a manoeuvre
//   group   a manoeuvre's units: types of units, by their part in the game
//   target  focus_fire: an enemy, a row of `units` or the enemy's base; defend: which own unit or
//           building
//   sector  attack_move, rally: where, one of 4 x 4 parts of the map
//
// As with strategic orders, every choice also sends idle gatherers to work, and each is translated
// at once into orders to units (manoeuvres.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "games/rts/engine/unit_commands.hpp"

namespace ludus::rts {

inline constexpr int kGroups = 4;

struct TacticalGame {
  UnitGame units;
  int purchases = 0;                            // orders 1 .. purchases
  std::array<std::uint16_t, kGroups> groups{};  // bit t: units of type t belong to it
};

// `bought`: the name of each purchase; `groups`: of each group.
[[nodiscard]] std::vector<HeadSpec> tactical_heads(const TacticalGame& game,
                                                   std::span<const std::string> bought,
                                                   const std::array<const char*, kGroups>& groups);

// The mask of tactical_heads, as GameSpec::mask_bytes counts it. `useful`: bit o: purchase o is
// possible now.
void legal_tactical_orders(const TacticalGame& game, const State& state, int seat,
                           std::uint32_t useful, std::uint8_t* mask);

// A decision that the mask allows.
struct TacticalOrder {
  int purchase = 0;    // 0: none
  int manoeuvre = -1;  // -1: none
  std::uint64_t units = 0, enemies = 0;
  int target = kNone, base = kNone;
  Point where{};
};

// Reads a decision; the game makes the purchase (or none, which sends gatherers to work), and then
// gives what is left of it. Throws GameError where the mask forbids it.
[[nodiscard]] TacticalOrder read_tactical_order(const TacticalGame& game, const State& state,
                                                int seat, std::uint32_t useful,
                                                std::span<const std::int32_t> action);
void give_tactical_order(const TacticalGame& game, State& state, const TacticalOrder& order);

}  // namespace ludus::rts
