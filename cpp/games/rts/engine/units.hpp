// Creating and removing units, and the registration of their commands.
#pragma once

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

void clear_state(const EngineRules& rules, State& state);

// A new unit at (x, y), or -1 when the spot is taken or the owner's slots are full.
int add_unit(const EngineRules& rules, State& state, int owner, int type, float x, float y,
             std::uint32_t tick);

// Takes the units of `gone` (a bit a slot) out: closes the gaps and mends every reference.
void remove_units(const EngineRules& rules, State& state, std::uint64_t gone);

// Registers an order as the unit's durative command, replacing what it did. It first runs in this
// tick, before older commands.
void give_order(State& state, int slot, const Order& order);

// The acceptance filter for orders from outside: the type takes the command, and a building has
// none yet.
[[nodiscard]] bool takes_order(const EngineRules& rules, const State& state, int slot,
                               const Order& order);

// Gives the order and returns true when it passes the filter.
bool offer_order(const EngineRules& rules, State& state, int slot, const Order& order);

inline void finish_command(State& state, int slot) { state.cmd[slot] = Cmd::idle; }

}  // namespace ludus::rts
