#include "games/rts/engine/hash.hpp"

namespace ludus::rts {

namespace {

// State that only games with flags, waves or walls have; games without them hash as if it were not
// there.
void add_flag(Hash64& h, const EngineRules& rules, const State& w) {
  h.add(w.carrying);
  h.add(w.flag_falls ? 1U : 0U);
  h.add_float(w.flag_x);
  h.add_float(w.flag_y);
  for (int i = 0; i < w.flag_rows; ++i) h.add(w.flag_row[i]);
  for (int i = 0; i < w.revivals; ++i) {
    h.add(static_cast<std::uint64_t>(w.revival[i].tick) << 8 | w.revival[i].owner);
  }
  for (int owner = 0; owner < kFlagOwner; ++owner) {
    for_units(rules, w, owner, [&](int i) { h.add_float(w.speed[i]); });
  }
}

void add_terrain(Hash64& h, const EngineRules& rules, const State& w) {
  h.add(w.wave);
  for (int y = 0; y < rules.side; ++y) h.add(w.wall[y]);
}

}  // namespace

void hash_world(const EngineRules& rules, const State& w, Hash64& h) {
  h.add(w.tick);
  h.add(static_cast<std::uint64_t>(w.winner + 1) << 2 | (w.over ? 2U : 0U) |
        (w.congested ? 1U : 0U));
  for (const std::int32_t money : w.money) h.add(static_cast<std::uint64_t>(money));
  h.add(w.next_id);
  if (!rules.quirks.seat_order) {
    h.add(w.tie_breaks);
    h.add(w.turned ? 1U : 0U);
  }
  for (int owner = 0; owner < kMaxOwners; ++owner) {
    h.add(w.units[owner]);
    for_units(rules, w, owner, [&](int i) {
      h.add(
          static_cast<std::uint64_t>(w.id[i]) << 48 | static_cast<std::uint64_t>(w.built[i]) << 32 |
          static_cast<std::uint64_t>(w.type[i]) << 24 |
          static_cast<std::uint64_t>(w.damaged_by[i]) << 16 | static_cast<std::uint16_t>(w.hp[i]));
      h.add_float(w.x[i]);
      h.add_float(w.y[i]);
      h.add(static_cast<std::uint64_t>(w.last[0][i]) << 48 |
            static_cast<std::uint64_t>(w.last[1][i]) << 32 |
            static_cast<std::uint64_t>(w.last[2][i]) << 16 | w.last[3][i]);
      h.add(static_cast<std::uint64_t>(w.cmd[i]));
      if (w.cmd[i] != Cmd::idle) {
        h.add(static_cast<std::uint64_t>(w.start[i]) << 24 |
              static_cast<std::uint64_t>(w.target[i]) << 16 |
              static_cast<std::uint64_t>(w.source[i]) << 8 | w.phase[i]);
        h.add_float(w.px[i]);
        h.add_float(w.py[i]);
      }
    });
  }
  for (int i = 0; i < w.bullets; ++i) {
    h.add_float(w.bullet_x[i]);
    h.add_float(w.bullet_y[i]);
    h.add(static_cast<std::uint64_t>(w.bullet_shooter[i]) << 24 |
          static_cast<std::uint64_t>(w.bullet_target[i]) << 16 |
          static_cast<std::uint64_t>(w.bullet_state[i]));
  }
  for (int i = 0; i < w.counters; ++i) {
    h.add(static_cast<std::uint64_t>(w.counter[i].unit) << 8 | w.counter[i].target);
  }
  if (rules.flag.type >= 0) add_flag(h, rules, w);
  if (rules.terrain) add_terrain(h, rules, w);
}

}  // namespace ludus::rts
