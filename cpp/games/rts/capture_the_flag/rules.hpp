// Capture the Flag: its unit types, its rules and how they are read from parameters and a rulebook.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "game/params.hpp"
#include "games/rts/engine/decisions.hpp"
#include "games/rts/engine/learned_heuristic.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

// Unit types, in the numbering of observations and rulebooks. A handicapped athlete is an athlete
// of seat 0 whose numbers the parameter `handicap` has changed; who comes back after a death is an
// ordinary one, as in the original.
enum FlagType : std::uint8_t { kFlagBase, kAthlete, kFlag, kHandicapped, kFlagTypes };
inline constexpr int kFlagRuleTypes = 3;  // those that a rulebook names
inline constexpr std::array<const char*, kFlagTypes> kFlagTypeNames = {"base", "athlete", "flag",
                                                                       "athlete"};

inline constexpr int kFlagSeats = 2;
inline constexpr int kAthletes = 5;  // of each seat

struct CtfRules {
  EngineRules engine;
  bool clean = false;  // ruleset: seats see and earn the same from their own side
  Commands commands = Commands::strategic;
  bool handicapped = false;
  float point_reward = 0.2F;
  float carry_reward = 0.01F;        // a cell that the flag is carried homewards
  std::uint32_t first_decision = 2;  // before this tick no seat may act
  int pixels = 0;                    // of a cell along one axis in the tensor `pixels`; 0: none

  [[nodiscard]] static bool athlete(int type) { return type == kAthlete || type == kHandicapped; }
  // Whether the seat sees the field in a mirror, its own side on the left.
  [[nodiscard]] bool mirrored(const State& state, int seat) const {
    return clean && (seat == 1) != state.turned;
  }
  // A column of the field as the seat sees it; and back.
  [[nodiscard]] float column(const State& state, int seat, float x) const {
    return mirrored(state, seat) ? static_cast<float>(engine.side - 1) - x : x;
  }
};

// A larger store of the learned heuristic: matches are long and units cross the whole map. The
// longest of a hundred matches needs 6,000 entries, more than the engine's state holds.
struct FlagHeuristic {
  static constexpr int kEntries = 8192;
  std::array<std::uint32_t, kEntries> entry{};
  std::array<std::uint16_t, kEntries> before{};
  std::array<std::uint16_t, kHeuristicChains> last{};
  std::uint16_t size = 0;
  HeuristicTables tables;  // cache of the learned heuristic

  [[nodiscard]] HeuristicStore store() {
    return {entry.data(), &size, kEntries, &tables, last.data(), before.data()};
  }
  // Copies the entries in use, without the tables.
  void copy(const FlagHeuristic& from) {
    std::copy_n(from.entry.begin(), from.size, entry.begin());
    std::copy_n(from.before.begin(), from.size, before.begin());
    last = from.last;
    size = from.size;
    tables.clear();
  }
};

[[nodiscard]] std::vector<ParamSpec> ctf_params();

// Throws ParamError.
[[nodiscard]] CtfRules make_ctf_rules(const Params& params);

// The column in which the seat's base stands: at the left edge, or at the right one.
[[nodiscard]] inline float base_column(const State& state, int seat) {
  return (seat == 0) != state.turned ? 1.0F : 18.0F;
}

// Fills `state` with a fresh match at tick 0.
void place_ctf_start(const CtfRules& rules, State& state, Rng& rng);

// Deals rows for the flag to come back in, where some have been used.
inline void deal_flag_rows(const CtfRules& rules, State& state, Rng& rng) {
  if (state.flag_rows == kFlagRows) [[likely]] {
    return;
  }
  // The next one is taken from the back, so what is left moves there.
  const int used = kFlagRows - state.flag_rows;
  for (int i = state.flag_rows - 1; i >= 0; --i) state.flag_row[i + used] = state.flag_row[i];
  for (int i = used - 1; i >= 0; --i) {
    state.flag_row[i] = static_cast<std::uint8_t>(
        rng.below(static_cast<std::uint32_t>(rules.engine.flag.home_rows)));
  }
  state.flag_rows = kFlagRows;
}

}  // namespace ludus::rts
