// A world of the RTS engine with its seats exchanged.
#pragma once

#include <array>
#include <cstdint>

#include "games/rts/engine/units.hpp"

namespace ludus::tests {

// The slot that the other seat has for slot i; the neutral owner keeps its own.
inline std::uint8_t slot_of_other(const rts::EngineRules& engine, int i) {
  if (i == rts::kNone) return rts::kNone;
  const int shift = engine.first_slot[1] - engine.first_slot[0];
  const int owner = engine.owner_of(i);
  return static_cast<std::uint8_t>(owner == 2 ? i : (owner == 0 ? i + shift : i - shift));
}

// The same units in the same places with the seats exchanged. What path search has cached is left
// out.
inline rts::State exchanged(const rts::EngineRules& engine, const rts::State& w) {
  const auto to_other = [&](int i) { return slot_of_other(engine, i); };
  const auto swapped = [](auto three) { return decltype(three){three[1], three[0], three[2]}; };
  rts::State m;
  rts::clear_state(engine, m);
  m.tick = w.tick;
  m.next_id = w.next_id;
  m.over = w.over;
  m.congested = w.congested;
  m.winner = static_cast<std::int8_t>(w.winner < 0 ? -1 : 1 - w.winner);
  m.money = swapped(w.money);
  m.units = swapped(w.units);
  m.bases = swapped(w.bases);
  m.tie_breaks = w.tie_breaks;
  m.turned = !w.turned;
  m.failed = w.failed;
  m.wall = w.wall;
  m.flag_row = w.flag_row;
  m.flag_rows = w.flag_rows;
  m.flag_falls = w.flag_falls;
  m.flag_x = w.flag_x;
  m.flag_y = w.flag_y;
  m.revivals = w.revivals;
  for (int i = 0; i < w.revivals; ++i) {
    m.revival[i] = {w.revival[i].tick, static_cast<std::uint8_t>(1 - w.revival[i].owner)};
  }
  for (int owner = 0; owner < rts::kMaxOwners; ++owner) {
    rts::for_units(engine, w, owner, [&](int i) {
      const int to = to_other(i);
      m.x[to] = w.x[i];
      m.y[to] = w.y[i];
      m.speed[to] = w.speed[i];
      m.hp[to] = w.hp[i];
      m.type[to] = w.type[i];
      m.id[to] = w.id[i];
      m.built[to] = w.built[i];
      m.damaged_by[to] = to_other(w.damaged_by[i]);
      for (std::size_t c = 0; c < rts::kCooldowns; ++c) m.last[c][to] = w.last[c][i];
      m.cmd[to] = w.cmd[i];
      m.phase[to] = w.phase[i];
      const bool gather = w.cmd[i] == rts::Cmd::gather;
      const bool unit = gather || w.cmd[i] == rts::Cmd::attack || w.cmd[i] == rts::Cmd::get_flag;
      m.target[to] = unit ? to_other(w.target[i]) : w.target[i];
      m.source[to] = gather ? to_other(w.source[i]) : w.source[i];
      m.px[to] = w.px[i];
      m.py[to] = w.py[i];
      m.start[to] = w.start[i];
      const std::uint64_t bit = rts::slot_bit(to);
      if ((w.carrying >> i & 1) != 0) m.carrying |= bit;
      if ((w.fresh >> i & 1) != 0) m.fresh |= bit;
      if ((w.irregular >> i & 1) != 0) m.irregular |= bit;
      rts::enter_buckets(m, to, rts::bucket_of(m.x[to]), rts::bucket_of(m.y[to]));
      m.groups_of_4 = static_cast<std::uint16_t>(m.groups_of_4 | 1U << (to / 4));
    });
  }
  // By lot, seat 0's commands stand first.
  for (const int owner : {1, 0}) {
    for (int i = 0; i < w.running; ++i) {
      if (engine.owner_of(w.run_order[i]) != owner) continue;
      m.run_order[m.running++] = to_other(w.run_order[i]);
    }
    if (owner == 1) m.running_first = m.running;
  }
  m.bullets = w.bullets;
  for (int i = 0; i < w.bullets; ++i) {
    m.bullet_x[i] = w.bullet_x[i];
    m.bullet_y[i] = w.bullet_y[i];
    m.bullet_damage[i] = w.bullet_damage[i];
    m.bullet_shooter[i] = to_other(w.bullet_shooter[i]);
    m.bullet_target[i] = to_other(w.bullet_target[i]);
    m.bullet_state[i] = w.bullet_state[i];
  }
  m.counters = w.counters;
  for (int i = 0; i < w.counters; ++i) {
    m.counter[i] = {to_other(w.counter[i].unit), to_other(w.counter[i].target)};
  }
  return m;
}

}  // namespace ludus::tests
