#include "games/rts/moba/bots.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "games/rts/moba/abilities.hpp"

namespace ludus::rts {

namespace {

constexpr float kNear = 6.0F;      // cells in which others count for a fight
constexpr float kHeals = 0.65F;    // share of the hit points
constexpr float kMends = 0.9F;     // up to which it stays at the fountain
constexpr float kFlees = 0.2F;     // with an enemy hero near
constexpr float kRests = 0.15F;    // and without
constexpr float kDaring = 0.8F;    // a side this strong, in parts of the other, does not flee
constexpr float kPatience = 2.5F;  // a death must cost so many times the way home
constexpr float kBeyond = 0.5F;    // cells beyond its reach in which it takes the weakest creep
constexpr float kBase = 9.0F;      // column up to which an enemy hero stands in the own base
constexpr float kDefends = 0.5F;   // share of the hit points
constexpr int kWest2 = 1, kEast2 = 2, kWest4 = 9, kEast4 = 10;  // places

// The lane as a bot sees it, from left to right. Rows are -1 where there is none.
struct Lane {
  const Choices& c;
  const MobaRules& rules = c.rules;
  const State& s = c.w.world;
  int me = c.hero.slot;
  float reach = static_cast<float>(rules.engine.type[s.type[me]].attack_range);
  int enemy_hero = -1, enemy_creep = -1, enemy_building = -1;  // the nearest
  int prey = -1;                                               // the weakest enemy hero in reach
  int weak_creep = -1;             // the weakest creep in reach, or nearly
  int intruder = -1;               // an enemy hero in the own base
  int hurt_ally = -1;              // the most hurt in reach of a heal
  int around = 0;                  // enemies within three cells
  float own = 0.0F, enemy = 0.0F;  // strength of the heroes near

  [[nodiscard]] float x(int i) const { return rules.seen(s, c.team, s.x[i]); }
  [[nodiscard]] float gap(int i) const {
    return std::sqrt(distance2(s.x[me], s.y[me], s.x[i], s.y[i]));
  }
  [[nodiscard]] float gap_of_row(int row) const { return gap(c.slot_of_row(row)); }
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
    float worst = kHeals;
    for (int row = 0; row < c.rows.own; ++row) {
      const int i = c.slot_of_row(row);
      if (!is_hero(s.type[i])) continue;
      if (gap(i) < kNear) own += strength(i);
      if (gap(i) < 5.0F && share(i) < worst) {
        worst = share(i);
        hurt_ally = row;
      }
    }
    Least hero, creep, building, weak_hero, weak;
    for (int row = c.rows.own; row < c.rows.rows; ++row) {
      const int i = c.slot_of_row(row);
      const int type = s.type[i];
      const float d = gap(i);
      const auto hp = static_cast<float>(s.hp[i]);
      if (!is_building(type) && d < 3.0F) ++around;
      if (is_hero(type)) {
        hero.offer(row, d, enemy_hero);
        if (d < reach) weak_hero.offer(row, hp, prey);
        if (d < kNear) enemy += strength(i);
        if (x(i) < kBase) intruder = row;
      } else if (is_creep(type)) {
        creep.offer(row, d, enemy_creep);
        if (d < reach + kBeyond) weak.offer(row, hp, weak_creep);
      } else {
        building.offer(row, d, enemy_building);
      }
    }
  }

  [[nodiscard]] bool may(int order) const { return (c.orders >> order & 1) != 0; }
  [[nodiscard]] bool may(int order, int row) const {
    return row >= 0 && (c.targets[static_cast<std::size_t>(order)] >> row & 1) != 0;
  }

  // Along the lane to the right, or past who stands there.
  [[nodiscard]] Decision advance() const {
    for (const int p : {kEast4, kEast4 + 5, kEast4 + 6}) {
      if (c.open_move(p)) return {kMoveTo, 0, p};
    }
    return {};
  }
  [[nodiscard]] Decision strike(int row) const { return {kAttackAt, row, 0}; }

  // The nearest enemy that it sees, of any kind, as a row.
  [[nodiscard]] int nearest() const {
    int best = -1;
    float least = 99.0F;
    for (const int row : {enemy_hero, enemy_creep, enemy_building}) {
      if (!may(kAttackAt, row) || gap_of_row(row) >= least) continue;
      least = gap_of_row(row);
      best = row;
    }
    return best;
  }

 private:
  // Keeps the row of the least value.
  struct Least {
    float value = 1.0e9F;
    void offer(int row, float v, int& best) {
      if (v >= value) return;
      value = v;
      best = row;
    }
  };
};

// An ability that pays now, against an enemy hero by its row; noop if none does.
Decision use_ability(const Lane& l, int target, bool flees) {
  const bool fights = target >= 0 && !flees;
  for (int order = kCastFirst; order <= kCastSecond; ++order) {
    if (!l.may(order)) continue;
    switch (ability_of(l.rules, l.c.hero, order - kCastFirst).kind) {
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
        if (open && (flees || l.gap_of_row(l.enemy_hero) > 3.0F)) return {order, 0, place};
        break;
      }
      default:
        if (l.may(order, target)) return {order, target, 0};
    }
  }
  return {};
}

// A death costs time by level, and the way home costs time by its length. At low levels it is
// cheaper to fall: the fallen come back whole, at the fountain, where gold is spent.
bool should_flee(const Lane& l) {
  const bool near = l.enemy_hero >= 0 && l.gap_of_row(l.enemy_hero) < kNear;
  if (l.share(l.me) >= (near ? kFlees : kRests)) return false;
  if (near && l.own >= kDaring * l.enemy) return false;
  const float way = l.x(l.me) / l.rules.engine.type[l.s.type[l.me]].speed;
  return way * kPatience < static_cast<float>(l.rules.respawn_ticks(l.c.hero.level));
}

}  // namespace

Decision simple_hero(const Choices& c) {
  if (!c.hero.alive() || c.orders == 1U << kKeep) return {};
  const Lane l(c);
  const bool flees = should_flee(l);
  const Decision ability = use_ability(l, l.prey >= 0 ? l.prey : l.enemy_hero, flees);
  if (ability.order != kKeep) return ability;
  const float share = l.share(l.me);
  if (flees || (share < kMends && at_fountain(c.rules, c.w, c.seat))) return {kGoHome, 0, 0};
  if (share > kDefends && l.may(kAttackAt, l.intruder)) return l.strike(l.intruder);
  if (l.may(kAttackAt, l.prey)) return l.strike(l.prey);
  // The weakest creep rather than the nearest: its gold is soon due, and its blows soon end.
  const int row = l.nearest();
  if (row < 0) return l.advance();
  const bool creep = row == l.enemy_creep && l.may(kAttackAt, l.weak_creep);
  return l.strike(creep ? l.weak_creep : row);
}

Decision pushing_hero(const Choices& c) {
  if (!c.hero.alive() || c.orders == 1U << kKeep) return {};
  const Lane l(c);
  const Decision ability = use_ability(l, l.enemy_hero, false);
  if (ability.order != kKeep) return ability;
  const int row = l.nearest();
  return row >= 0 ? l.strike(row) : l.advance();
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
