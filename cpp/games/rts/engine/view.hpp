// The moment as JSON, for viewers and tools. Everything is in it; `seen` tells a viewer which cells
// each seat sees.
#pragma once

#include <span>
#include <string>

#include "games/rts/engine/homes.hpp"

namespace ludus::rts {

// `roles`: what each type is to a viewer (resource, worker, troop, building, base), or empty where
// viewers know.
[[nodiscard]] std::string view_world(const EngineRules& rules, const State& state, const char* game,
                                     std::span<const char* const> type_names,
                                     std::span<const char* const> roles = {});

}  // namespace ludus::rts
