// Parts of the decisions of every game on the engine below the strategic level: on which
// level a seat decides, rows of the tensor `units` as pointers, places around a unit, parts of the
// map.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "game/params.hpp"
#include "game/spec.hpp"
#include "games/rts/engine/map.hpp"

namespace ludus::rts {

// On which level a seat decides.
enum class Commands : std::uint8_t { strategic, combined, tactical, units };

// The parameter `commands`; `meaning` describes a decision on each level of the game.
// `combined`: whether the game has that level.
[[nodiscard]] ParamSpec commands_param(const char* meaning, bool combined = false);
[[nodiscard]] Commands read_commands(const Params& params, const std::vector<ParamSpec>& declared);

// Combined: any of a game's strategic orders at one decision, as its scripted bots give them. A
// head an order, no or yes; the first order, to do nothing, is left out.
[[nodiscard]] std::vector<HeadSpec> combined_heads(std::span<const char* const> orders);
// Bit a: the decision gives order a. Throws GameError for what is neither no nor yes.
[[nodiscard]] std::uint32_t read_combined(const char* game, std::span<const char* const> orders,
                                          std::span<const std::int32_t> action);
// The same the other way round.
void write_combined(std::uint32_t set, std::span<std::int32_t> action);
// No is always legal; yes where bit a of `useful` is set.
void legal_combined(std::uint32_t useful, std::size_t orders, std::uint8_t* mask);

// Throws GameError: "GAME: HEAD = CHOICE: WHY".
[[noreturn]] void refuse_choice(const char* game, const HeadSpec& head, std::int32_t choice,
                                const char* why);

// out[i] = bit i, for i < n.
inline void expand_bits(std::uint64_t bits, int n, std::uint8_t* out) {
  for (int i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(bits >> i & 1);
}

// Maps the rows of the tensor `units` to units, for a seat that sees the slots in `seen`: its own
// units, then the rest, both in rising slot.
struct SeenRows {
  std::uint64_t seen = 0;  // by slot
  int own = 0, rows = 0;   // own units come first
  std::array<std::uint8_t, kSlots> slot{};
  std::uint64_t victims = 0;  // by row: who may be attacked

  SeenRows(const EngineRules& engine, const State& state, int seat, std::uint64_t known)
      : seen(known) {
    const auto add = [&](int i) {
      slot[static_cast<std::size_t>(rows++)] = static_cast<std::uint8_t>(i);
    };
    for_units(engine, state, seat, add);
    own = rows;
    for_bits(seen, [&](int i) {
      if (engine.owner_of(i) == seat) return;
      if (!engine.type[state.type[i]].invulnerable) victims |= std::uint64_t{1} << rows;
      add(i);
    });
  }

  // The slots of the rows in `bits`.
  [[nodiscard]] std::uint64_t slots_of(std::uint64_t bits) const {
    std::uint64_t set = 0;
    for_bits(bits, [&](int row) { set |= slot_bit(slot[static_cast<std::size_t>(row)]); });
    return set;
  }
};

// A head that points at rows of `units`, of which there are `rows`; choices above them are
// `others` of no row.
[[nodiscard]] HeadSpec row_head(const char* name, int rows, int others, std::vector<int> depends_on,
                                const char* meaning);

// Sectors: the map in 4 x 4 parts, row by row.
inline constexpr int kSectorsAcross = 4;
inline constexpr int kSectors = kSectorsAcross * kSectorsAcross;
[[nodiscard]] Point middle_of_sector(const EngineRules& engine, int sector);
[[nodiscard]] HeadSpec sector_head(std::vector<int> depends_on, const char* meaning);

// Places: the cell a unit is in, then eight compass directions at 2, 4 and 8 cells from it.
inline constexpr int kHere = 0;
inline constexpr int kPlaces = 25;
[[nodiscard]] Cell cell_of_place(Cell from, int place);
[[nodiscard]] HeadSpec place_head(std::vector<int> depends_on, const char* meaning);

}  // namespace ludus::rts
