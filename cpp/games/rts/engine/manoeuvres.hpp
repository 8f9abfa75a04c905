// Tactical orders to a set of units. Each is translated at once into orders to single units, by
// what is true at the decision, as strategic orders are; a seat repeats a manoeuvre to
// adapt it to new events. A manoeuvre skips units that cannot move or attack as it requires.
// `enemies`: the units that may be attacked, usually the ones that the seat sees.
//
// Hit and run is in tactics.hpp. A place that several units are sent to becomes as many free cells
// around it: units that push each other for one point would block and be counted as congestion.
#pragma once

#include "games/rts/engine/tactics.hpp"

namespace ludus::rts {

inline constexpr float kDefendRadius = 5.0F;  // cells, of the games that do not say otherwise

// To (x, y), attacking the nearest enemy within sight of a unit, of those that it can attack, on
// the way.
void attack_move(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
                 std::uint64_t enemies, float x, float y);

// All on one.
void focus_fire(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
                int target);

// All attack the one of `enemies` that is nearest to (x, y) and within `radius` of it; with no
// enemy there, units that are farther away than that come back.
void defend(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
            std::uint64_t enemies, float x, float y, float radius);

// To (x, y), whatever they are doing.
void retreat(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
             float x, float y);

// To (x, y), but for those that fight.
void rally(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
           float x, float y);

}  // namespace ludus::rts
