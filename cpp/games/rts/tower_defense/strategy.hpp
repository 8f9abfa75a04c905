// Decisions of Tower Defense: where to build, and what towers and waves do by themselves.
#pragma once

#include "games/rts/engine/map.hpp"
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

// Whether a tower or the base strikes at the attacker from where it stands.
[[nodiscard]] inline bool reaches(const TdRules& rules, const State& state, int slot, int target) {
  const float d2 = distance2(state.x[slot], state.y[slot], state.x[target], state.y[target]);
  return rules.engine.reaches(rules.engine.type[state.type[slot]], d2);
}

// Builds at the action's place if there is money, and gives every tower a target: `focus` to those
// that reach it, if it is not kNone, and to the others an attacker near them.
void act_tower(const TdRules& rules, State& state, int action, int focus = kNone);

// The order to build a tower in a cell.
[[nodiscard]] Order tower_order(int x, int y);

// The original's scripted bot: builds on the first free wall around the middle.
void play_tower_simple(const TdRules& rules, State& state);

// Moves of the other side in this tick: waves appear, and all attackers go for the base.
void play_waves(const TdRules& rules, State& state);

}  // namespace ludus::rts
