// The state as JSON, for viewers and tools. Everything is in it; `seen` shows a viewer which cells
// each seat sees.
#pragma once

#include <span>
#include <string>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// A game's names of things.
struct ViewNames {
  const char* game;
  std::span<const char* const> types;
  // Kind of each type for a viewer: resource, worker, troop, building, base, tower or flag.
  std::span<const char* const> roles;
  int seats = 2;
  int owners = 2;  // whose units there are; the owner of the flag is seat -1
  bool fog = true;
  const char* money = "money";  // or "score"
};

[[nodiscard]] std::string view_world(const EngineRules& rules, const State& state,
                                     const ViewNames& names);

}  // namespace ludus::rts
