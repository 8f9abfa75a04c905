// Tactical orders to a set of units. Each is translated at once into orders to single units, by
// what is true at the decision, as strategic orders are; a seat that wants a manoeuvre to keep up
// with what happens gives it again. Units that cannot move or attack are left alone by what asks
// for it. `enemies` is whom the caller lets its units know of: usually what the seat sees.
//
// Hit and run is in tactics.hpp. A place that several units are sent to becomes as many free cells
// around it: units that push each other for one point would block and be counted as congestion.
#pragma once

#include "games/rts/engine/tactics.hpp"

namespace ludus::rts {

inline constexpr float kDefendRadius = 5.0F;  // cells, of the games that do not say otherwise

// To (x, y), attacking the nearest enemy within sight of a unit, of those that it can attack, on
// the way.
void attack_move(const EngineRules& engine, const State& state, Plan& plan, std::uint64_t units,
                 std::uint64_t enemies, float x, float y);

// All on one.
void focus_fire(const EngineRules& engine, const State& state, Plan& plan, std::uint64_t units,
                int target);

// Whoever of `enemies` comes within `radius` of (x, y) is attacked, the nearest to the point by
// all; with nobody there, units that are farther away than that come back.
void defend(const EngineRules& engine, const State& state, Plan& plan, std::uint64_t units,
            std::uint64_t enemies, float x, float y, float radius);

// To (x, y), whatever they are doing.
void retreat(const EngineRules& engine, const State& state, Plan& plan, std::uint64_t units,
             float x, float y);

// To (x, y), but for those that fight.
void rally(const EngineRules& engine, const State& state, Plan& plan, std::uint64_t units, float x,
           float y);

}  // namespace ludus::rts
