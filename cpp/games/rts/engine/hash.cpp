#include "games/rts/engine/hash.hpp"

namespace ludus::rts {

void hash_world(const EngineRules& rules, const State& w, Hash64& h) {
  h.add(w.tick);
  h.add(static_cast<std::uint64_t>(w.winner + 1) << 2 | (w.over ? 2U : 0U) |
        (w.congested ? 1U : 0U));
  for (const std::int32_t money : w.money) h.add(static_cast<std::uint64_t>(money));
  h.add(w.next_id);
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
}

}  // namespace ludus::rts
