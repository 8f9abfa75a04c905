#include "games/rts/engine/effects.hpp"

#include <algorithm>

#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

void step(const EngineRules& rules, State& state, const EffectEntry& e) {
  if (!disc_free(rules, state, e.x, e.y, e.unit)) return;
  const float x = state.x[e.unit];
  const float y = state.y[e.unit];
  state.x[e.unit] = e.x;
  state.y[e.unit] = e.y;
  if (cell_coord(x) != cell_coord(e.x) || cell_coord(y) != cell_coord(e.y)) {
    leave_cell(state, e.unit, x, y);
    enter_cell(state, e.unit, e.x, e.y);
  }
  state.last[kCdMove][e.unit] = static_cast<std::uint16_t>(state.tick);
  const std::uint64_t bit = std::uint64_t{1} << e.unit;
  if (!regular(rules, e.x, e.y)) [[unlikely]] {
    state.irregular |= bit;
  } else {
    state.irregular &= ~bit;
  }
}

void hit(const EngineRules& rules, State& state, EffectQueue& queue, const EffectEntry& e) {
  if (e.target == kNone || state.hp[e.target] <= 0) return;
  const UnitType& type = rules.type[state.type[e.target]];
  const int loss = std::max(0, e.amount - type.defence);
  if (loss == 0) return;
  if (type.invulnerable && !rules.quirks.hurts_invulnerable) return;
  state.hp[e.target] = static_cast<std::int16_t>(std::max(state.hp[e.target] - loss, -32768));
  if (state.hp[e.target] <= 0) {
    queue.push(Effect::bury, e.unit, e.target, 0);
    return;
  }
  state.damaged_by[e.target] = e.unit;
  if (state.cmd[e.target] != Cmd::idle || !type.takes(Cmd::attack)) return;
  if (e.unit != kNone && !rules.may_attack(state.type[e.target], state.type[e.unit])) return;
  if (!rules.quirks.repeated_counters) {
    for (int i = 0; i < state.counters; ++i) {
      if (state.counter[i].unit == e.target) return;
    }
  }
  if (state.counters < kMaxCounters) state.counter[state.counters++] = {e.target, e.unit};
}

void pay(const EngineRules& rules, State& state, const EffectEntry& e) {
  std::int32_t& money = state.money[rules.owner_of(e.unit)];
  if (money + e.amount < 0) {
    finish_command(state, e.unit);
  } else {
    money += e.amount;
  }
}

void shoot(State& state, const EffectEntry& e) {
  if (state.bullets == kMaxBullets) return;
  const int i = state.bullets++;
  state.bullet_x[i] = e.x;
  state.bullet_y[i] = e.y;
  state.bullet_damage[i] = static_cast<std::int16_t>(e.amount);
  state.bullet_shooter[i] = e.unit;
  state.bullet_target[i] = e.target;
  state.bullet_state[i] = BulletState::ready;
}

}  // namespace

void run_effects(const EngineRules& rules, State& state, EffectQueue& queue) {
  std::uint64_t gone = 0;
  for (int i = 0; i < queue.size; ++i) {
    const EffectEntry e = queue.entry[i];
    switch (e.kind) {
      case Effect::step:
        step(rules, state, e);
        break;
      case Effect::start_cd:
        state.last[e.amount][e.unit] = static_cast<std::uint16_t>(state.tick);
        break;
      case Effect::shoot:
        shoot(state, e);
        break;
      case Effect::hit:
        hit(rules, state, queue, e);
        break;
      case Effect::harvest:
        if (state.hp[e.target] > 0) {
          state.hp[e.target] = static_cast<std::int16_t>(state.hp[e.target] - e.amount);
          if (state.hp[e.target] <= 0) queue.push(Effect::remove, kNone, e.target, 0);
        }
        break;
      case Effect::pay:
        pay(rules, state, e);
        break;
      case Effect::create: {
        const int owner = rules.owner_of(e.unit);
        if (add_unit(rules, state, owner, e.target, e.x, e.y, state.tick) < 0) {
          state.money[owner] += e.amount;
        }
        break;
      }
      case Effect::bury:
        queue.push(Effect::remove, kNone, e.target, 0);
        break;
      case Effect::remove:
        gone |= std::uint64_t{1} << e.target;
        break;
    }
  }
  // Removals come last in the queue, so that nothing runs between the first of them and here that
  // could tell a unit that is gone from one about to go.
  if (gone != 0) remove_units(rules, state, gone);
}

}  // namespace ludus::rts
