// One tick of the engine.
#pragma once

#include "games/rts/engine/events.hpp"

namespace ludus::rts {

// Bullets fly, commands run, their effects happen, and the end of the match is decided. Orders for
// this tick must have been given before. A game that wants to know who killed whom gives `events`.
void advance_tick(const EngineRules& rules, State& state, const HeuristicStore& store,
                  TickEvents* events = nullptr);

}  // namespace ludus::rts
