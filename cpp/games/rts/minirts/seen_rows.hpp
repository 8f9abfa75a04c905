// Whom the rows of the observation tensor `units` mean: pointers of unit and tactical orders.
#pragma once

#include "games/rts/engine/decisions.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/tactics.hpp"
#include "games/rts/minirts/rules.hpp"

namespace ludus::rts {

struct MiniRows : SeenRows {
  std::uint64_t resources = 0;           // by row
  int base = kNone, enemy_base = kNone;  // the first ones, seen or not

  MiniRows(const MiniRules& rules, const State& state, int seat)
      : SeenRows(rules.engine, state, seat,
                 visible_units(rules.engine, state,
                               rules.fog ? sight_of(rules.engine, state, seat)
                                         : sight_of_everything(rules.engine))) {
    for (int row = 0; row < rows; ++row) {
      if (state.type[slot[static_cast<std::size_t>(row)]] == kResource) {
        resources |= std::uint64_t{1} << row;
      }
    }
    base = first_of(rules.engine, state, seat);
    enemy_base = first_of(rules.engine, state, 1 - seat);
  }

 private:
  static int first_of(const EngineRules& engine, const State& state, int owner) {
    const std::uint64_t bases = of_type(engine, state, owner, kBase);
    return bases == 0 ? kNone : std::countr_zero(bases);
  }
};

// The choice after the rows: the enemy's base, wherever it is.
inline constexpr int kEnemyBaseChoice = kSlots;

}  // namespace ludus::rts
