// The hash of a match: everything that can influence its future, except the learned heuristic and
// the caches of path search.
#pragma once

#include "base/hash.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

void hash_world(const EngineRules& rules, const State& state, Hash64& h);

}  // namespace ludus::rts
