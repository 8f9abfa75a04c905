// Tower Defense: its unit types, its rules and how they are read from parameters and a rulebook.
#pragma once

#include <string>
#include <vector>

#include "base/rng.hpp"
#include "game/params.hpp"
#include "games/rts/engine/decisions.hpp"
#include "games/rts/engine/types.hpp"
#include "games/rts/tower_defense/maze.hpp"

namespace ludus::rts {

// Unit types, in the numbering of observations and rulebooks.
enum TowerType : std::uint8_t { kTowerBase, kAttacker, kTower, kTowerTypes };
inline constexpr std::array<const char*, kTowerTypes> kTowerTypeNames = {"base", "attacker",
                                                                         "tower"};

inline constexpr int kDefender = 0;  // the only seat, and the owner of its base and towers
inline constexpr int kInvader = 1;   // the owner of the waves

// The base and every tower that the money of 3000 ticks buys.
inline constexpr int kDefenderSlots = 24;

struct TdRules {
  EngineRules engine;
  Commands commands = Commands::strategic;
  int start_money = 100;
  int wave_ticks = 200;
  int wave_growth = 1;
  int wave_think = 50;               // ticks between two orders to the waves
  float notice2 = 3.0F;              // squared distance at which a tower takes a target
  float hp_reward = 1.0F;            // times the change of the base's share of hit points
  std::uint32_t first_decision = 2;  // before this tick no seat may act
  int pixels = 0;                    // of a cell along one axis in the tensor `pixels`; 0: none
};

[[nodiscard]] std::vector<ParamSpec> td_params();

// Throws ParamError.
[[nodiscard]] TdRules make_td_rules(const Params& params);

// Fills `state` with a fresh match at tick 0.
void place_td_start(const TdRules& rules, State& state, Rng& rng);

}  // namespace ludus::rts
