#include "games/rts/engine/effects.hpp"

#include <algorithm>

#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

// `moved`: who stands elsewhere than when the step was found to be free. Only they can be in its
// way now.
void step(const EngineRules& rules, State& state, const EffectEntry& e, std::uint64_t& moved) {
  const std::uint64_t bit = slot_bit(e.unit);
  const int column = bucket_of(e.x);
  const int row = bucket_of(e.y);
  const std::uint64_t near = around(state, column, row) & moved & ~bit;
  if (near != 0 && touches(state, near & collision_group(rules, state, e.x, e.y), e.x, e.y)) return;
  moved |= bit;
  const int old_column = bucket_of(state.x[e.unit]);
  const int old_row = bucket_of(state.y[e.unit]);
  if (column != old_column || row != old_row) {
    leave_buckets(state, e.unit, old_column, old_row);
    enter_buckets(state, e.unit, column, row);
  }
  state.x[e.unit] = e.x;
  state.y[e.unit] = e.y;
  state.last[kCdMove][e.unit] = static_cast<std::uint16_t>(state.tick);
  state.irregular &= ~bit;
  if (!inner_buckets(rules, column, row) && !regular(rules, e.x, e.y)) [[unlikely]] {
    state.irregular |= bit;
  }
}

void note_wound(const EngineRules& rules, const State& state, const EffectEntry& e, int loss,
                TickEvents& events) {
  if (events.wounds == kMaxWounds) return;
  events.wound[static_cast<std::size_t>(events.wounds++)] = {
      e.unit == kNone ? -1 : state.id[e.unit], state.id[e.target],
      static_cast<std::uint8_t>(rules.owner_of(e.target)), state.type[e.target],
      std::min<std::int32_t>(loss, state.hp[e.target])};
}

void note_fall(const EngineRules& rules, const State& state, const EffectEntry& e,
               TickEvents& events) {
  if (events.falls == kSlots) return;
  events.fall[static_cast<std::size_t>(events.falls++)] = {
      e.unit == kNone ? -1 : state.id[e.unit],
      state.id[e.target],
      static_cast<std::uint8_t>(rules.owner_of(e.target)),
      state.type[e.target],
      state.x[e.target],
      state.y[e.target]};
}

void hit(const EngineRules& rules, State& state, EffectQueue& queue, const EffectEntry& e,
         TickEvents* events) {
  if (e.target == kNone || state.hp[e.target] <= 0) return;
  const UnitType& type = rules.type[state.type[e.target]];
  const int loss = std::max(0, e.amount - type.defence);
  if (loss == 0) return;
  if (type.invulnerable && !rules.quirks.hurts_invulnerable) return;
  if (events != nullptr) note_wound(rules, state, e, loss, *events);
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

// A flag will lie there from the next tick on.
void drop_flag(State& state, float x, float y) {
  state.flag_falls = true;
  state.flag_x = x;
  state.flag_y = y;
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

// The flag leaves the map at once: who moves later in this tick may stand where it lay.
bool take_flag(const EngineRules& rules, State& state, const EffectEntry& e) {
  if (state.x[e.target] == kParked) return false;  // another unit was quicker
  leave_buckets(state, e.target, bucket_of(state.x[e.target]), bucket_of(state.y[e.target]));
  state.x[e.target] = state.y[e.target] = kParked;
  state.irregular &= ~(std::uint64_t{1} << e.target);
  state.speed[e.unit] /= rules.flag.slows;
  state.carrying |= std::uint64_t{1} << e.unit;
  return true;
}

// The flag comes back in the first of the dealt rows that is free now. It is put there after what
// is already queued, so that its place can be taken in the meantime.
void score_flag(const EngineRules& rules, State& state, EffectQueue& queue, const EffectEntry& e) {
  const std::uint64_t bit = std::uint64_t{1} << e.unit;
  if ((state.carrying & bit) == 0 && !rules.quirks.lost_flags) return;
  state.carrying &= ~bit;
  state.speed[e.unit] *= rules.flag.slows;
  ++state.money[rules.owner_of(e.unit)];
  const float x = rules.flag.home_x;
  while (state.flag_rows > 0) {
    const int row = state.flag_row[--state.flag_rows];
    const auto y = static_cast<float>(rules.flag.home_y + row);
    if (!can_pass(rules, state, x, y, -1)) continue;
    queue.push(Effect::appear, kFlagOwner, rules.flag.type, 0, x, y);
    return;
  }
  drop_flag(state, x, static_cast<float>(rules.flag.home_y));
}

void appear(const EngineRules& rules, State& state, const EffectEntry& e, std::uint64_t& moved) {
  const int slot = add_unit(rules, state, e.unit, e.target, e.x, e.y, state.tick);
  if (slot >= 0) {
    moved |= slot_bit(slot);
    return;
  }
  if (e.target == rules.flag.type && !rules.quirks.lost_flags) drop_flag(state, e.x, e.y);
}

void wave(const EngineRules& rules, EffectQueue& queue, int units) {
  const WaveRules& w = rules.wave;
  for (int i = 0; i < std::min(units, kMaxWave); ++i) {
    queue.push(Effect::appear, w.owner, w.type, 0, static_cast<float>(w.x + i % w.columns),
               static_cast<float>(w.y + i / w.columns));
  }
}

void bury(const EngineRules& rules, State& state, EffectQueue& queue, const EffectEntry& e) {
  if ((state.carrying >> e.target & 1) != 0) drop_flag(state, state.x[e.target], state.y[e.target]);
  queue.push(Effect::remove, kNone, e.target, 0);
  if (e.unit != kNone && rules.type[state.type[e.unit]].invulnerable) {
    state.money[rules.owner_of(e.unit)] += rules.kill_reward;
  }
  if ((rules.revive.types >> state.type[e.target] & 1) == 0) return;
  if (state.revivals == kMaxRevivals) return;
  state.revival[state.revivals++] = {
      static_cast<std::uint16_t>(state.tick + static_cast<unsigned>(rules.revive.ticks)),
      static_cast<std::uint8_t>(rules.owner_of(e.target))};
}

}  // namespace

void run_effects(const EngineRules& rules, State& state, EffectQueue& queue, TickEvents* events) {
  std::uint64_t gone = 0;
  std::uint64_t moved = 0;
  for (int i = 0; i < queue.size; ++i) {
    const EffectEntry e = queue.entry[i];
    switch (e.kind) {
      case Effect::step:
        step(rules, state, e, moved);
        break;
      case Effect::start_cd:
        state.last[e.amount][e.unit] = static_cast<std::uint16_t>(state.tick);
        break;
      case Effect::shoot:
        shoot(state, e);
        break;
      case Effect::hit:
        hit(rules, state, queue, e, events);
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
        const int slot = add_unit(rules, state, owner, e.target, e.x, e.y, state.tick);
        if (slot < 0) {
          state.money[owner] += e.amount;
        } else {
          moved |= std::uint64_t{1} << slot;
        }
        break;
      }
      case Effect::appear:
        appear(rules, state, e, moved);
        break;
      case Effect::wave:
        wave(rules, queue, e.amount);
        break;
      case Effect::take_flag:
        if (take_flag(rules, state, e)) gone |= std::uint64_t{1} << e.target;
        break;
      case Effect::score_flag:
        score_flag(rules, state, queue, e);
        break;
      case Effect::bury:
        if (events != nullptr) note_fall(rules, state, e, *events);
        bury(rules, state, queue, e);
        break;
      case Effect::remove:
        gone |= std::uint64_t{1} << e.target;
        break;
    }
  }
  // Removals come last in the queue, so no code runs between the first of them and here that
  // could distinguish a removed unit from one about to be removed.
  if (gone != 0) remove_units(rules, state, gone);
}

}  // namespace ludus::rts
