// Whom the rows of the observation tensor `units` mean: pointers of unit and tactical orders.
#pragma once

#include "games/rts/engine/fog.hpp"
#include "games/rts/minirts/rules.hpp"

namespace ludus::rts {

struct SeenRows {
  std::uint64_t seen = 0;  // by slot
  int own = 0, rows = 0;   // own units come first
  std::array<std::uint8_t, kSlots> slot{};
  std::uint64_t victims = 0, resources = 0;  // by row: who may be attacked, what may be gathered
  int base = kNone, enemy_base = kNone;      // the first ones, seen or not

  SeenRows(const MiniRules& rules, const State& state, int seat) {
    const EngineRules& engine = rules.engine;
    seen = visible_units(engine, state,
                         rules.fog ? sight_of(engine, state, seat) : sight_of_everything(engine));
    const auto add = [&](int i, bool mine) {
      const int type = state.type[i];
      if (type == kResource) resources |= std::uint64_t{1} << rows;
      if (!mine && !engine.type[type].invulnerable) victims |= std::uint64_t{1} << rows;
      slot[static_cast<std::size_t>(rows++)] = static_cast<std::uint8_t>(i);
    };
    for_units(engine, state, seat, [&](int i) {
      add(i, true);
      if (state.type[i] == kBase && base == kNone) base = i;
    });
    own = rows;
    for_bits(seen, [&](int i) {
      if (engine.owner_of(i) != seat) add(i, false);
    });
    for_units(engine, state, 1 - seat, [&](int i) {
      if (state.type[i] == kBase && enemy_base == kNone) enemy_base = i;
    });
  }

  // The slots of the rows in `bits`.
  [[nodiscard]] std::uint64_t slots_of(std::uint64_t bits) const {
    std::uint64_t set = 0;
    for_bits(bits,
             [&](int row) { set |= std::uint64_t{1} << slot[static_cast<std::size_t>(row)]; });
    return set;
  }
};

// The choice after the rows: the enemy's base, wherever it is.
inline constexpr int kEnemyBaseChoice = kSlots;

inline void expand_bits(std::uint64_t bits, int n, std::uint8_t* out) {
  for (int i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(bits >> i & 1);
}

}  // namespace ludus::rts
