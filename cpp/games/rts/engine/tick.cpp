#include "games/rts/engine/tick.hpp"

#include <algorithm>

#include "games/rts/engine/commands.hpp"
#include "games/rts/engine/map.hpp"

namespace ludus::rts {

namespace {

// Moves one bullet; true when it has vanished.
bool fly(const EngineRules& rules, State& state, EffectQueue& queue, int i) {
  BulletState& phase = state.bullet_state[i];
  switch (phase) {
    case BulletState::ready:
      break;
    case BulletState::explode1:
      phase = BulletState::explode2;
      return false;
    case BulletState::explode2:
      phase = BulletState::explode3;
      return false;
    default:
      return true;
  }
  const int target = state.bullet_target[i];
  if (target == kNone) return true;
  float& x = state.bullet_x[i];
  float& y = state.bullet_y[i];
  const float tx = state.x[target];
  const float ty = state.y[target];
  if (distance2(x, y, tx, ty) < rules.bullet_hit * rules.bullet_hit) {
    phase = BulletState::explode1;
    queue.push(Effect::hit, state.bullet_shooter[i], target, state.bullet_damage[i]);
    return false;
  }
  float dx = tx - x;
  float dy = ty - y;
  shorten(dx, dy, rules.bullet_speed);
  x += dx;
  y += dy;
  return false;
}

void move_bullet(State& s, int from, int to) {
  s.bullet_x[to] = s.bullet_x[from];
  s.bullet_y[to] = s.bullet_y[from];
  s.bullet_damage[to] = s.bullet_damage[from];
  s.bullet_shooter[to] = s.bullet_shooter[from];
  s.bullet_target[to] = s.bullet_target[from];
  s.bullet_state[to] = s.bullet_state[from];
}

void blank_bullet(State& s, int i) {
  s.bullet_x[i] = s.bullet_y[i] = 0.0F;
  s.bullet_damage[i] = 0;
  s.bullet_shooter[i] = s.bullet_target[i] = 0;
  s.bullet_state[i] = BulletState::ready;
}

void fly_all(const EngineRules& rules, State& state, EffectQueue& queue) {
  std::uint64_t done = 0;
  for (int i = 0; i < state.bullets; ++i) {
    if (fly(rules, state, queue, i)) done |= std::uint64_t{1} << i;
  }
  // The last takes the place of each that is done, from the highest index down.
  while (done != 0) {
    const int i = 63 - std::countl_zero(done);
    done &= ~(std::uint64_t{1} << i);
    const int last = --state.bullets;
    if (i < last) move_bullet(state, last, i);
    blank_bullet(state, last);
  }
}

constexpr int kGuardTicks = 30;
constexpr int kGuardFailures = 250;

bool congested(const State& state) {
  if (state.failed[state.tick & 31] == 0) return false;
  // The two oldest of the 32 ticks are left out; what was never written is 0.
  static_assert(kGuardTicks == 30);
  int sum = -state.failed[(state.tick + 1) & 31] - state.failed[(state.tick + 2) & 31];
  for (const std::uint8_t failed : state.failed) sum += failed;
  return sum >= kGuardFailures;
}

// Input that the last tick and the game left for the beginning of this one.
void begin(const EngineRules& rules, State& state, EffectQueue& queue) {
  if (state.flag_falls) {
    queue.push(Effect::appear, kFlagOwner, rules.flag.type, 0, state.flag_x, state.flag_y);
    state.flag_falls = false;
    state.flag_x = state.flag_y = 0.0F;
  }
  if (state.wave != 0) {
    queue.push(Effect::wave, kNone, kNone, state.wave);
    state.wave = 0;
  }
}

// The only owner of bases has won, or the first to have enough points.
void find_winner(const EngineRules& rules, State& state) {
  if (rules.flag.type >= 0) {
    for (int owner = 0; owner < kFlagOwner; ++owner) {
      if (state.money[owner] < rules.flag.to_win) continue;
      state.winner = static_cast<std::int8_t>(owner);
      state.over = true;
      return;
    }
    return;
  }
  int owners = 0;
  int last = -1;
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    if (state.bases[owner] != 0) {
      ++owners;
      last = owner;
    }
  }
  if (owners == 1) {
    state.winner = static_cast<std::int8_t>(last);
    state.over = true;
  }
  if (owners == 0 && !rules.quirks.baseless_play) state.over = true;
}

}  // namespace

void advance_tick(const EngineRules& rules, State& state, const HeuristicStore& store,
                  TickEvents* events) {
  EffectQueue queue;
  begin(rules, state, queue);
  if (events != nullptr) {
    for (int i = 0; i < events->blows; ++i) {
      const Blow& b = events->blow[static_cast<std::size_t>(i)];
      queue.push(Effect::hit, b.unit, b.target, b.amount);
    }
  }
  state.failed[state.tick & 31] = 0;
  if (state.bullets != 0) fly_all(rules, state, queue);
  run_commands(rules, state, store, queue);
  run_effects(rules, state, queue, events);

  find_winner(rules, state);
  if (state.tick >= rules.tick_limit) {
    // In the original, time decides even when the last base falls in the last tick.
    if (rules.limit_winner >= 0 && (state.winner < 0 || rules.quirks.baseless_play)) {
      state.winner = static_cast<std::int8_t>(rules.limit_winner);
    }
    state.over = true;
  }
  if (rules.quirks.congestion_guard && congested(state)) {
    state.over = true;
    state.congested = true;
  }
  ++state.tick;
}

}  // namespace ludus::rts
