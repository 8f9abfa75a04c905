// Capture the Flag seen in a mirror.
#pragma once

#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "tests/rts/exchanged.hpp"

namespace ludus::tests {

// The same state seen in a mirror: seats exchanged, columns counted from the other edge.
inline CaptureTheFlag::State mirrored(const CaptureTheFlag::Rules& rules,
                                      const CaptureTheFlag::State& s) {
  const rts::EngineRules& engine = rules.engine;
  const float far = static_cast<float>(engine.side - 1);
  CaptureTheFlag::State out = s;
  out.world = exchanged(engine, s.world);
  rts::State& m = out.world;
  m.turned = s.world.turned;
  m.tie_breaks = ~s.world.tie_breaks;  // the other seat is first, and left is right
  m.flag_x = far - m.flag_x;
  m.column.fill(0);
  m.row.fill(0);
  for (int owner = 0; owner < rts::kMaxOwners; ++owner) {
    rts::for_units(engine, m, owner, [&](int i) {
      m.x[i] = far - m.x[i];
      if (m.cmd[i] == rts::Cmd::move) m.px[i] = far - m.px[i];
      rts::enter_buckets(m, i, rts::bucket_of(m.x[i]), rts::bucket_of(m.y[i]));
    });
  }
  out.flag_x = far - s.flag_x;
  out.heuristic = {};
  return out;
}

}  // namespace ludus::tests
