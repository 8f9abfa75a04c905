#include "games/rts/engine/manoeuvres.hpp"

#include <algorithm>
#include <cstdlib>

namespace ludus::rts {

namespace {

constexpr float kThere2 = 2.25F;  // squared distance at which a unit need not move up further

std::uint64_t accepting_units(const EngineRules& engine, const State& state, std::uint64_t units,
                              Cmd cmd) {
  std::uint64_t set = 0;
  for_bits(units, [&](int i) {
    const UnitType& type = engine.type[state.type[i]];
    if (type.takes(cmd) && !type.building) set |= std::uint64_t{1} << i;
  });
  return set;
}

// Sends `units` to free cells around (x, y), the nearest ring first, unit by unit in rising id.
// Columns are taken from the left, or in a mirror from the right.
void send(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
          float x, float y) {
  const int last = engine.side - 1;
  const int cx = plan.mirrored
                     ? last - std::clamp(cell_coord(static_cast<float>(last) - x), 0, last)
                     : std::clamp(cell_coord(x), 0, last);
  const int cy = std::clamp(cell_coord(y), 0, last);
  const std::uint64_t others = ~units;
  for (int ring = 0; ring < engine.side && units != 0; ++ring) {
    for (int dy = -ring; dy <= ring && units != 0; ++dy) {
      const bool edge = std::abs(dy) == ring;  // a whole row of the ring, else its two ends
      const int step = edge || ring == 0 ? 1 : 2 * ring;
      for (int dx = -ring; dx <= ring && units != 0; dx += step) {
        const Cell cell{plan.mirrored ? cx - dx : cx + dx, cy + dy};
        if (!cell_free(engine, state, cell, others)) continue;
        const int slot = std::countr_zero(units);
        units &= units - 1;
        plan.put(slot, move_order(static_cast<float>(cell.x), static_cast<float>(cell.y)));
      }
    }
  }
}

// The subset of `units` farther than sqrt(kThere2) from (x, y).
std::uint64_t away_from(const State& state, std::uint64_t units, float x, float y, float near2) {
  std::uint64_t set = 0;
  for_bits(units, [&](int i) {
    if (distance2(state.x[i], state.y[i], x, y) > near2) set |= std::uint64_t{1} << i;
  });
  return set;
}

}  // namespace

void attack_move(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
                 std::uint64_t enemies, float x, float y) {
  std::uint64_t marching = 0;
  for_bits(accepting_units(engine, state, units, Cmd::attack), [&](int i) {
    const UnitType& type = engine.type[state.type[i]];
    const auto sight = static_cast<float>(std::max(type.vision, type.attack_range));
    float closest = sight * sight;
    const int target =
        nearest(state, attackable(engine, state, i, enemies), state.x[i], state.y[i], closest);
    if (target == kNone) {
      marching |= std::uint64_t{1} << i;
    } else {
      plan.put(i, attack_order(target));
    }
  });
  marching = accepting_units(engine, state, marching, Cmd::move);
  send(engine, state, plan, away_from(state, marching, x, y, kThere2), x, y);
}

void focus_fire(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
                int target) {
  for_bits(accepting_units(engine, state, units, Cmd::attack),
           [&](int i) { plan.put(i, attack_order(target)); });
}

void defend(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
            std::uint64_t enemies, float x, float y, float radius) {
  float closest = radius * radius;
  const int intruder = nearest(state, enemies, x, y, closest);
  if (intruder != kNone) {
    focus_fire(engine, state, plan, units, intruder);
    return;
  }
  const std::uint64_t mobile = accepting_units(engine, state, units, Cmd::move);
  send(engine, state, plan, away_from(state, mobile, x, y, radius * radius), x, y);
}

void retreat(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
             float x, float y) {
  const std::uint64_t mobile = accepting_units(engine, state, units, Cmd::move);
  send(engine, state, plan, away_from(state, mobile, x, y, kThere2), x, y);
}

void rally(const EngineRules& engine, const State& state, OrderSet& plan, std::uint64_t units,
           float x, float y) {
  std::uint64_t calm = 0;
  for_bits(units, [&](int i) {
    if (state.cmd[i] == Cmd::idle || state.cmd[i] == Cmd::move) calm |= std::uint64_t{1} << i;
  });
  retreat(engine, state, plan, calm, x, y);
}

}  // namespace ludus::rts
