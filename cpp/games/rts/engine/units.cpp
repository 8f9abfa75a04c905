#include "games/rts/engine/units.hpp"

#include <algorithm>
#include <cstring>

namespace ludus::rts {

void clear_state(const EngineRules&, State& state) {
  state = State{};
  state.x.fill(kParked);
  state.y.fill(kParked);
  state.damaged_by.fill(kNone);
  state.target.fill(kNone);
}

int add_unit(const EngineRules& rules, State& state, int owner, int type, float x, float y,
             std::uint32_t tick) {
  if (state.units[owner] == rules.capacity(owner)) return -1;
  const UnitType& t = rules.type[type];
  if (!can_place(rules, state, t, x, y)) return -1;
  const int i = rules.first_slot[owner] + state.units[owner]++;
  state.x[i] = x;
  state.y[i] = y;
  state.speed[i] = t.speed;
  state.hp[i] = static_cast<std::int16_t>(t.hp);
  state.type[i] = static_cast<std::uint8_t>(type);
  state.damaged_by[i] = kNone;
  state.id[i] = state.next_id++;
  state.built[i] = static_cast<std::uint16_t>(tick);
  for (auto& last : state.last) last[i] = 0;
  state.cmd[i] = Cmd::idle;
  state.phase[i] = 0;
  state.target[i] = kNone;
  state.source[i] = 0;
  state.start[i] = 0;
  state.px[i] = state.py[i] = 0.0F;
  enter_buckets(state, i, bucket_of(x), bucket_of(y));
  state.groups_of_4 = static_cast<std::uint16_t>(state.groups_of_4 | 1U << (i / 4));
  if (rules.is_vital(type)) ++state.bases[owner];
  if (!regular(rules, x, y)) state.irregular |= std::uint64_t{1} << i;
  return i;
}

namespace {

// Moves element `from` of every per-slot array to `to`.
void move_slot(State& s, int from, int to) {
  s.x[to] = s.x[from];
  s.y[to] = s.y[from];
  s.speed[to] = s.speed[from];
  s.hp[to] = s.hp[from];
  s.type[to] = s.type[from];
  s.damaged_by[to] = s.damaged_by[from];
  s.id[to] = s.id[from];
  s.built[to] = s.built[from];
  for (auto& last : s.last) last[to] = last[from];
  s.cmd[to] = s.cmd[from];
  s.phase[to] = s.phase[from];
  s.target[to] = s.target[from];
  s.source[to] = s.source[from];
  s.start[to] = s.start[from];
  s.px[to] = s.px[from];
  s.py[to] = s.py[from];
  s.waypoint_hint[to] = s.waypoint_hint[from];
}

// The contents of an empty slot must not depend on who stood there: states compare by bytes.
void blank_slot(State& s, int i) {
  s.x[i] = s.y[i] = kParked;
  s.speed[i] = 0.0F;
  s.hp[i] = 0;
  s.type[i] = 0;
  s.damaged_by[i] = kNone;
  s.id[i] = s.built[i] = 0;
  for (auto& last : s.last) last[i] = 0;
  s.cmd[i] = Cmd::idle;
  s.phase[i] = s.source[i] = 0;
  s.target[i] = kNone;
  s.start[i] = 0;
  s.px[i] = s.py[i] = 0.0F;
  s.waypoint_hint[i] = 0;
}

}  // namespace

void remove_units(const EngineRules& rules, State& state, std::uint64_t gone) {
  // Where each slot goes; what goes away maps to kNone.
  std::uint8_t to[256];
  std::memset(to, kNone, sizeof to);
  std::uint64_t irregular = 0;
  std::uint64_t fresh = 0;
  std::uint64_t carrying = 0;
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    const int begin = rules.first_slot[owner];
    const int end = begin + state.units[owner];
    int next = begin;
    for (int i = begin; i < end; ++i) {
      if ((gone >> i & 1) != 0) {
        if (rules.is_vital(state.type[i])) --state.bases[owner];
        continue;
      }
      to[i] = static_cast<std::uint8_t>(next);
      irregular |= (state.irregular >> i & 1) << next;
      fresh |= (state.fresh >> i & 1) << next;
      carrying |= (state.carrying >> i & 1) << next;
      if (next != i) move_slot(state, i, next);
      ++next;
    }
    for (int i = next; i < end; ++i) blank_slot(state, i);
    state.units[owner] = static_cast<std::uint8_t>(next - begin);
  }
  state.irregular = irregular;
  state.fresh = fresh;
  state.carrying = carrying;
  state.column.fill(0);
  state.row.fill(0);
  state.groups_of_4 = 0;
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    for_units(rules, state, owner, [&](int i) {
      enter_buckets(state, i, bucket_of(state.x[i]), bucket_of(state.y[i]));
      state.groups_of_4 = static_cast<std::uint16_t>(state.groups_of_4 | 1U << (i / 4));
    });
  }
  for (int i = 0; i < kSlots; ++i) {
    state.damaged_by[i] = to[state.damaged_by[i]];
    if (state.cmd[i] == Cmd::attack || state.cmd[i] == Cmd::gather ||
        state.cmd[i] == Cmd::get_flag) {
      state.target[i] = to[state.target[i]];
    }
    if (state.cmd[i] == Cmd::gather) state.source[i] = to[state.source[i]];
  }
  int n = 0;
  int first = 0;
  for (int i = 0; i < state.running; ++i) {
    const std::uint8_t slot = to[state.run_order[i]];
    if (slot != kNone) state.run_order[n++] = slot;
    if (i + 1 == state.running_first) first = n;
  }
  state.running = static_cast<std::uint8_t>(n);
  state.running_first = static_cast<std::uint8_t>(first);
  for (int i = 0; i < state.bullets; ++i) {
    state.bullet_shooter[i] = to[state.bullet_shooter[i]];
    state.bullet_target[i] = to[state.bullet_target[i]];
  }
  n = 0;
  for (int i = 0; i < state.counters; ++i) {
    Counter c = state.counter[i];
    c.unit = to[c.unit];
    c.target = to[c.target];
    if (c.unit != kNone) state.counter[n++] = c;
  }
  state.counters = static_cast<std::uint8_t>(n);
}

void give_order(State& state, int slot, const Order& order) {
  state.cmd[slot] = order.cmd;
  state.phase[slot] = 0;
  state.target[slot] = order.target;
  state.source[slot] = order.source;
  state.px[slot] = order.x;
  state.py[slot] = order.y;
  state.start[slot] = static_cast<std::uint16_t>(state.tick);
  state.fresh |= std::uint64_t{1} << slot;
}

bool takes_order(const EngineRules& rules, const State& state, int slot, const Order& order) {
  const UnitType& type = rules.type[state.type[slot]];
  if (!type.takes(order.cmd)) return false;
  if (rules.finish_building && type.building && state.cmd[slot] != Cmd::idle) return false;
  if (order.cmd == Cmd::attack && order.target != kNone &&
      !rules.may_attack(state.type[slot], state.type[order.target])) {
    return false;
  }
  if (!rules.quirks.loose_builds && order.cmd == Cmd::build &&
      (type.builds >> order.target & 1) == 0) {
    return false;
  }
  return true;
}

bool offer_order(const EngineRules& rules, State& state, int slot, const Order& order) {
  if (!takes_order(rules, state, slot, order)) return false;
  give_order(state, slot, order);
  return true;
}

}  // namespace ludus::rts
