#include "games/rts/engine/tick.hpp"

#include <algorithm>

#include "games/rts/engine/commands.hpp"
#include "games/rts/engine/map.hpp"

namespace ludus::rts {

namespace {

// Moves one bullet; true when it has vanished.
bool fly(const EngineRules& rules, State& state, EffectQueue& queue, Bullet& b) {
  switch (b.state) {
    case BulletState::ready:
      break;
    case BulletState::explode1:
      b.state = BulletState::explode2;
      return false;
    case BulletState::explode2:
      b.state = BulletState::explode3;
      return false;
    default:
      b.state = BulletState::done;
      return true;
  }
  if (b.target == kNone) {
    b.state = BulletState::done;
    return true;
  }
  const float tx = state.x[b.target];
  const float ty = state.y[b.target];
  if (distance2(b.x, b.y, tx, ty) < rules.bullet_hit * rules.bullet_hit) {
    b.state = BulletState::explode1;
    queue.push(Effect::hit, b.shooter, b.target, b.damage);
    return false;
  }
  float dx = tx - b.x;
  float dy = ty - b.y;
  shorten(dx, dy, rules.bullet_speed);
  b.x += dx;
  b.y += dy;
  return false;
}

void fly_all(const EngineRules& rules, State& state, EffectQueue& queue) {
  std::uint64_t done = 0;
  for (int i = 0; i < state.bullets; ++i) {
    if (fly(rules, state, queue, state.bullet[i])) done |= std::uint64_t{1} << i;
  }
  // The last takes the place of each that is done, from the highest index down.
  while (done != 0) {
    const int i = 63 - std::countl_zero(done);
    done &= ~(std::uint64_t{1} << i);
    const int last = --state.bullets;
    if (i < last) state.bullet[i] = state.bullet[last];
    state.bullet[last] = Bullet{};
  }
}

constexpr int kGuardTicks = 30;
constexpr int kGuardFailures = 250;

bool congested(const State& state) {
  if (state.failed[state.tick & 31] == 0) return false;
  int sum = 0;
  const int ticks = std::min<int>(static_cast<int>(state.tick), kGuardTicks);
  for (int i = 0; i < ticks; ++i) sum += state.failed[(state.tick - static_cast<unsigned>(i)) & 31];
  return sum >= kGuardFailures;
}

}  // namespace

void advance_tick(const EngineRules& rules, State& state) {
  EffectQueue queue;
  state.failed[state.tick & 31] = 0;
  if (state.bullets != 0) fly_all(rules, state, queue);
  run_commands(rules, state, queue);
  run_effects(rules, state, queue);

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
  if (state.tick >= rules.tick_limit) state.over = true;
  if (rules.quirks.congestion_guard && congested(state)) {
    state.over = true;
    state.congested = true;
  }
  ++state.tick;
}

}  // namespace ludus::rts
