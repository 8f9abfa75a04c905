#include "games/rts/moba/orders.hpp"

#include <algorithm>

#include "game/game.hpp"
#include "games/rts/moba/abilities.hpp"
#include "games/rts/moba/sight.hpp"

namespace ludus::rts {

namespace {

[[noreturn]] void refuse(int head, std::int32_t choice, const char* why) {
  refuse_choice("moba", hero_heads()[static_cast<std::size_t>(head)], choice, why);
}

}  // namespace

Choices::Choices(const MobaRules& r, const MobaWorld& world, int who, Moves moves)
    : rules(r),
      w(world),
      seat(who),
      team(r.team_of(who)),
      hero(world.hero[static_cast<std::size_t>(who)]),
      rows(r.engine, world.world, r.team_of(who), seen_by(r, world.world, r.team_of(who))) {
  if (!hero.alive() || stunned(w, hero) || w.world.over) return;
  orders |= 1U << kGoHome;
  if (moves == Moves::now) {
    for (int p = 0; p < kPlaces; ++p) {
      if (open_move(p)) places[kMoveTo] |= 1U << p;
    }
  }
  if (places[kMoveTo] != 0) orders |= 1U << kMoveTo;
  targets[kAttackAt] = rows.victims;
  if (rows.victims != 0) orders |= 1U << kAttackAt;
  weigh_ability(kCastFirst);
  weigh_ability(kCastSecond);
}

void Choices::weigh_ability(int order) {
  const int a = order - kCastFirst;
  if (!can_cast(rules, w, hero, a)) return;
  const AbilityRules& ability = ability_of(rules, hero, a);
  const auto k = static_cast<std::size_t>(order);
  bool can = ability.kind == AbilityKind::around;
  if (ability.kind == AbilityKind::dash) {
    for (int p = kHere + 1; p < kPlaces; ++p) {
      if (open(p, ability.range)) places[k] |= 1U << p;
    }
    can = places[k] != 0;
  }
  if (at_unit(ability.kind)) {
    for (int row = 0; row < rows.rows; ++row) {
      if (may_target(rules, w, seat, ability, slot_of_row(row))) {
        targets[k] |= std::uint64_t{1} << row;
      }
    }
    can = targets[k] != 0;
  }
  if (can) orders |= 1U << order;
}

Point Choices::point_of(int place) const {
  const State& s = w.world;
  const Cell from{cell_coord(rules.seen(s, team, s.x[hero.slot])),
                  cell_coord(rules.seen(s, team, s.y[hero.slot]))};
  const Cell seen = cell_of_place(from, place);
  return {rules.seen(s, team, static_cast<float>(seen.x)),
          rules.seen(s, team, static_cast<float>(seen.y))};
}

// On the map, not on a wall, and no unit that the team sees is there.
bool Choices::open(int place, float within) const {
  const State& s = w.world;
  const Point p = point_of(place);
  if (distance2(s.x[hero.slot], s.y[hero.slot], p.x, p.y) > within * within) return false;
  if (!inside(rules.engine, p.x, p.y) || !open_ground(rules.engine, s, p.x, p.y)) return false;
  const Cell cell{cell_coord(p.x), cell_coord(p.y)};
  return cell_free(rules.engine, s, cell, rows.seen & ~slot_bit(hero.slot));
}

std::vector<HeadSpec> hero_heads() {
  HeadSpec order;
  order.name = "order";
  order.size = kHeroOrders;
  order.labels = {"noop", "move", "attack", "ability_1", "ability_2", "home"};
  order.meaning = "what the hero shall do; noop keeps it at its order";
  return {
      order,
      row_head("target", kMobaRows, 0, {kOrderHead},
               "the unit to attack, or to cast at, by its row"),
      place_head({kOrderHead},
                 "where to move or to jump: compass direction and distance in cells (diagonals: "
                 "on each axis) from the hero's cell, as its team sees the map")};
}

void legal_hero_orders(const MobaRules& rules, const MobaWorld& w, int seat, std::uint8_t* mask) {
  const Choices c(rules, w, seat);
  std::uint8_t* target = mask + kHeroOrders;
  std::uint8_t* place = target + kHeroOrders * kMobaRows;
  expand_bits(c.orders, kHeroOrders, mask);
  for (int order = 0; order < kHeroOrders; ++order) {
    const auto k = static_cast<std::size_t>(order);
    expand_bits(c.targets[k], kMobaRows, target + order * kMobaRows);
    expand_bits(c.places[k], kPlaces, place + order * kPlaces);
  }
}

void order_hero(const MobaRules& rules, MobaWorld& w, int seat,
                std::span<const std::int32_t> action) {
  const Choices c(rules, w, seat);
  const Decision d{action[kOrderHead], action[kTargetHead], action[kPlaceHead]};
  if (d.order < 0 || d.order >= kHeroOrders || (c.orders >> d.order & 1) == 0) {
    refuse(kOrderHead, d.order, "the hero cannot do that now");
  }
  const auto k = static_cast<std::size_t>(d.order);
  if (c.targets[k] != 0 &&
      (d.target < 0 || d.target >= kMobaRows || (c.targets[k] >> d.target & 1) == 0)) {
    refuse(kTargetHead, d.target, "not in sight, out of reach, or of the wrong kind");
  }
  if (c.places[k] != 0 &&
      (d.place < 0 || d.place >= kPlaces || (c.places[k] >> d.place & 1) == 0)) {
    refuse(kPlaceHead, d.place, "off the lane, too far, or a unit stands there");
  }
  obey(c, w, d);
}

void obey(const Choices& c, MobaWorld& w, const Decision& d) {
  Hero& h = w.hero[static_cast<std::size_t>(c.seat)];
  switch (d.order) {
    case kMoveTo: {
      const Point p = c.point_of(d.place);
      h.goal = Goal::move;
      h.goal_x = p.x;
      h.goal_y = p.y;
      return;
    }
    case kAttackAt:
      h.goal = Goal::attack;
      h.goal_id = w.world.id[static_cast<std::size_t>(c.slot_of_row(d.target))];
      return;
    case kCastFirst:
    case kCastSecond: {
      const auto k = static_cast<std::size_t>(d.order);
      h.cast = static_cast<std::uint8_t>(1 + d.order - kCastFirst);
      h.cast_id = 0;
      h.cast_x = h.cast_y = 0.0F;
      if (c.targets[k] != 0) {
        h.cast_id = w.world.id[static_cast<std::size_t>(c.slot_of_row(d.target))];
      }
      if (c.places[k] != 0) {
        const Point p = c.point_of(d.place);
        h.cast_x = p.x;
        h.cast_y = p.y;
      }
      return;
    }
    case kGoHome:
      h.goal = Goal::home;
      return;
    default:
      return;
  }
}

}  // namespace ludus::rts
