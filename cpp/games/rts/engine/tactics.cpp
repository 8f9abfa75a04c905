#include "games/rts/engine/tactics.hpp"

#include <algorithm>
#include <limits>

namespace ludus::rts {

namespace {

constexpr float kRunBelow2 = 4.0F;  // hit and run: flee below, attack above
constexpr float kHitAbove2 = 6.0F;
constexpr int kFleeDepth = 10;
constexpr int kBuildRadius = 3;
constexpr int kBorder = 2;

// A place to flee to: among the cells reached in exactly kFleeDepth steps from the threats, the one
// nearest to (x, y).
bool flee_place(const EngineRules& engine, const State& state, std::uint64_t threats, float x,
                float y, bool mirrored, Order& out) {
  constexpr int kCells = kMaxSide * kMaxSide;
  constexpr int kDx[4] = {1, 0, -1, 0};
  constexpr int kDy[4] = {0, 1, 0, -1};
  std::uint8_t distance[kCells] = {};
  std::int8_t free[kCells] = {};  // 0 unknown, 1 yes, -1 no
  std::int16_t frontier[2][kCells + kSlots];
  int size = 0;
  for_bits(threats, [&](int i) {
    frontier[0][size++] = static_cast<std::int16_t>(
        std::clamp(cell_of(engine, state.x[i], state.y[i]), 0, engine.cells() - 1));
  });
  int now = 0;
  for (int d = 1; d <= kFleeDepth; ++d) {
    int next_size = 0;
    for (int k = 0; k < size; ++k) {
      const int cx = frontier[now][k] % engine.side;
      const int cy = frontier[now][k] / engine.side;
      for (int n = 0; n < 4; ++n) {
        const int nx = mirrored ? cx - kDx[n] : cx + kDx[n];
        const int ny = cy + kDy[n];
        if (!inside(engine, nx, ny)) continue;
        const int cell = ny * engine.side + nx;
        if (distance[cell] != 0 && distance[cell] <= d) continue;
        if (free[cell] == 0) {
          const bool ok =
              disc_free(engine, state, static_cast<float>(nx), static_cast<float>(ny), -1);
          free[cell] = ok ? 1 : -1;
        }
        if (free[cell] < 0) continue;
        distance[cell] = static_cast<std::uint8_t>(d);
        frontier[1 - now][next_size++] = static_cast<std::int16_t>(cell);
      }
    }
    size = next_size;
    now = 1 - now;
  }
  auto closest = static_cast<float>(engine.cells());
  bool found = false;
  for (int k = 0; k < size; ++k) {
    const auto px = static_cast<float>(frontier[now][k] % engine.side);
    const auto py = static_cast<float>(frontier[now][k] / engine.side);
    const float d2 = distance2(px, py, x, y);
    if (closest > d2) {
      closest = d2;
      out = move_order(px, py);
      found = true;
    }
  }
  return found;
}

}  // namespace

int nearest(const State& state, std::uint64_t set, float x, float y, float& closest) {
  int found = kNone;
  for_bits(set, [&](int i) {
    const float d2 = distance2(state.x[i], state.y[i], x, y);
    if (closest > d2) {
      closest = d2;
      found = i;
    }
  });
  return found;
}

std::uint64_t of_type(const EngineRules& engine, const State& state, int owner, int type) {
  std::uint64_t set = 0;
  for_units(engine, state, owner, [&](int i) {
    if (state.type[i] == type) set |= std::uint64_t{1} << i;
  });
  return set;
}

bool building_place(const EngineRules& engine, const State& state, int type, float bx, float by,
                    Order& out) {
  const auto centre = static_cast<float>(engine.side / 2);
  const int sx = bx < centre ? -1 : 1;
  const int sy = by < centre ? -1 : 1;
  for (int dx = -sx * kBuildRadius; dx != sx * kBuildRadius + sx; dx += sx) {
    for (int dy = -sy * kBuildRadius; dy != sy * kBuildRadius + sy; dy += sy) {
      const float x = bx + static_cast<float>(dx);
      const float y = by + static_cast<float>(dy);
      if (can_pass(engine, state, x, y, -1) && inside(engine, x, y, kBorder)) {
        out = build_order(type, x, y);
        return true;
      }
    }
  }
  return false;
}

void hit_and_run(const EngineRules& engine, const State& state, OrderSet& plan, int slot,
                 std::uint64_t targets) {
  const float x = state.x[slot];
  const float y = state.y[slot];
  float closest = std::numeric_limits<float>::max();
  const int target = nearest(state, targets, x, y, closest);
  if (target == kNone) return;
  if (closest > kHitAbove2) plan.put(slot, attack_order(target));
  if (closest < kRunBelow2) {
    Order flee;
    const bool found = flee_place(engine, state, targets, x, y, plan.mirrored, flee);
    plan.put(slot, found ? flee : attack_order(target));
  }
}

bool may_hit_and_run(const EngineRules& engine, const State& state, int slot,
                     std::uint64_t targets) {
  const float x = state.x[slot];
  const float y = state.y[slot];
  float closest = std::numeric_limits<float>::max();
  const int target = nearest(state, targets, x, y, closest);
  if (target == kNone) return false;
  const bool attacks_it = state.cmd[slot] == Cmd::attack && state.target[slot] == target;
  if (closest > kHitAbove2) return !attacks_it;
  if (closest >= kRunBelow2) return false;
  Order flee;
  return !attacks_it || flee_place(engine, state, targets, x, y, false, flee);
}

}  // namespace ludus::rts
