// The match as JSON: the document of the engine's games, with levels, gold, mana and cooldowns.
#pragma once

#include <string>

#include "games/rts/moba/world.hpp"

namespace ludus::rts {

[[nodiscard]] std::string view_moba(const MobaRules& rules, const MobaWorld& w);

}  // namespace ludus::rts
