#include "games/rts/engine/start_positions.hpp"

#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

constexpr int kReach = 4;  // cells between a base and its resource, along each axis
constexpr int kTries = 100;
constexpr std::uint32_t kBuiltTick = 2;  // the original's units appear at the end of this tick

// A corner of the map a third of a side wide for the base, and a resource near it.
bool draw_start_position(const EngineRules& engine, Rng& rng, int seat, Cell& base,
                         Cell& resource) {
  const auto side = static_cast<float>(engine.side);
  const auto corner = [&] {
    const auto r = static_cast<float>(rng.below(static_cast<std::uint32_t>(engine.side)));
    return static_cast<int>(r / 3.0F + static_cast<float>(seat) * side / 3.0F * 2.0F);
  };
  const auto near = [&](int from) {
    return static_cast<int>(rng.below(2 * kReach + 1)) - kReach + from;
  };
  for (int i = 0; i < kTries; ++i) {
    base.x = corner();
    base.y = corner();
    if (!inside(engine, base.x, base.y)) continue;
    resource.x = near(base.x);
    resource.y = near(base.y);
    if (!inside(engine, resource.x, resource.y)) continue;
    if (resource.x != base.x || resource.y != base.y) return true;
  }
  return false;
}

struct Placed {
  int type;
  Cell cell;
};

// Extra units of one seat: each try of each type succeeds with its chance, in the square that
// starts at (2, 2) for seat 0 and half a map further for seat 1.
int draw_extras(const EngineRules& engine, const StartPositions& start_positions, Rng& rng,
                int seat, Placed* out) {
  const int side = engine.side;
  const auto spread = static_cast<std::uint32_t>(side * 3 / 10);
  int n = 0;
  for (int e = 0; e < start_positions.extras; ++e) {
    const Extra& extra = start_positions.extra[e];
    for (int i = 0; i < extra.tries; ++i) {
      if (static_cast<int>(rng.below(10)) >= extra.tenths) continue;
      Cell cell;
      cell.x = static_cast<int>(rng.below(spread)) + side / 2 * seat + 2;
      cell.y = static_cast<int>(rng.below(spread)) + side / 2 * seat + 2;
      out[n++] = {extra.type, cell};
    }
  }
  return n;
}

}  // namespace

void place_start_positions(const EngineRules& engine, const StartPositions& start_positions,
                           State& state, Rng& rng) {
  clear_state(engine, state);
  Cell base[kStartSeats];
  Cell resource[kStartSeats];
  const int far = engine.side - 1;
  do {
    while (!draw_start_position(engine, rng, 0, base[0], resource[0]) ||
           !draw_start_position(engine, rng, 1, base[1], resource[1])) {
    }
    if (start_positions.extra_units ==
        StartUnits::symmetric) {  // seat 1 is seat 0 from the other corner
      base[1] = {far - base[0].x, far - base[0].y};
      resource[1] = {far - resource[0].x, far - resource[0].y};
    }
    // The original skips a unit whose cell is taken; here both seats always get base and resource.
  } while (resource[0] == resource[1] || resource[0] == base[1] || resource[1] == base[0]);
  const bool flip_x = rng.coin();
  const bool flip_y = rng.coin();
  const auto put = [&](int seat, int type, Cell c) {
    const auto x = static_cast<float>(flip_x ? far - c.x : c.x);
    const auto y = static_cast<float>(flip_y ? far - c.y : c.y);
    add_unit(engine, state, seat, type, x, y, kBuiltTick);  // a taken spot is skipped
  };
  for (int seat = 0; seat < kStartSeats; ++seat) {
    put(seat, start_positions.base, base[seat]);
    put(seat, start_positions.resource, resource[seat]);
    state.money[seat] = start_positions.money;
  }
  if (start_positions.extra_units == StartUnits::none) return;
  Placed placed[StartPositions::kMaxExtras * StartPositions::kMaxTries];
  int n = 0;
  for (int seat = 0; seat < kStartSeats; ++seat) {
    const bool copy = start_positions.extra_units == StartUnits::symmetric && seat == 1;
    if (!copy) n = draw_extras(engine, start_positions, rng, seat, placed);
    for (int i = 0; i < n; ++i) {
      const Cell c = placed[i].cell;
      put(seat, placed[i].type, copy ? Cell{far - c.x, far - c.y} : c);
    }
  }
}

}  // namespace ludus::rts
