#include "games/rts/minirts/unit_orders.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "game/game.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/seen_rows.hpp"

namespace ludus::rts {

namespace {

enum UnitHead : std::uint8_t { kUnit, kOrder, kTarget, kPlace };
enum OrderKind : std::uint8_t { kMoveTo, kAttackAt, kGatherAt, kBuildFirst };  // + unit type

// The cell that a place means for a unit.
Cell cell_at(const State& state, int slot, int place) {
  return cell_of_place({cell_coord(state.x[slot]), cell_coord(state.y[slot])}, place);
}

int nobody(const MiniRules& rules) {
  return std::max(rules.engine.capacity(0), rules.engine.capacity(1));
}
int orders(const MiniRules& rules) { return kBuildFirst + rules.engine.types; }

// What a seat may order now, as bits.
struct Choices {
  const MiniRules& rules;
  const State& state;
  const MiniRows rows;
  int first;                                   // slot of the seat's unit 0
  std::array<std::uint32_t, kSlots> orders{};  // by own unit, a bit an order
  std::array<std::uint32_t, kSlots> places{};  // by own unit, a bit a place

  Choices(const MiniRules& r, const State& s, int seat)
      : rules(r), state(s), rows(r, s, seat), first(r.engine.first_slot[seat]) {
    if (s.over || s.tick < r.first_decision) return;
    for (int u = 0; u < rows.own; ++u) weigh(u, s.money[seat]);
  }

  // Orders and places of one own unit.
  void weigh(int u, int money) {
    const EngineRules& engine = rules.engine;
    const int slot = first + u;
    const UnitType& type = engine.type[state.type[slot]];
    if (type.building && state.cmd[slot] != Cmd::idle) return;  // it ignores orders
    std::uint32_t where = 0;
    if (type.takes(Cmd::build)) where |= 1U << kHere;
    if (!type.building) {
      const std::uint64_t others = rows.seen & ~slot_bit(slot);
      for (int p = 1; p < kPlaces; ++p) {
        if (cell_free(engine, state, cell_at(state, slot, p), others)) where |= 1U << p;
      }
    }
    std::uint32_t can = 0;
    if (type.takes(Cmd::move) && (where & ~(1U << kHere)) != 0) can |= 1U << kMoveTo;
    if (type.takes(Cmd::attack) && (rows.victims != 0 || rows.enemy_base != kNone))
      can |= 1U << kAttackAt;
    if (type.takes(Cmd::gather) && rows.resources != 0 && rows.base != kNone)
      can |= 1U << kGatherAt;
    for (int t = 0; type.takes(Cmd::build) && t < engine.types; ++t) {
      if ((type.builds >> t & 1) != 0 && money >= engine.type[t].cost) {
        can |= 1U << (kBuildFirst + t);
      }
    }
    orders[static_cast<std::size_t>(u)] = can;
    places[static_cast<std::size_t>(u)] = can == 0 ? 0 : where;
  }

  [[nodiscard]] static bool places_matter(int order) {
    return order == kMoveTo || order >= kBuildFirst;
  }
  [[nodiscard]] static std::uint32_t places_of(int order) {
    constexpr std::uint32_t kAll = (1U << kPlaces) - 1;
    return order == kMoveTo ? kAll & ~(1U << kHere) : places_matter(order) ? kAll : 0;
  }
};

[[noreturn]] void refuse(const MiniRules& rules, int head, std::int32_t choice, const char* why) {
  refuse_choice("minirts", unit_heads(rules)[static_cast<std::size_t>(head)], choice, why);
}

}  // namespace

std::vector<HeadSpec> unit_heads(const MiniRules& rules) {
  HeadSpec order;
  order.name = "order";
  order.size = orders(rules);
  order.labels = {"move", "attack", "gather"};
  for (int t = 0; t < rules.engine.types; ++t) {
    order.labels.push_back(std::string("build_") + kMiniTypeNames[static_cast<std::size_t>(t)]);
  }
  order.depends_on = {kUnit};
  order.meaning = "what the unit shall do";
  return {row_head("unit", nobody(rules), 1, {},
                   "which own unit gets an order, by its row; the last choice is nobody"),
          order,
          row_head("target", kSlots, 1, {kOrder},
                   "whom to attack or which resource to gather, by its row; the last choice is the "
                   "enemy's base, seen or not"),
          place_head(
              {kUnit, kOrder},
              "where to move or build: compass direction and distance in cells (diagonals: on each "
              "axis) from the unit's cell; here: a free spot around the builder")};
}

void legal_unit_orders(const MiniRules& rules, const State& state, int seat, std::uint8_t* mask) {
  const Choices c(rules, state, seat);
  const int no_one = nobody(rules);
  const int kinds = orders(rules);
  std::uint8_t* unit = mask;
  std::uint8_t* order = unit + no_one + 1;
  std::uint8_t* target = order + (no_one + 1) * kinds;
  std::uint8_t* place = target + kinds * (kSlots + 1);
  std::uint8_t* place_of_order = place + (no_one + 1) * kPlaces;
  std::uint8_t* end = place_of_order + kinds * kPlaces;
  std::fill(mask, end, std::uint8_t{0});
  unit[no_one] = 1;
  for (int u = 0; u < c.rows.own; ++u) {
    const std::uint32_t can = c.orders[static_cast<std::size_t>(u)];
    if (can == 0) continue;
    unit[u] = 1;
    expand_bits(can, kinds, order + u * kinds);
    expand_bits(c.places[static_cast<std::size_t>(u)], kPlaces, place + u * kPlaces);
  }
  expand_bits(c.rows.victims, kSlots, target + kAttackAt * (kSlots + 1));
  target[kAttackAt * (kSlots + 1) + kEnemyBaseChoice] = c.rows.enemy_base != kNone ? 1 : 0;
  expand_bits(c.rows.resources, kSlots, target + kGatherAt * (kSlots + 1));
  for (int o = 0; o < kinds; ++o) {
    expand_bits(Choices::places_of(o), kPlaces, place_of_order + o * kPlaces);
  }
}

void order_unit(const MiniRules& rules, State& state, int seat,
                std::span<const std::int32_t> action) {
  const int unit = action[kUnit];
  if (unit == nobody(rules)) return;
  const Choices c(rules, state, seat);
  if (unit < 0 || unit >= c.rows.own || c.orders[static_cast<std::size_t>(unit)] == 0) {
    refuse(rules, kUnit, unit, "no unit of the seat that can take an order now");
  }
  const int order = action[kOrder];
  if (order < 0 || order >= orders(rules) ||
      (c.orders[static_cast<std::size_t>(unit)] >> order & 1) == 0) {
    refuse(rules, kOrder, order, "the unit cannot do that now");
  }
  const int slot = c.first + unit;
  int victim = kNone;
  if (order == kAttackAt || order == kGatherAt) {
    const int target = action[kTarget];
    const std::uint64_t allowed = order == kAttackAt ? c.rows.victims : c.rows.resources;
    if (order == kAttackAt && target == kEnemyBaseChoice) {
      victim = c.rows.enemy_base;
    } else if (target >= 0 && target < kSlots && (allowed >> target & 1) != 0) {
      victim = c.rows.slot[static_cast<std::size_t>(target)];
    }
    if (victim == kNone) refuse(rules, kTarget, target, "not to be seen, or not of that kind");
  }
  Order given;
  if (order == kAttackAt) {
    given = attack_order(victim);
    if (state.cmd[slot] == Cmd::attack && state.target[slot] == given.target) return;
  } else if (order == kGatherAt) {
    given = gather_order(c.rows.base, victim);
    const bool same = state.target[slot] == given.target && state.source[slot] == given.source;
    if (state.cmd[slot] == Cmd::gather && same) return;
  } else {
    const int place = action[kPlace];
    const std::uint32_t allowed =
        c.places[static_cast<std::size_t>(unit)] & Choices::places_of(order);
    if (place < 0 || place >= kPlaces || (allowed >> place & 1) == 0) {
      refuse(rules, kPlace, place, "off the map, or somebody stands there");
    }
    const Cell at = cell_at(state, slot, place);
    const auto x = static_cast<float>(at.x);
    const auto y = static_cast<float>(at.y);
    const int type = order - kBuildFirst;
    given = order == kMoveTo ? move_order(x, y)
            : place == kHere ? build_order(type)
                             : build_order(type, x, y);
  }
  if (!offer_order(rules.engine, state, slot, given)) {
    refuse(rules, kOrder, order, "the engine does not take it");
  }
}

}  // namespace ludus::rts
