// Unit commands of the games with an economy: one order to one unit a decision. Four heads, each of
// which depends on those before:
//
//   unit    which own unit, a row of the tensor `units`; or none
//   order   move, attack, gather, build a type
//   target  attack: an enemy, a row of `units`, or the enemy's base wherever it is, as the
//   strategic
//           order to attack knows it; gather: which resource. Other orders have none
//   place   move, build: where, in cells from the cell the unit is in; "here" leaves the builder to
//           find a free spot around itself, all that a building can do. Other orders have none
//
// Legality is judged by what the seat may know, and an order that the mask allows is one that the
// engine accepts (units.hpp, takes_order). A place is legal when it is on the map, no wall, and no
// visible disc is in the way; building needs the money at the time of the order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/engine/decisions.hpp"

namespace ludus::rts {

// Whose units are commanded.
struct UnitGame {
  const char* name;
  const EngineRules& engine;
  int resource;                  // the type that is gathered
  std::uint32_t first_decision;  // before this tick no seat may act
  bool fog = true;               // false: seats see the whole map
  // Legal targets differ between types: the target's mask depends on the unit, too.
  bool attack_table = false;
};

// The seat's rows, and what a game with an economy asks of them.
struct HomeRows : SeenRows {
  std::uint64_t resources = 0;           // by row
  int base = kNone, enemy_base = kNone;  // the first ones, seen or not

  HomeRows(const UnitGame& game, const State& state, int seat);
};

// The choice after the rows: the enemy's base, wherever it is.
inline constexpr int kEnemyBaseChoice = kSlots;

// `types`: names of the unit types.
[[nodiscard]] std::vector<HeadSpec> unit_heads(const UnitGame& game,
                                               std::span<const std::string> types);

// The mask of unit_heads, as GameSpec::mask_bytes counts it.
void legal_unit_orders(const UnitGame& game, const State& state, int seat, std::uint8_t* mask);

// Throws GameError where the mask forbids it. An attack or a gathering that the unit is already
// about is left as it is.
void order_unit(const UnitGame& game, State& state, int seat, std::span<const std::int32_t> action);

}  // namespace ludus::rts
