// Immediate commands: the only things that change the world. Durative commands and bullets queue
// them, and the queue runs first in, first out once all of them have been queued.
#pragma once

#include "games/rts/engine/events.hpp"

namespace ludus::rts {

enum class Effect : std::uint8_t {
  step,        // unit moves to (x, y) if that is still free
  start_cd,    // unit's cooldown `amount` starts
  shoot,       // unit emits a bullet of damage `amount` at target, from (x, y)
  hit,         // unit (or kNone) deals `amount` to target
  harvest,     // resource `target` loses `amount`
  pay,         // the unit's owner's money changes by `amount`; below zero is undone and cancels
  create,      // unit's owner gets a unit of type `target` at (x, y), having paid `amount`
  appear,      // owner `unit` gets a unit of type `target` at (x, y)
  wave,        // `amount` units of a wave appear
  take_flag,   // unit picks the flag `target` up
  score_flag,  // unit delivers the flag that it carries
  bury,        // target died, killed by unit (or kNone)
  remove,      // target leaves the map
};

struct EffectEntry {
  Effect kind;
  std::uint8_t unit, target;
  std::int32_t amount;
  float x, y;
};

inline constexpr int kMaxWave = 64;

// Lives on the stack of one tick. Capacity: every unit queues at most three entries a run, a unit
// with counter-attacks or revivals runs again for each, every bullet one, every death two, a wave
// one for each of its units, the flag a few, a game its blows.
struct EffectQueue {
  static constexpr int kCapacity = 3 * (kSlots + kMaxCounters + kMaxRevivals) + kMaxBullets +
                                   2 * kSlots + kMaxWave + 8 + kMaxBlows;
  EffectEntry entry[kCapacity];
  int size = 0;

  void push(Effect kind, int unit, int target, int amount, float x = 0.0F, float y = 0.0F) {
    entry[size++] = {
        kind, static_cast<std::uint8_t>(unit), static_cast<std::uint8_t>(target), amount, x, y};
  }
};

// Runs the whole queue, including what it queues itself. `events` may be null.
void run_effects(const EngineRules& rules, State& state, EffectQueue& queue, TickEvents* events);

}  // namespace ludus::rts
