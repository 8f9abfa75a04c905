#include "games/rts/tower_defense/strategy.hpp"

#include <algorithm>
#include <limits>

#include "games/rts/engine/effects.hpp"
#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

constexpr int kMiddle = 9;  // where the scripted bot builds, and how far around
constexpr int kAround = 2;

// Before it has a base (or after it lost it) a side does nothing.
int first_base(const TdRules& rules, const State& state, int owner) {
  if (state.bases[owner] == 0) return kNone;
  int base = kNone;
  for_units(rules.engine, state, owner, [&](int i) {
    if (base == kNone && state.type[i] == kTowerBase) base = i;
  });
  return base;
}

bool free_wall(const TdRules& rules, const State& state, int x, int y) {
  return can_place(rules.engine, state, rules.engine.type[kTower], static_cast<float>(x),
                   static_cast<float>(y));
}

void build_at(const TdRules& rules, State& state, int base, int x, int y) {
  offer_order(rules.engine, state, base, tower_order(x, y));
}

void attack(const TdRules& rules, State& state, int slot, int target) {
  if (state.cmd[slot] == Cmd::attack && state.target[slot] == target) return;
  offer_order(rules.engine, state, slot, attack_order(target));
}

// Towers take their targets; nothing is built.
void aim_towers(const TdRules& rules, State& state, int focus) {
  const EngineRules& engine = rules.engine;
  for_units(engine, state, kDefender, [&](int i) {
    if (state.type[i] != kTower) return;
    if (focus != kNone && reaches(rules, state, i, focus)) {
      attack(rules, state, i, focus);
      return;
    }
    float closest = std::numeric_limits<float>::max();
    int target = kNone;
    for_units(engine, state, kInvader, [&](int j) {
      if (state.type[j] != kAttacker) return;
      const float d2 = distance2(state.x[j], state.y[j], state.x[i], state.y[i]);
      if (closest > d2) {
        closest = d2;
        target = j;
      }
    });
    if (target != kNone && closest <= rules.notice2) attack(rules, state, i, target);
  });
}

}  // namespace

Order tower_order(int x, int y) {
  return {Cmd::build_tower, kTower, 0, static_cast<float>(x), static_cast<float>(y)};
}

bool can_build_tower(const TdRules& rules, const State& state, int action) {
  return action != kTowerWait && affords_tower(rules, state) &&
         state.units[kDefender] < rules.engine.capacity(kDefender) &&
         free_wall(rules, state, action / kMazeSide, action % kMazeSide);
}

void act_tower(const TdRules& rules, State& state, int action, int focus) {
  const int base = first_base(rules, state, kDefender);
  if (base == kNone) return;
  // The original orders the base to build even where that must fail: whatever it was doing, it
  // stops.
  if (affords_tower(rules, state) &&
      (rules.engine.quirks.loose_builds || can_build_tower(rules, state, action))) {
    build_at(rules, state, base, action / kMazeSide, action % kMazeSide);
  }
  aim_towers(rules, state, focus);
}

void play_tower_simple(const TdRules& rules, State& state) {
  const int base = first_base(rules, state, kDefender);
  if (base == kNone) return;
  if (affords_tower(rules, state)) {
    const auto build = [&] {
      for (int x = kMiddle - kAround; x <= kMiddle + kAround; ++x) {
        for (int y = kMiddle - kAround; y <= kMiddle + kAround; ++y) {
          if (!free_wall(rules, state, x, y)) continue;
          build_at(rules, state, base, x, y);
          return;
        }
      }
    };
    build();
  }
  aim_towers(rules, state, kNone);
}

void play_waves(const TdRules& rules, State& state) {
  const EngineRules& engine = rules.engine;
  if (first_base(rules, state, kInvader) == kNone) return;
  const auto tick = static_cast<int>(state.tick);
  if (tick % rules.wave_ticks == 0) {
    state.wave =
        static_cast<std::uint8_t>(std::min(tick / rules.wave_ticks * rules.wave_growth, kMaxWave));
  }
  const int target = first_base(rules, state, kDefender);
  if (target == kNone) return;
  for_units(engine, state, kInvader, [&](int i) {
    if (state.type[i] == kAttacker) attack(rules, state, i, target);
  });
}

}  // namespace ludus::rts
