// Capture the Flag seen in a mirror.
#pragma once

#include <array>
#include <cstdint>

#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/engine/units.hpp"

namespace ludus::tests {

// The same moment seen in a mirror: seats changed, columns counted from the other edge.
inline CaptureTheFlag::State mirrored(const CaptureTheFlag::Rules& rules,
                                      const CaptureTheFlag::State& s) {
  const rts::State& w = s.world;
  const rts::EngineRules& engine = rules.engine;
  const int shift = engine.first_slot[1] - engine.first_slot[0];
  const auto slot_of = [&](int i) {
    if (i == rts::kNone) return i;
    const int owner = engine.owner_of(i);
    return owner == 2 ? i : (owner == 0 ? i + shift : i - shift);
  };
  const float far = static_cast<float>(engine.side - 1);
  CaptureTheFlag::State out = s;
  rts::State& m = out.world;
  rts::clear_state(engine, m);
  m.tick = w.tick;
  m.next_id = w.next_id;
  m.over = w.over;
  m.winner = static_cast<std::int8_t>(w.winner < 0 ? -1 : 1 - w.winner);
  m.money = {w.money[1], w.money[0], w.money[2]};
  m.units = {w.units[1], w.units[0], w.units[2]};
  m.bases = {w.bases[1], w.bases[0], w.bases[2]};
  m.flag_row = w.flag_row;
  m.flag_rows = w.flag_rows;
  m.flag_falls = w.flag_falls;
  m.flag_x = far - w.flag_x;
  m.flag_y = w.flag_y;
  m.revivals = w.revivals;
  for (int i = 0; i < w.revivals; ++i) {
    m.revival[i] = {w.revival[i].tick, static_cast<std::uint8_t>(1 - w.revival[i].owner)};
  }
  for (int owner = 0; owner < rts::kMaxOwners; ++owner) {
    rts::for_units(engine, w, owner, [&](int i) {
      const int to = slot_of(i);
      m.x[to] = far - w.x[i];
      m.y[to] = w.y[i];
      m.speed[to] = w.speed[i];
      m.hp[to] = w.hp[i];
      m.type[to] = w.type[i];
      m.id[to] = w.id[i];
      m.built[to] = w.built[i];
      m.damaged_by[to] = static_cast<std::uint8_t>(slot_of(w.damaged_by[i]));
      for (std::size_t c = 0; c < rts::kCooldowns; ++c) m.last[c][to] = w.last[c][i];
      m.cmd[to] = w.cmd[i];
      m.phase[to] = w.phase[i];
      const bool unit = w.cmd[i] == rts::Cmd::attack || w.cmd[i] == rts::Cmd::get_flag;
      m.target[to] = unit ? static_cast<std::uint8_t>(slot_of(w.target[i])) : w.target[i];
      m.source[to] = w.source[i];
      m.px[to] = w.cmd[i] == rts::Cmd::move ? far - w.px[i] : w.px[i];
      m.py[to] = w.py[i];
      m.start[to] = w.start[i];
      if ((w.carrying >> i & 1) != 0) m.carrying |= std::uint64_t{1} << to;
      rts::enter_strips(m, to, rts::strip_of(m.x[to]), rts::strip_of(m.y[to]));
      m.fours = static_cast<std::uint16_t>(m.fours | 1U << (to / 4));
    });
  }
  for (int i = 0; i < w.running; ++i) {
    m.run_order[i] = static_cast<std::uint8_t>(slot_of(w.run_order[i]));
  }
  m.running = w.running;
  out.flag_x = far - s.flag_x;
  out.learned = {};
  return out;
}

}  // namespace ludus::tests
