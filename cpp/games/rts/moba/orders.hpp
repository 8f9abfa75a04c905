// Decisions of a hero: an order, a target among the rows of `units`, and a place around it. A hero
// keeps to its order until the next one, or until it is done.
#pragma once

#include <span>
#include <vector>

#include "game/spec.hpp"
#include "games/rts/engine/decisions.hpp"
#include "games/rts/moba/world.hpp"

namespace ludus::rts {

enum HeroOrder : std::uint8_t {
  kKeep,  // noop
  kMoveTo,
  kAttackAt,
  kCastFirst,
  kCastSecond,
  kGoHome,
  kHeroOrders
};
enum HeroHead : std::uint8_t { kOrderHead, kTargetHead, kPlaceHead, kHeroHeads };

inline constexpr int kMobaRows = kSlots;

// The rows that a seat sees, and its choices now, as bits of rows and places.
struct Choices {
  const MobaRules& rules;
  const MobaWorld& w;
  int seat, team;
  const Hero& hero;
  SeenRows rows;
  std::uint32_t orders = 1U << kKeep;
  std::array<std::uint64_t, kHeroOrders> targets{};
  std::array<std::uint32_t, kHeroOrders> places{};

  // Where to move is left out with `Moves::later`: `open_move` looks at one place.
  enum class Moves : std::uint8_t { now, later };
  Choices(const MobaRules& rules, const MobaWorld& w, int seat, Moves moves = Moves::now);

  // The middle of the cell that a place means to the hero, on the map.
  [[nodiscard]] Point point_of(int place) const;
  // Whether the hero, who may act, may move to a place.
  [[nodiscard]] bool open_move(int place) const { return open(place, kAnywhere); }
  [[nodiscard]] int slot_of_row(int row) const { return rows.slot[static_cast<std::size_t>(row)]; }

 private:
  static constexpr float kAnywhere = 1000.0F;  // cells

  void weigh_ability(int order);
  [[nodiscard]] bool open(int place, float within) const;
};

// A decision in numbers of the heads.
struct Decision {
  int order = kKeep, target = 0, place = 0;
};

[[nodiscard]] std::vector<HeadSpec> hero_heads();

void legal_hero_orders(const MobaRules& rules, const MobaWorld& w, int seat, std::uint8_t* mask);

// Throws GameError for what the mask rules out.
void order_hero(const MobaRules& rules, MobaWorld& w, int seat,
                std::span<const std::int32_t> action);

// The same for a decision that is legal by `choices`, which are of `w`.
void obey(const Choices& choices, MobaWorld& w, const Decision& decision);

}  // namespace ludus::rts
