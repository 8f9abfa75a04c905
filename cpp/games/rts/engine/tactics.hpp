// Parts of strategies: the orders of one decision, targets of attacks, where to build, where to
// flee.
#pragma once

#include "games/rts/engine/units.hpp"

namespace ludus::rts {

// The unit of `set` nearest to (x, y) within the squared distance `closest`, or kNone. Lowers
// `closest` to its distance. The lowest id wins ties.
[[nodiscard]] int nearest(const State& state, std::uint64_t set, float x, float y, float& closest);

[[nodiscard]] std::uint64_t of_type(const EngineRules& engine, const State& state, int owner,
                                    int type);

// The subset of `targets` that the unit can attack at all.
[[nodiscard]] inline std::uint64_t attackable(const EngineRules& engine, const State& state,
                                              int slot, std::uint64_t targets) {
  std::uint64_t out = 0;
  for_bits(targets, [&](int i) {
    if (engine.may_attack(state.type[slot], state.type[i])) out |= slot_bit(i);
  });
  return out;
}

// The orders of one decision: at most one per unit. A later order replaces an earlier one; an
// ATTACK that the unit already carries out is not repeated.
struct OrderSet {
  const State& state;
  std::array<Order, kSlots> order;
  std::uint64_t given = 0;
  bool mirrored = false;  // among equals the cell on the right comes first, not that on the left

  explicit OrderSet(const State& s, bool in_mirror = false) : state(s), mirrored(in_mirror) {}

  void put(int slot, const Order& o) {
    if (o.cmd == Cmd::attack && state.cmd[slot] == Cmd::attack && state.target[slot] == o.target) {
      return;
    }
    order[slot] = o;
    given |= std::uint64_t{1} << slot;
  }
  // To idle units; preemptive: also to those that do something of another kind.
  void put_all(std::uint64_t set, const Order& o, bool preemptive) {
    for_bits(set, [&](int i) {
      if (state.cmd[i] == Cmd::idle || (preemptive && state.cmd[i] != o.cmd)) put(i, o);
    });
  }
};

// A free cell for a building of `type`, around the base at (bx, by), from the side of the map's
// centre outwards.
[[nodiscard]] bool building_place(const EngineRules& engine, const State& state, int type, float bx,
                                  float by, Order& out);

// Attacks the nearest of `targets` from afar and flees from what comes near.
void hit_and_run(const EngineRules& engine, const State& state, OrderSet& plan, int slot,
                 std::uint64_t targets);

// Whether that gives the unit an order.
[[nodiscard]] bool may_hit_and_run(const EngineRules& engine, const State& state, int slot,
                                   std::uint64_t targets);

}  // namespace ludus::rts
