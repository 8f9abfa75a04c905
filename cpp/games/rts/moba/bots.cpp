#include "games/rts/moba/bots.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "games/rts/moba/abilities.hpp"

namespace ludus::rts {

namespace {

constexpr float kNear = 6.0F;    // cells in which others count for a fight
constexpr float kFlees = 0.35F;  // share of the hit points
constexpr float kMends = 0.9F;   // up to which it stays at the fountain
constexpr float kHeals = 0.65F;
constexpr float kDaring = 0.95F;   // how strong its side must be to fight, in parts of the other
constexpr float kFearing = 1.25F;  // how strong the other must be for it to give way
constexpr float kBehind = 1.5F;    // cells that it keeps behind the first of its creeps
constexpr int kEarly = 150;        // ticks before the rush in which it sets out
constexpr int kWest4 = 9, kEast4 = 10, kWest2 = 1, kEast2 = 2;  // places

// The lane as the bot sees it, from left to right.
struct Lane {
  const Choices& c;
  const MobaRules& rules = c.rules;
  const State& s = c.w.world;
  int me = c.hero.slot;
  int enemy_hero = -1, enemy_creep = -1, enemy_building = -1;  // rows of the nearest
  int weak_creep = -1;             // the nearest that one blow kills, or nearly
  int hurt_ally = -1;              // the most hurt in reach of a heal
  int around = 0;                  // enemies within three cells
  float own = 0.0F, enemy = 0.0F;  // strength of the heroes near
  float front = -1.0F;             // column of the first own creep
  float tower = 99.0F;             // column of the nearest enemy building ahead
  bool in_reach_of_tower = false, cover = false;

  [[nodiscard]] float x(int i) const { return rules.seen(s, c.team, s.x[i]); }
  [[nodiscard]] float gap(int i) const {
    return std::sqrt(distance2(s.x[me], s.y[me], s.x[i], s.y[i]));
  }
  [[nodiscard]] float share(int i) const {
    return static_cast<float>(s.hp[i]) / static_cast<float>(max_hp_of(rules, c.w, i));
  }
  // Hit points times the damage that it deals in a tick.
  [[nodiscard]] float strength(int i) const {
    const UnitType& t = rules.engine.type[s.type[i]];
    return static_cast<float>(s.hp[i]) * static_cast<float>(t.attack) /
           static_cast<float>(t.cooldown[kCdAttack]);
  }

  explicit Lane(const Choices& choices) : c(choices) {
    float hero_gap = 99.0F;
    float creep_gap = 99.0F;
    float building_gap = 99.0F;
    float weak_gap = 99.0F;
    float worst = kHeals;
    for (int row = 0; row < c.rows.rows; ++row) {
      const int i = c.slot_of_row(row);
      const int type = s.type[i];
      const float d = gap(i);
      if (row < c.rows.own) {
        if (is_creep(type)) front = std::max(front, x(i));
        if (is_hero(type) && d < kNear) own += strength(i);
        if (is_hero(type) && d < 5.0F && share(i) < worst) {
          worst = share(i);
          hurt_ally = row;
        }
        continue;
      }
      const auto nearest = [&](float& least, int& best) {
        if (d >= least) return;
        least = d;
        best = row;
      };
      if (is_hero(type)) {
        nearest(hero_gap, enemy_hero);
        if (d < kNear) enemy += strength(i);
      } else if (is_creep(type)) {
        nearest(creep_gap, enemy_creep);
        const UnitType& mine = rules.engine.type[s.type[me]];
        const int blow = rules.engine.damage(s.type[me], type);
        if (s.hp[i] <= blow * 3 / 2 && d < static_cast<float>(mine.attack_range) + 1.5F) {
          nearest(weak_gap, weak_creep);
        }
      } else {
        nearest(building_gap, enemy_building);
      }
      if (!is_building(type) && d < 3.0F) ++around;
    }
    if (enemy_building >= 0) look_at_tower(c.slot_of_row(enemy_building), building_gap);
  }

  void look_at_tower(int i, float d) {
    tower = x(i);
    if (s.type[i] != kLaneTower) {
      cover = true;
      return;
    }
    const auto range = static_cast<float>(rules.engine.type[kLaneTower].attack_range);
    in_reach_of_tower = d < range + 0.7F;
    int creeps = 0;
    for (int row = 0; row < c.rows.own; ++row) {
      const int k = c.slot_of_row(row);
      if (!is_creep(s.type[k])) continue;
      if (distance2(s.x[k], s.y[k], s.x[i], s.y[i]) <= range * range) ++creeps;
    }
    // A tower that is nearly down is worth its blows.
    const int blow = std::max(1, rules.engine.damage(s.type[me], s.type[i]));
    cover = creeps >= 1 || (s.hp[i] <= 4 * blow && share(me) > 0.5F);
  }

  [[nodiscard]] bool may(int order) const { return (c.orders >> order & 1) != 0; }
  [[nodiscard]] bool may(int order, int row) const {
    return row >= 0 && (c.targets[static_cast<std::size_t>(order)] >> row & 1) != 0;
  }

  // A move along the lane, or past who stands there.
  [[nodiscard]] Decision walk(bool east, bool far) const {
    const std::uint32_t open = c.places[kMoveTo];
    const int first = far ? (east ? kEast4 : kWest4) : (east ? kEast2 : kWest2);
    const int diagonal = (far ? 9 : 1) + (east ? 6 : 4);
    for (const int p : {first, diagonal, diagonal + 1}) {
      if ((open >> p & 1) != 0) return {kMoveTo, 0, p};
    }
    return east || !may(kGoHome) ? Decision{} : Decision{kGoHome, 0, 0};
  }
  [[nodiscard]] Decision strike(int row) const { return {kAttackAt, row, 0}; }
};

// An ability that pays now; noop if none does.
Decision use_ability(const Lane& l, bool fights, bool flees) {
  for (int order = kCastFirst; order <= kCastSecond; ++order) {
    if (!l.may(order)) continue;
    const AbilityRules& ability = ability_of(l.rules, l.c.hero, order - kCastFirst);
    switch (ability.kind) {
      case AbilityKind::heal:
        if (l.may(order, l.hurt_ally)) return {order, l.hurt_ally, 0};
        break;
      case AbilityKind::around:
        if (l.around >= 3 || (fights && l.around >= 1)) return {order, 0, 0};
        break;
      case AbilityKind::dash: {
        const int place = flees ? kWest4 : (fights ? kEast2 : -1);
        const bool open =
            place >= 0 && (l.c.places[static_cast<std::size_t>(order)] >> place & 1) != 0;
        if (open && (flees || l.gap(l.c.slot_of_row(l.enemy_hero)) > 3.0F))
          return {order, 0, place};
        break;
      }
      case AbilityKind::strike:
        if ((fights || flees) && l.may(order, l.enemy_hero)) return {order, l.enemy_hero, 0};
        if (l.c.hero.mana * 2 > max_mana(l.rules, l.c.hero) && l.may(order, l.enemy_hero)) {
          return {order, l.enemy_hero, 0};
        }
        break;
      default:
        if ((fights || flees) && l.may(order, l.enemy_hero)) return {order, l.enemy_hero, 0};
    }
  }
  return {};
}

// Where to stand when there is nothing to hit.
Decision keep_lane(const Lane& l) {
  const float here = l.x(l.me);
  float goal = l.front < 0.0F ? kTowerX.back() - 1.0F : l.front - kBehind;
  if (!l.cover) goal = std::min(goal, l.tower - 6.5F);
  if (goal > here + 1.0F) return l.walk(true, goal > here + 4.0F);
  if (goal < here - 1.5F) return l.walk(false, goal < here - 4.0F);
  return {};
}

}  // namespace

Decision simple_hero(const Choices& c) {
  if (!c.hero.alive() || c.orders == 1U << kKeep) return {};
  const Lane l(c);
  const MobaRules& rules = c.rules;
  const Hero& h = c.hero;
  const float share = l.share(l.me);
  const bool home = at_fountain(rules, c.w, c.seat);
  const bool near = l.enemy_hero >= 0 && l.gap(c.slot_of_row(l.enemy_hero)) < kNear;
  const bool flees = share < kFlees;
  const bool under = l.in_reach_of_tower && !l.cover;
  const bool fights = near && !flees && !under && l.own > kDaring * l.enemy;
  const Decision ability = use_ability(l, fights, flees && near);
  if (ability.order != kKeep) return ability;
  // In the rush creeps stop for no one: who is first at a building wins.
  if (static_cast<int>(l.s.tick) + kEarly >= rules.late.rush) {
    const bool building = l.may(kAttackAt, l.enemy_building);
    if (near && !building) return l.strike(l.enemy_hero);
    return building ? l.strike(l.enemy_building) : l.walk(true, true);
  }
  if (flees || (home && share < kMends)) return {kGoHome, 0, 0};
  if (under) return l.walk(false, true);
  // It shops when it can, but not while a building can be had.
  const bool siege = l.enemy_building >= 0 && l.cover && !near;
  const bool saved = !siege && h.tier + 1 < kTiers && h.gold >= rules.tier_cost[h.tier];
  if (saved && (!near || h.goal == Goal::home)) return {kGoHome, 0, 0};
  if (siege && l.may(kAttackAt, l.enemy_building) &&
      l.gap(c.slot_of_row(l.enemy_building)) < kNear) {
    return l.strike(l.enemy_building);
  }
  if (l.may(kAttackAt, l.weak_creep)) return l.strike(l.weak_creep);
  if (fights) return l.strike(l.enemy_hero);
  if (near && l.enemy > kFearing * l.own && l.gap(c.slot_of_row(l.enemy_hero)) < 4.5F) {
    return l.walk(false, true);
  }
  const auto reach = static_cast<float>(rules.engine.type[l.s.type[l.me]].attack_range);
  if (l.enemy_creep >= 0) {
    const int creep = c.slot_of_row(l.enemy_creep);
    const bool passed = l.x(creep) < l.x(l.me) + 1.0F;
    if (passed || (l.gap(creep) < reach + 2.0F && l.front > l.x(l.me) - 2.0F)) {
      return l.strike(l.enemy_creep);
    }
  }
  return keep_lane(l);
}

Decision pushing_hero(const Choices& c) {
  if (!c.hero.alive() || c.orders == 1U << kKeep) return {};
  const Lane l(c);
  const Decision ability = use_ability(l, l.enemy_hero >= 0, false);
  if (ability.order != kKeep) return ability;
  int best = -1;
  float least = 99.0F;
  for (const int row : {l.enemy_hero, l.enemy_creep, l.enemy_building}) {
    if (!l.may(kAttackAt, row) || l.gap(c.slot_of_row(row)) >= least) continue;
    least = l.gap(c.slot_of_row(row));
    best = row;
  }
  return best >= 0 ? l.strike(best) : l.walk(true, true);
}

Decision random_hero(const Choices& c, Rng& rng) {
  const auto draw = [&](std::uint64_t bits) {
    for (auto n = rng.below(static_cast<std::uint32_t>(std::popcount(bits))); n > 0; --n) {
      bits &= bits - 1;
    }
    return std::countr_zero(bits);
  };
  Decision d;
  d.order = draw(c.orders);
  const auto k = static_cast<std::size_t>(d.order);
  if (c.targets[k] != 0) d.target = draw(c.targets[k]);
  if (c.places[k] != 0) d.place = draw(c.places[k]);
  return d;
}

}  // namespace ludus::rts
