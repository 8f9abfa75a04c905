#include "games/rts/engine/unit_commands.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/tactics.hpp"

namespace ludus::rts {

namespace {

enum UnitHead : std::uint8_t { kUnit, kOrder, kTarget, kPlace };
enum OrderKind : std::uint8_t { kMoveTo, kAttackAt, kGatherAt, kBuildFirst };  // + unit type
constexpr int kTargets = kSlots + 1;

// The cell that a place means for a unit.
Cell cell_at(const State& state, int slot, int place) {
  return cell_of_place({cell_coord(state.x[slot]), cell_coord(state.y[slot])}, place);
}

int nobody(const UnitGame& game) {
  return std::max(game.engine.capacity(0), game.engine.capacity(1));
}
int orders(const UnitGame& game) { return kBuildFirst + game.engine.types; }

int first_base(const EngineRules& engine, const State& state, int owner) {
  const std::uint64_t bases = of_type(engine, state, owner, engine.base_type);
  return bases == 0 ? kNone : std::countr_zero(bases);
}

// Legal orders of a seat now, as bits.
struct Choices {
  const UnitGame& game;
  const State& state;
  const HomeRows rows;
  int first;                                   // slot of the seat's unit 0
  std::array<std::uint32_t, kSlots> orders{};  // by own unit, a bit an order
  std::array<std::uint32_t, kSlots> places{};  // by own unit, a bit a place
  // By type: enemies that its units may attack, a bit a row; and whether they may attack the
  // enemy's base.
  std::array<std::uint64_t, kMaxTypes> victims{};
  std::uint32_t at_base = 0;

  Choices(const UnitGame& g, const State& s, int seat)
      : game(g), state(s), rows(g, s, seat), first(g.engine.first_slot[seat]) {
    if (s.over || s.tick < g.first_decision) return;
    for (int t = 0; t < g.engine.types; ++t) find_victims(t);
    for (int u = 0; u < rows.own; ++u) weigh(u, s.money[seat]);
  }

  void find_victims(int type) {
    const auto may = [&](int slot) {
      return !game.attack_table || game.engine.may_attack(type, state.type[slot]);
    };
    std::uint64_t& set = victims[static_cast<std::size_t>(type)];
    for_bits(rows.victims, [&](int row) {
      if (may(rows.slot[static_cast<std::size_t>(row)])) set |= std::uint64_t{1} << row;
    });
    if (rows.enemy_base != kNone && may(rows.enemy_base)) at_base |= 1U << type;
  }

  // Orders and places of one own unit.
  void weigh(int u, int money) {
    const EngineRules& engine = game.engine;
    const int slot = first + u;
    const int number = state.type[slot];
    const UnitType& type = engine.type[number];
    if (type.building && state.cmd[slot] != Cmd::idle) return;  // it ignores orders
    std::uint32_t where = 0;
    if (type.takes(Cmd::build)) where |= 1U << kHere;
    if (!type.building) {
      const std::uint64_t others = rows.seen & ~slot_bit(slot);
      for (int p = 1; p < kPlaces; ++p) {
        const Cell c = cell_at(state, slot, p);
        if (cell_free(engine, state, c, others) && !(engine.terrain && walled(state, c.x, c.y))) {
          where |= 1U << p;
        }
      }
    }
    std::uint32_t can = 0;
    if (type.takes(Cmd::move) && (where & ~(1U << kHere)) != 0) can |= 1U << kMoveTo;
    if (type.takes(Cmd::attack) && attacks_somebody(number)) can |= 1U << kAttackAt;
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

  [[nodiscard]] bool attacks_somebody(int type) const {
    return victims[static_cast<std::size_t>(type)] != 0 || (at_base >> type & 1) != 0;
  }
  [[nodiscard]] int type_of(int unit) const { return state.type[first + unit]; }

  [[nodiscard]] static bool places_matter(int order) {
    return order == kMoveTo || order >= kBuildFirst;
  }
  [[nodiscard]] static std::uint32_t places_of(int order) {
    constexpr std::uint32_t kAll = (1U << kPlaces) - 1;
    return order == kMoveTo ? kAll & ~(1U << kHere) : places_matter(order) ? kAll : 0;
  }
};

[[noreturn]] void refuse(const UnitGame& game, int head, std::int32_t choice, const char* why) {
  refuse_choice(game.name, unit_heads(game, {})[static_cast<std::size_t>(head)], choice, why);
}

}  // namespace

HomeRows::HomeRows(const UnitGame& game, const State& state, int seat)
    : SeenRows(game.engine, state, seat,
               visible_units(game.engine, state,
                             game.fog ? sight_of(game.engine, state, seat)
                                      : sight_of_everything(game.engine))) {
  for (int row = 0; row < rows; ++row) {
    if (state.type[slot[static_cast<std::size_t>(row)]] == game.resource) {
      resources |= std::uint64_t{1} << row;
    }
  }
  // A row is a victim or a resource, so that tables of targets by unit and by order are exact.
  if (game.attack_table) victims &= ~resources;
  base = first_base(game.engine, state, seat);
  enemy_base = first_base(game.engine, state, 1 - seat);
}

std::vector<HeadSpec> unit_heads(const UnitGame& game, std::span<const std::string> types) {
  HeadSpec order;
  order.name = "order";
  order.size = orders(game);
  order.labels = {"move", "attack", "gather"};
  for (const std::string& t : types) order.labels.push_back("build_" + t);
  order.depends_on = {kUnit};
  order.meaning = "what the unit shall do";
  HeadSpec target = row_head(
      "target", kSlots, 1, {kOrder},
      "the enemy to attack or which resource to gather, by its row; the last choice is the "
      "enemy's base, seen or not");
  if (game.attack_table) target.depends_on = {kUnit, kOrder};
  return {row_head("unit", nobody(game), 1, {},
                   "which own unit gets an order, by its row; the last choice is none"),
          order, target,
          place_head(
              {kUnit, kOrder},
              "where to move or build: compass direction and distance in cells (diagonals: on each "
              "axis) from the unit's cell; here: a free spot around the builder")};
}

void legal_unit_orders(const UnitGame& game, const State& state, int seat, std::uint8_t* mask) {
  const Choices c(game, state, seat);
  const int no_one = nobody(game);
  const int kinds = orders(game);
  std::uint8_t* unit = mask;
  std::uint8_t* order = unit + no_one + 1;
  std::uint8_t* target_of_unit = order + (no_one + 1) * kinds;
  std::uint8_t* target = target_of_unit + (game.attack_table ? (no_one + 1) * kTargets : 0);
  std::uint8_t* place = target + kinds * kTargets;
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
    if (!game.attack_table) continue;
    const int type = c.type_of(u);
    std::uint8_t* row = target_of_unit + u * kTargets;
    expand_bits(c.victims[static_cast<std::size_t>(type)] | c.rows.resources, kSlots, row);
    row[kEnemyBaseChoice] = static_cast<std::uint8_t>(c.at_base >> type & 1);
  }
  expand_bits(c.rows.victims, kSlots, target + kAttackAt * kTargets);
  target[kAttackAt * kTargets + kEnemyBaseChoice] = c.rows.enemy_base != kNone ? 1 : 0;
  expand_bits(c.rows.resources, kSlots, target + kGatherAt * kTargets);
  for (int o = 0; o < kinds; ++o) {
    expand_bits(Choices::places_of(o), kPlaces, place_of_order + o * kPlaces);
  }
}

void order_unit(const UnitGame& game, State& state, int seat,
                std::span<const std::int32_t> action) {
  const int unit = action[kUnit];
  if (unit == nobody(game)) return;
  const Choices c(game, state, seat);
  if (unit < 0 || unit >= c.rows.own || c.orders[static_cast<std::size_t>(unit)] == 0) {
    refuse(game, kUnit, unit, "no unit of the seat that can take an order now");
  }
  const int order = action[kOrder];
  if (order < 0 || order >= orders(game) ||
      (c.orders[static_cast<std::size_t>(unit)] >> order & 1) == 0) {
    refuse(game, kOrder, order, "the unit cannot do that now");
  }
  const int slot = c.first + unit;
  const int number = c.type_of(unit);
  int victim = kNone;
  if (order == kAttackAt || order == kGatherAt) {
    const int target = action[kTarget];
    const std::uint64_t allowed =
        order == kAttackAt ? c.victims[static_cast<std::size_t>(number)] : c.rows.resources;
    if (order == kAttackAt && target == kEnemyBaseChoice && (c.at_base >> number & 1) != 0) {
      victim = c.rows.enemy_base;
    } else if (target >= 0 && target < kSlots && (allowed >> target & 1) != 0) {
      victim = c.rows.slot[static_cast<std::size_t>(target)];
    }
    if (victim == kNone) refuse(game, kTarget, target, "not to be seen, or not of that kind");
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
      refuse(game, kPlace, place, "off the map, a wall, or a unit stands there");
    }
    const Cell at = cell_at(state, slot, place);
    const auto x = static_cast<float>(at.x);
    const auto y = static_cast<float>(at.y);
    const int type = order - kBuildFirst;
    given = order == kMoveTo ? move_order(x, y)
            : place == kHere ? build_order(type)
                             : build_order(type, x, y);
  }
  if (!offer_order(game.engine, state, slot, given)) {
    refuse(game, kOrder, order, "the engine does not take it");
  }
}

}  // namespace ludus::rts
