// The state as JSON, for viewers and tools. Everything is in it; `seen` shows a viewer which cells
// each seat sees.
#pragma once

#include <functional>
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
  // Of games with several seats a side; without them a seat is an owner, and its money is the
  // world's.
  std::function<int(int slot)> seat_of = {};
  std::function<int(int slot)> max_hp_of = {};
  std::function<int(int seat)> owner_of = {};
  std::function<int(int seat)> money_of = {};
  std::string more = {};  // members of the document, as JSON
};

[[nodiscard]] std::string view_world(const EngineRules& rules, const State& state,
                                     const ViewNames& names);

}  // namespace ludus::rts
