#include "games/rts/rulebook/start.hpp"

#include <algorithm>
#include <cstring>

#include "games/rts/engine/units.hpp"

namespace ludus::rts {

namespace {

constexpr std::uint32_t kBuiltTick = 2;  // as with random start positions
constexpr int kRings = 6;                // cells around a point that are looked at for a free one

// Puts a unit at the free cell nearest to (x, y), ring by ring; the slot, or -1.
int place_near(const EngineRules& engine, State& state, int owner, int type, int x, int y,
               std::uint32_t tick) {
  for (int r = 0; r <= kRings; ++r) {
    for (int dy = -r; dy <= r; ++dy) {
      for (int dx = -r; dx <= r; ++dx) {
        if (std::max(std::abs(dx), std::abs(dy)) != r) continue;
        const int slot = add_unit(engine, state, owner, type, static_cast<float>(x + dx),
                                  static_cast<float>(y + dy), tick);
        if (slot >= 0) return slot;
      }
    }
    if (state.units[owner] == engine.capacity(owner)) return -1;
  }
  return -1;
}

StartPositions start_positions_of(const Book& book, const Numbers& numbers) {
  StartPositions start_positions = numbers.start_positions;
  start_positions.extras = 0;
  for (const int type : book.start_order) {
    const auto t = static_cast<std::size_t>(type);
    start_positions.extra[static_cast<std::size_t>(start_positions.extras++)] = {
        type, numbers.extra_tries[t], numbers.extra_tenths[t]};
  }
  return start_positions;
}

// Bases and resources where the terrain puts them, extra units around them.
void place_on_map(const Book& book, const Numbers& numbers, State& state, Rng& rng) {
  const EngineRules& engine = numbers.engine;
  const StartPositions start_positions = start_positions_of(book, numbers);
  clear_state(engine, state);
  state.wall = book.wall;
  const auto at = [&](int seat, int type, const Book::Place& p) {
    add_unit(engine, state, seat, type, static_cast<float>(p.x), static_cast<float>(p.y),
             kBuiltTick);
  };
  std::array<int, StartPositions::kMaxExtras> count{};
  for (int seat = 0; seat < kStartSeats; ++seat) {
    at(seat, start_positions.base, book.base_at[static_cast<std::size_t>(seat)]);
    at(seat, start_positions.resource, book.resource_at[static_cast<std::size_t>(seat)]);
    state.money[static_cast<std::size_t>(seat)] = start_positions.money;
  }
  if (start_positions.extra_units == StartUnits::none) return;
  for (int seat = 0; seat < kStartSeats; ++seat) {
    const Book::Place base = book.base_at[static_cast<std::size_t>(seat)];
    for (int e = 0; e < start_positions.extras; ++e) {
      const Extra& extra = start_positions.extra[static_cast<std::size_t>(e)];
      int& n = count[static_cast<std::size_t>(e)];
      if (seat == 0 || start_positions.extra_units == StartUnits::random) {
        n = 0;
        for (int i = 0; i < extra.tries; ++i) {
          if (static_cast<int>(rng.below(10)) < extra.tenths) ++n;
        }
      }
      for (int i = 0; i < n; ++i) {
        place_near(engine, state, seat, extra.type, base.x, base.y, kBuiltTick);
      }
    }
  }
}

template <class T>
void store(Numbers& numbers, std::size_t offset, T v) {
  std::memcpy(reinterpret_cast<char*>(&numbers) + offset, &v, sizeof v);
}

}  // namespace

void draw_numbers(const Book& book, Rng& rng, Numbers& numbers) {
  for (const Drawn& d : book.drawn) {
    if (d.kind == Drawn::Kind::f32) {
      const auto low = static_cast<float>(d.low);
      const auto high = static_cast<float>(d.high);
      const auto u = static_cast<float>(rng.below(1U << 24)) * 0x1p-24F;
      store(numbers, d.offset, std::min(low + (high - low) * u, high));
      continue;
    }
    const auto low = static_cast<std::int64_t>(d.low + 0.5);
    const auto span = static_cast<std::uint32_t>(d.high - d.low + 1.5);
    const std::int64_t v = low + static_cast<std::int64_t>(rng.below(span));
    if (d.kind == Drawn::Kind::u16) {
      store(numbers, d.offset, static_cast<std::uint16_t>(v));
    } else {
      store(numbers, d.offset, static_cast<std::int32_t>(v));
    }
  }
}

void place_start(const Book& book, const Numbers& numbers, State& state, Rng& rng) {
  if (book.starts_on_map) {
    place_on_map(book, numbers, state, rng);
  } else {
    place_start_positions(numbers.engine, start_positions_of(book, numbers), state, rng);
  }
}

void send_waves(const Numbers& numbers, State& state) {
  const EngineRules& engine = numbers.engine;
  const auto now = static_cast<int>(state.tick);
  for (int w = 0; w < numbers.waves; ++w) {
    const BookWave& wave = numbers.wave[static_cast<std::size_t>(w)];
    const int since = now - wave.first;
    if (since < 0 || (wave.every == 0 ? since != 0 : since % wave.every != 0)) continue;
    const int number = wave.every == 0 ? 0 : since / wave.every;
    const int units = std::min(wave.count + wave.grow * number, kSlots);
    int goal = kNone;  // the first vital unit of the other seat
    for_units(engine, state, 1 - wave.seat, [&](int i) {
      if (goal == kNone && engine.is_vital(state.type[i])) goal = i;
    });
    for (int i = 0; i < units; ++i) {
      const int slot = place_near(engine, state, wave.seat, wave.type, static_cast<int>(wave.x),
                                  static_cast<int>(wave.y), state.tick);
      if (slot < 0) break;
      if (goal != kNone) offer_order(engine, state, slot, attack_order(goal));
    }
  }
}

}  // namespace ludus::rts
