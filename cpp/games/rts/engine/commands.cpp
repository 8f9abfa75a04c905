#include "games/rts/engine/commands.hpp"

#include <algorithm>

#include "games/rts/engine/path.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

constexpr float kArrived = 1.0e-3F;
constexpr float kGather2 = 1.0F;  // squared distances at which gathering and building start
constexpr float kBuild2 = 1.0F;

// `now` is the tick a command measures ages with: the current one, except in the first run of a
// counter-attack, which carries the tick of the hit.
struct Run {
  const EngineRules& rules;
  State& state;
  const HeuristicStore& store;
  EffectQueue& queue;

  [[nodiscard]] const UnitType& type(int slot) const { return rules.type[state.type[slot]]; }

  [[nodiscard]] bool ready(int slot, Cooldown cd, int now) const {
    return now - static_cast<int>(state.last[cd][slot]) >= type(slot).cooldown[cd];
  }

  // One step towards (tx, ty); the squared distance before it.
  float approach(int slot, float tx, float ty, int now) {
    const float x = state.x[slot];
    const float y = state.y[slot];
    const float before = distance2(tx, ty, x, y);
    if (!ready(slot, kCdMove, now)) return before;
    float wx = tx;
    float wy = ty;
    if (before > 1.0F) {
      const int waypoint = plan_path(rules, state, store, slot, tx, ty, now);
      if (waypoint >= 0) {
        wx = static_cast<float>(waypoint & (kMaxSide - 1));
        wy = static_cast<float>(waypoint >> kWideBits);
      }
    }
    float dx = wx - x;
    float dy = wy - y;
    if (std::abs(dx) < kArrived && std::abs(dy) < kArrived) return before;
    shorten(dx, dy, state.speed[slot]);
    if (can_pass(rules, state, x + dx, y + dy, slot)) {
      queue.push(Effect::step, slot, kNone, 0, x + dx, y + dy);
      return before;
    }
    const float left = leftward(rules, state);
    const float ax = left * dy;
    const float ay = left * dx;
    if (can_pass(rules, state, x - ax, y + ay, slot)) {  // a quarter turn
      queue.push(Effect::step, slot, kNone, 0, x - ax, y + ay);
    } else if (can_pass(rules, state, x + ax, y - ay, slot)) {  // or the other way
      queue.push(Effect::step, slot, kNone, 0, x + ax, y - ay);
    } else {
      ++state.failed[now & 31];
    }
    return before;
  }

  // Each returns true when the command is done.
  bool attack(int slot, int target, int now) {
    if (target == kNone) return true;
    const UnitType& t = type(slot);
    const float tx = state.x[target];
    const float ty = state.y[target];
    const float d2 = distance2(state.x[slot], state.y[slot], tx, ty);
    if (!rules.reaches(t, d2)) {
      if (!rules.quirks.stubborn_towers && t.speed == 0.0F) return true;
      approach(slot, tx, ty, now);
    } else if (ready(slot, kCdAttack, now)) {
      const int damage = rules.damage(state.type[slot], state.type[target]);
      if (t.attack_range <= 1) {
        queue.push(Effect::hit, slot, target, damage);
      } else {
        queue.push(Effect::shoot, slot, target, damage, state.x[slot], state.y[slot]);
      }
      queue.push(Effect::start_cd, slot, kNone, kCdAttack);
    }
    return false;
  }

  bool gather(int slot, int now) {
    const int base = state.target[slot];
    const int resource = state.source[slot];
    if (base == kNone || resource == kNone) return true;
    switch (state.phase[slot]) {
      case kToResource:
        if (approach(slot, state.x[resource], state.y[resource], now) < kGather2) {
          queue.push(Effect::start_cd, slot, kNone, kCdGather);
          state.phase[slot] = kGathering;
        }
        break;
      case kGathering:
        if (ready(slot, kCdGather, now)) {
          queue.push(Effect::harvest, slot, resource, rules.gather_amount);
          state.phase[slot] = kToBase;
        }
        break;
      default:
        if (approach(slot, state.x[base], state.y[base], now) < kGather2) {
          queue.push(Effect::pay, slot, kNone, rules.gather_amount);
          state.phase[slot] = kToResource;
        }
    }
    return false;
  }

  // The first free offset around (x, y), or -1.
  [[nodiscard]] int free_nearby(float x, float y) const {
    const float left = leftward(rules, state);
    for (int i = 0; i < kNearby; ++i) {
      if (can_pass(rules, state, x + left * kNearbyX[i], y + kNearbyY[i], -1)) return i;
    }
    return -1;
  }

  bool build(int slot, int now) {
    const int what = state.target[slot];
    const bool here = state.source[slot] != 0;
    const int cost = rules.type[what].cost;
    const float x = state.x[slot];
    const float y = state.y[slot];
    const float px = state.px[slot];
    const float py = state.py[slot];
    if (state.phase[slot] == kToPlace) {
      if (here || distance2(x, y, px, py) < kBuild2) {
        queue.push(Effect::pay, slot, kNone, -cost);
        queue.push(Effect::start_cd, slot, kNone, kCdBuild);
        state.phase[slot] = kBuilding;
      } else if (free_nearby(px, py) >= 0) {
        approach(slot, px, py, now);
      }
      return false;
    }
    if (!ready(slot, kCdBuild, now)) return false;
    if (!here) {
      queue.push(Effect::create, slot, what, cost, px, py);
      return true;
    }
    const int i = free_nearby(x, y);
    if (i < 0) return false;
    const float left = leftward(rules, state);
    queue.push(Effect::create, slot, what, cost, x + left * kNearbyX[i], y + kNearbyY[i]);
    return true;
  }

  bool get_flag(int slot, int now) {
    const int flag = state.target[slot];
    if (flag == kNone) return !rules.quirks.lost_flags;  // the original waits for ever
    if (approach(slot, state.x[flag], state.y[flag], now) >= rules.flag.reach2) return false;
    queue.push(Effect::take_flag, slot, flag, 0);
    return true;
  }

  bool escort_flag(int slot, int now) {
    if ((state.carrying >> slot & 1) == 0) return !rules.quirks.lost_flags;
    const int base = first_base(rules.owner_of(slot));
    if (base == kNone) return false;
    if (approach(slot, state.x[base], state.y[base], now) < rules.flag.reach2) {
      queue.push(Effect::score_flag, slot, kNone, 0);
    }
    return false;
  }

  bool build_tower(int slot) {
    const int what = state.target[slot];
    const int cost = rules.type[what].cost;
    queue.push(Effect::pay, slot, kNone, -cost);
    queue.push(Effect::create, slot, what, cost, state.px[slot], state.py[slot]);
    return true;
  }

  [[nodiscard]] int first_base(int owner) const {
    const int begin = rules.first_slot[owner];
    for (int i = begin; i < begin + state.units[owner]; ++i) {
      if (state.type[i] == rules.base_type) return i;
    }
    return kNone;
  }

  void one(int slot, int now) {
    bool done = false;
    switch (state.cmd[slot]) {
      case Cmd::idle:
        return;
      case Cmd::move:
        done = approach(slot, state.px[slot], state.py[slot], now) < kArrived;
        break;
      case Cmd::attack:
        done = attack(slot, state.target[slot], now);
        break;
      case Cmd::gather:
        done = gather(slot, now);
        break;
      case Cmd::build:
        done = build(slot, now);
        break;
      case Cmd::get_flag:
        done = get_flag(slot, now);
        break;
      case Cmd::escort_flag:
        done = escort_flag(slot, now);
        break;
      case Cmd::build_tower:
        done = build_tower(slot);
        break;
    }
    if (done) finish_command(state, slot);
  }
};

// Bases that start to revive a unit in this tick, in that order.
struct Reviving {
  std::uint64_t bases = 0;
  std::array<std::uint8_t, kMaxOwners> order;
  int count = 0;
};

// Runs before the orders of this tick. A base that has an order of this tick does that instead.
Reviving run_revivals(Run& run, int now) {
  State& state = run.state;
  Reviving out;
  int kept = 0;
  for (int i = 0; i < state.revivals; ++i) {
    const Revival r = state.revival[i];
    const int base = run.first_base(r.owner);
    const bool busy = base != kNone && state.cmd[base] == Cmd::build;
    // The original orders a busy base again, so the unit that it was reviving is lost.
    if (static_cast<int>(r.tick) > now || (busy && !run.rules.quirks.lost_revivals)) {
      state.revival[kept++] = r;
      continue;
    }
    if (base == kNone) continue;
    const std::uint64_t bit = std::uint64_t{1} << base;
    if ((state.fresh & bit) != 0) {
      run.queue.push(Effect::start_cd, base, kNone, kCdBuild);
      continue;
    }
    give_order(state, base, build_order(run.rules.revive.as));
    state.fresh &= ~bit;
    run.one(base, now);
    if ((out.bases & bit) != 0) {  // it goes to the back
      out.count = static_cast<int>(
          std::remove(out.order.begin(), out.order.begin() + out.count, base) - out.order.begin());
    }
    out.bases |= bit;
    out.order[static_cast<std::size_t>(out.count++)] = static_cast<std::uint8_t>(base);
  }
  for (int i = kept; i < state.revivals; ++i) state.revival[i] = {};
  state.revivals = static_cast<std::uint8_t>(kept);
  return out;
}

// By lot, owner 0's commands come before owner 1's, each in their order.
void keep_order(const EngineRules& rules, State& state, const std::uint8_t* next, int size) {
  const int others = rules.quirks.seat_order ? 0 : rules.first_slot[1];  // slots from here on
  int n = 0;
  for (int i = 0; i < size; ++i) {
    if (next[i] < others) state.run_order[n++] = next[i];
  }
  state.running_first = static_cast<std::uint8_t>(n);
  for (int i = 0; i < size; ++i) {
    if (next[i] >= others) state.run_order[n++] = next[i];
  }
}

}  // namespace

void run_commands(const EngineRules& rules, State& state, const HeuristicStore& store,
                  EffectQueue& queue) {
  Run run{rules, state, store, queue};
  const int now = static_cast<int>(state.tick);

  // Counter-attacks of the last tick run before everything else and register themselves, unless
  // the unit has been given an order in this tick: that one replaces them right after.
  std::uint64_t struck = 0;
  std::uint8_t struck_order[kMaxCounters];
  int struck_count = 0;
  for (int i = 0; i < state.counters; ++i) {
    const auto [unit, target] = state.counter[i];
    const std::uint64_t bit = std::uint64_t{1} << unit;
    const bool done = run.attack(unit, target, now - 1);
    if ((state.fresh & bit) != 0) continue;
    if (done) {
      finish_command(state, unit);
    } else {
      state.cmd[unit] = Cmd::attack;
      state.target[unit] = target;
      state.start[unit] = static_cast<std::uint16_t>(now - 1);
    }
    if ((struck & bit) != 0) {  // it goes to the back of its tick's queue
      int n = 0;
      for (int j = 0; j < struck_count; ++j) {
        if (struck_order[j] != unit) struck_order[n++] = struck_order[j];
      }
      struck_count = n;
    }
    struck |= bit;
    struck_order[struck_count++] = unit;
  }
  state.counters = 0;

  Reviving reviving;
  if (state.revivals != 0) [[unlikely]] {
    reviving = run_revivals(run, now);
  }

  // Orders of this tick, by unit id.
  const std::uint64_t late = late_slots(rules, state);
  for (const std::uint64_t seat : {state.fresh & ~late, state.fresh & late}) {
    for_bits(seat, [&](int slot) { run.one(slot, now); });
  }

  // Older commands, most recently issued first. The order is kept from tick to tick; it is only
  // rebuilt when something was added.
  const std::uint64_t skip = state.fresh | struck | reviving.bases;
  bool finished = false;
  // By lot, owner 1's come first when owner 0 is late.
  const int begin = (late & 1) != 0 ? state.running_first : 0;
  for (int k = 0; k < state.running; ++k) {
    const int i = begin + k < state.running ? begin + k : begin + k - state.running;
    const int slot = state.run_order[i];
    if ((skip >> slot & 1) == 0) run.one(slot, now);
    finished |= state.cmd[slot] == Cmd::idle;
  }
  if (skip == 0 && !finished) return;
  std::uint8_t next[kSlots];
  int n = 0;
  for (int i = 0; i < reviving.count; ++i) next[n++] = reviving.order[i];
  for_bits(state.fresh, [&](int slot) {
    if (state.cmd[slot] != Cmd::idle) next[n++] = static_cast<std::uint8_t>(slot);
  });
  int old = 0;
  const auto keep = [&](int slot) {
    if ((skip >> slot & 1) == 0 && state.cmd[slot] != Cmd::idle) {
      next[n++] = static_cast<std::uint8_t>(slot);
    }
  };
  // A counter-attack counts as issued in the tick of its hit, after the orders of that tick.
  for (; old < state.running && state.start[state.run_order[old]] + 1 >= now; ++old) {
    keep(state.run_order[old]);
  }
  for (int i = 0; i < struck_count; ++i) {
    if (state.cmd[struck_order[i]] != Cmd::idle) next[n++] = struck_order[i];
  }
  for (; old < state.running; ++old) keep(state.run_order[old]);
  keep_order(rules, state, next, n);
  for (int i = n; i < state.running; ++i) state.run_order[i] = 0;
  state.running = static_cast<std::uint8_t>(n);
  state.fresh = 0;
}

}  // namespace ludus::rts
