// Decisions of Tower Defense: where to build, and what towers and waves do by themselves.
#pragma once

#include "games/rts/tower_defense/rules.hpp"

namespace ludus::rts {

// Action a: a tower in the cell x = a / side, y = a % side, the original's order. The base stands
// in cell 0, where nothing can be built: action 0 waits.
inline constexpr int kTowerActions = kMazeSide * kMazeSide;
inline constexpr int kTowerWait = 0;

[[nodiscard]] inline bool affords_tower(const TdRules& rules, const State& state) {
  return state.money[kDefender] >= rules.engine.type[kTower].cost;
}
[[nodiscard]] bool can_build_tower(const TdRules& rules, const State& state, int action);

// Builds where the action says if there is money, and gives every tower a target near it.
void act_tower(const TdRules& rules, State& state, int action);

// The original's scripted bot: builds on the first free wall around the middle.
void play_tower_simple(const TdRules& rules, State& state);

// Towers take their targets; nothing is built.
void aim_towers(const TdRules& rules, State& state);

// What the other side does in this tick: waves appear, and all attackers go for the base.
void play_waves(const TdRules& rules, State& state);

}  // namespace ludus::rts
