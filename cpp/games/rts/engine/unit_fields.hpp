// The keys of a unit type with their limits and meaning: the one list behind the rule overrides of
// the games and the rulebooks.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// Calls list.number(key, target, low, high, meaning), list.flag(key, target, meaning) and
// list.names(key, target, names, meaning). The type may accept the first `commands` of kCmdNames.
template <class List>
void list_unit_fields(List& list, const std::string& prefix, UnitType& type,
                      const std::vector<std::string>& types, int commands) {
  std::vector<std::string> orders(kCmdNames.begin(), kCmdNames.begin() + commands);
  orders[0].clear();  // no unit is ordered to be idle
  const auto key = [&](const char* name) { return prefix + name; };
  list.number(key("cost"), type.cost, 0, 1e6, "money that building one takes");
  list.number(key("hp"), type.hp, 1, 30000, "hit points of a new one");
  list.number(key("defence"), type.defence, 0, 30000, "taken off the damage of every hit");
  list.number(key("attack"), type.attack, 0, 30000, "damage of a hit, before factors and defence");
  list.number(key("attack_range"), type.attack_range, 0, 64,
              "cells; up to 1 it hits at once, above it shoots projectiles");
  list.number(key("vision"), type.vision, 0, 64, "cells that it sees, along the axes together");
  list.number(key("speed"), type.speed, 0, 0.5, "cells a tick");
  list.flag(key("building"), type.building, "it takes no order while it carries one out");
  list.flag(key("invulnerable"), type.invulnerable, "hits do nothing to it (ruleset clean)");
  list.names(key("accepts"), type.accepts, orders, "orders that it takes");
  list.names(key("builds"), type.builds, types, "types that it builds");
  constexpr std::array<const char*, kCooldowns> kNames = {"move", "attack", "gather", "build"};
  constexpr std::array<const char*, kCooldowns> kMeaning = {
      "ticks between two steps", "ticks between two hits", "ticks that gathering once takes",
      "ticks that building something takes"};
  for (std::size_t c = 0; c < kCooldowns; ++c) {
    list.number(key("cooldown.") + kNames[c], type.cooldown[c], 0, kMaxTickLimit, kMeaning[c]);
  }
}

}  // namespace ludus::rts
