// The moment as JSON, for viewers and tools. Everything is in it; `seen` tells a viewer which cells
// each seat sees.
#pragma once

#include <span>
#include <string>

#include "games/rts/engine/homes.hpp"

namespace ludus::rts {

[[nodiscard]] std::string view_world(const EngineRules& rules, const State& state, const char* game,
                                     std::span<const char* const> type_names);

}  // namespace ludus::rts
