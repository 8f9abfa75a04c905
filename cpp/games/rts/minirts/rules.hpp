// MiniRTS: its unit types, its rules and how they are read from parameters and a rulebook.
#pragma once

#include <string>
#include <vector>

#include "game/params.hpp"
#include "games/rts/engine/decisions.hpp"
#include "games/rts/engine/start_positions.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// Unit types, in the numbering of observations and rulebooks.
enum MiniType : std::uint8_t { kResource, kWorker, kMelee, kRange, kBarracks, kBase, kMiniTypes };
inline constexpr std::array<const char*, kMiniTypes> kMiniTypeNames = {
    "resource", "worker", "melee_attacker", "range_attacker", "barracks", "base"};

inline constexpr int kMiniSeats = 2;

struct MiniRules {
  EngineRules engine;
  StartUnits start_units = StartUnits::random;
  Commands commands = Commands::strategic;
  int start_money = 200;
  // Chances in tenths of each extra unit at the start, by type; and how many tries.
  std::array<int, kMiniTypes> start_tenths{};
  std::array<int, kMiniTypes> start_tries{};
  std::uint32_t first_decision = 3;  // before this tick no seat may act
  bool fog = true;                   // false: observations show the whole map
  std::uint32_t repeat_orders =
      0;           // ticks after which combined manoeuvres are given again; 0: once
  int pixels = 0;  // of a cell along one axis in the tensor `pixels`; 0: none
};

[[nodiscard]] std::vector<ParamSpec> mini_params();

// Throws ParamError.
[[nodiscard]] MiniRules make_mini_rules(const Params& params);

// Overrides numbers of `rules` by `text`: lines `key=value`, '#' starts a comment. Throws
// ParamError with the key, the value, the allowed range and the nearest key.
void apply_rulebook(MiniRules& rules, const std::string& text);

// Every key and its value, one a line, as apply_rulebook reads them.
[[nodiscard]] std::string print_rulebook(const MiniRules& rules);

}  // namespace ludus::rts
