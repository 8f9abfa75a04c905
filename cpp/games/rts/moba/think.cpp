#include "games/rts/moba/think.hpp"

#include <algorithm>
#include <cmath>

#include "games/rts/engine/units.hpp"
#include "games/rts/moba/sight.hpp"

namespace ludus::rts {

namespace {

constexpr float kStep = 0.95F;   // the longest move that is ordered, in cells
constexpr float kThere = 0.05F;  // a hero this near to its goal has arrived
constexpr float kWaveX = 5.0F;   // column in which creeps appear
constexpr float kApart = 0.8F;   // cells between creeps of a wave
constexpr int kAbreast = 5;
constexpr int kNever = 255;

struct Thinker {
  const MobaRules& rules;
  MobaWorld& w;
  State& s = w.world;

  void step(int slot, float x, float y) {
    float dx = x - s.x[slot];
    float dy = y - s.y[slot];
    shorten(dx, dy, kStep);
    if (s.cmd[slot] == Cmd::move) {
      s.px[slot] = s.x[slot] + dx;
      s.py[slot] = s.y[slot] + dy;
    } else {
      give_order(s, slot, move_order(s.x[slot] + dx, s.y[slot] + dy));
    }
  }

  void attack(int slot, int target) {
    if (s.cmd[slot] == Cmd::attack && s.target[slot] == target) return;
    give_order(s, slot, attack_order(target));
  }

  void halt(int slot) {
    if (s.cmd[slot] != Cmd::idle) finish_command(s, slot);
  }

  [[nodiscard]] float gap2(int a, int b) const { return distance2(s.x[a], s.y[a], s.x[b], s.y[b]); }
  [[nodiscard]] bool reaches(int slot, int target) const {
    return rules.engine.reaches(rules.engine.type[s.type[slot]], gap2(slot, target));
  }
  void fight(int slot, int target) {
    if (reaches(slot, target)) {
      attack(slot, target);
    } else {
      step(slot, s.x[target], s.y[target]);
    }
  }

  // The nearest enemy of the lowest rank, below kNever, within a distance, or kNone.
  template <class Rank>
  [[nodiscard]] int nearest(int slot, int team, float within2, Rank&& rank) const {
    int best = kNone;
    int best_rank = kNever;
    float best_d2 = 0.0F;
    for_units(rules.engine, s, 1 - team, [&](int i) {
      const float d2 = gap2(slot, i);
      if (d2 > within2) return;
      const int r = rank(i);
      if (r >= kNever || r > best_rank || (r == best_rank && d2 >= best_d2)) return;
      best = i;
      best_rank = r;
      best_d2 = d2;
    });
    return best;
  }

  void creep(int slot, int team) {
    const bool rushes = static_cast<int>(s.tick) >= rules.late.rush;
    const int target = nearest(slot, team, rules.notice * rules.notice, [&](int i) {
      if (rushes && !is_building(s.type[i])) return kNever;
      return is_creep(s.type[i]) ? 0 : (is_hero(s.type[i]) ? 1 : 2);
    });
    if (target != kNone) {
      fight(slot, target);
      return;
    }
    const float goal = rules.seen(s, 1 - team, kAncientX);
    step(slot, goal, rules.seen(s, team, rules.lane()));
  }

  // A hero that has hit a hero comes first, then who is the target already, then creeps.
  void tower(int slot, int team) {
    const auto range = static_cast<float>(rules.engine.type[kLaneTower].attack_range);
    const auto provokes = [&](int i) {
      if (!is_hero(s.type[i])) return false;
      const int h = hero_of(rules, w, s.id[i]);
      return h >= 0 && w.hero[static_cast<std::size_t>(h)].hit_hero_until > s.tick;
    };
    const int old = s.cmd[slot] == Cmd::attack ? s.target[slot] : kNone;
    const int target = nearest(slot, team, range * range, [&](int i) {
      if (provokes(i)) return 0;
      if (i == old) return 1;
      return is_creep(s.type[i]) ? 2 : 3;
    });
    if (target == kNone) {
      halt(slot);
    } else {
      attack(slot, target);
    }
  }

  void hero(int seat) {
    Hero& h = w.hero[static_cast<std::size_t>(seat)];
    if (!h.alive()) return;
    const int team = rules.team_of(seat);
    const bool slowed = h.slowed_until > s.tick;
    if (!slowed) h.slow = 0;
    const float speed = rules.engine.type[s.type[h.slot]].speed;
    s.speed[h.slot] = slowed ? speed * static_cast<float>(100 - h.slow) / 100.0F : speed;
    if (stunned(w, h)) {
      halt(h.slot);
      return;
    }
    switch (h.goal) {
      case Goal::none:
        halt(h.slot);
        return;
      case Goal::move:
        if (distance2(s.x[h.slot], s.y[h.slot], h.goal_x, h.goal_y) < kThere * kThere) {
          h.goal = Goal::none;
          halt(h.slot);
          return;
        }
        step(h.slot, h.goal_x, h.goal_y);
        return;
      case Goal::home:
        step(h.slot, rules.seen(s, team, kFountainX), rules.seen(s, team, rules.lane()));
        return;
      case Goal::attack: {
        const int target = slot_of(rules, s, 1 - team, h.goal_id);
        const bool looks = s.tick % static_cast<unsigned>(rules.think) == 0;
        if (target == kNone || (looks && !sees(rules, s, team, target))) {
          h.goal = Goal::none;
          halt(h.slot);
          return;
        }
        fight(h.slot, target);
        return;
      }
    }
  }
};

}  // namespace

void think(const MobaRules& rules, MobaWorld& w) {
  Thinker t{rules, w};
  State& s = w.world;
  const EngineRules& engine = rules.engine;
  for (int team = 0; team < kTeams; ++team) {
    // One in `think` units looks around in a tick.
    int turn = static_cast<int>(s.tick % static_cast<unsigned>(rules.think));
    for_units(engine, s, team, [&](int i) {
      const int type = s.type[i];
      const bool due = turn == 0;
      turn = turn + 1 == rules.think ? 0 : turn + 1;
      if (type == kAncient || is_hero(type)) return;
      if (due) {
        if (type == kLaneTower) {
          t.tower(i, team);
        } else {
          t.creep(i, team);
        }
      } else if (s.cmd[i] == Cmd::attack && s.target[i] != kNone && type != kLaneTower) {
        t.fight(i, s.target[i]);
      }
    });
  }
  for (int seat = 0; seat < rules.seats(); ++seat) t.hero(seat);
}

void send_creeps(const MobaRules& rules, MobaWorld& w) {
  State& s = w.world;
  const auto now = static_cast<int>(s.tick);
  const auto& waves = rules.waves;
  if (now < waves.first || (now - waves.first) % waves.every != 0) return;
  const int grown = waves.grow_every == 0 ? 0 : now / waves.grow_every;
  const int melee = waves.melee + grown + (now >= rules.late.tick ? rules.late.creeps : 0);
  // Where a wave stands is drawn for each side, so that two teams that play alike differ.
  std::array<int, kTeams> shift;
  for (int& k : shift) k = static_cast<int>(w.rng.below(kAbreast));
  for (int team = 0; team < kTeams; ++team) {
    int fallen = kTowers;  // of the enemy
    for_units(rules.engine, s, 1 - team, [&](int i) { fallen -= s.type[i] == kLaneTower ? 1 : 0; });
    const int size = melee + waves.fallen * fallen;
    const int shifted = shift[MobaRules::turned(s, team) ? 1 : 0];
    int away = 0;  // places are kept for heroes who will come back
    for (int n = 0; n < rules.heroes; ++n) {
      away += w.hero[static_cast<std::size_t>(team * rules.heroes + n)].alive() ? 0 : 1;
    }
    for (int k = 0; k < size + waves.ranged; ++k) {
      if (s.units[static_cast<std::size_t>(team)] + away >= rules.engine.capacity(team)) break;
      const float x = kWaveX - kApart * static_cast<float>(k / kAbreast);
      const float y =
          rules.lane() + kApart * static_cast<float>((k + shifted) % kAbreast - kAbreast / 2);
      add_unit(rules.engine, s, team, k < size ? kMeleeCreep : kRangedCreep, rules.seen(s, team, x),
               rules.seen(s, team, y), s.tick);
    }
  }
}

}  // namespace ludus::rts
