#include "games/rts/moba/sight.hpp"

#include <algorithm>
#include <cstdlib>

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

namespace {

// The cells of a team's units, and how far they see.
struct Watch {
  int units = 0, low = kMaxSide, high = -1;  // the columns in sight of any
  std::array<std::int32_t, kSlots> x, y, radius;

  Watch(const EngineRules& engine, const State& s, int team) {
    const int last = engine.side - 1;
    for_units(engine, s, team, [&](int i) {
      const auto k = static_cast<std::size_t>(units++);
      x[k] = std::clamp(cell_coord(s.x[i]), 0, last);
      y[k] = std::clamp(cell_coord(s.y[i]), 0, last);
      radius[k] = engine.type[s.type[i]].vision;
      low = std::min(low, x[k] - radius[k]);
      high = std::max(high, x[k] + radius[k]);
    });
  }

  // A unit sees a diamond. The newest are at the front, and see most.
  [[nodiscard]] bool cell(int cx, int cy) const {
    if (cx < low || cx > high) return false;
    for (auto k = static_cast<std::size_t>(units); k-- > 0;) {
      if (std::abs(cx - x[k]) + std::abs(cy - y[k]) <= radius[k]) return true;
    }
    return false;
  }
};

}  // namespace

bool sees(const MobaRules& rules, const State& s, int team, int slot) {
  const EngineRules& engine = rules.engine;
  const int cx = cell_coord(s.x[slot]);
  const int cy = cell_coord(s.y[slot]);
  if (!inside(engine, cx, cy)) return false;
  const int last = engine.side - 1;
  const int first = engine.first_slot[static_cast<std::size_t>(team)];
  for (int i = first + s.units[static_cast<std::size_t>(team)] - 1; i >= first; --i) {
    const int dx = cx - std::clamp(cell_coord(s.x[i]), 0, last);
    const int dy = cy - std::clamp(cell_coord(s.y[i]), 0, last);
    if (std::abs(dx) + std::abs(dy) <= engine.type[s.type[i]].vision) return true;
  }
  return false;
}

std::uint64_t seen_by(const MobaRules& rules, const State& s, int team) {
  const Watch watch(rules.engine, s, team);
  std::uint64_t seen = 0;
  for_units(rules.engine, s, team, [&](int i) { seen |= slot_bit(i); });
  for_units(rules.engine, s, 1 - team, [&](int i) {
    const int cx = cell_coord(s.x[i]);
    const int cy = cell_coord(s.y[i]);
    if (inside(rules.engine, cx, cy) && watch.cell(cx, cy)) seen |= slot_bit(i);
  });
  return seen;
}

}  // namespace ludus::rts
