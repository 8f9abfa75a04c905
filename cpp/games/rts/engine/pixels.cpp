#include "games/rts/engine/pixels.hpp"

#include <algorithm>

#include "games/rts/engine/map.hpp"

namespace ludus::rts {

namespace {

struct Colour {
  std::uint8_t r, g, b;
};

constexpr Colour kGround{92, 104, 84};
constexpr Colour kWall{128, 128, 128};
constexpr Colour kDarkWall{56, 56, 56};
constexpr Colour kFog{30, 34, 28};
constexpr Colour kBullet{255, 255, 255};
// Okabe and Ito's colours, which people with any colour vision can tell apart.
constexpr Colour kOwn{0, 114, 200};
constexpr Colour kEnemy{213, 94, 0};
constexpr Colour kNobody{240, 228, 66};

// Evenly spread over the cube, so that sixteen types stay apart.
constexpr Colour of_type(int t) {
  const auto channel = [](int v) { return static_cast<std::uint8_t>(v); };
  return {channel(40 + (t & 3) * 70), channel(40 + (t >> 1 & 3) * 70),
          channel(40 + (t >> 2 & 3) * 70)};
}

// Between half and full brightness.
Colour shade(Colour c, int hp, int max_hp) {
  const int part = 128 + 127 * std::clamp(hp, 0, max_hp) / max_hp;
  const auto scale = [part](std::uint8_t v) { return static_cast<std::uint8_t>(v * part / 255); };
  return {scale(c.r), scale(c.g), scale(c.b)};
}

struct Canvas {
  int size;  // pixels along a side
  std::uint8_t* out;

  // Fills [x0, x1) x [y0, y1), as far as it is on the canvas.
  void fill(int x0, int y0, int x1, int y1, Colour c) const {
    x0 = std::max(x0, 0);
    y0 = std::max(y0, 0);
    x1 = std::min(x1, size);
    y1 = std::min(y1, size);
    if (x0 >= x1) return;
    const std::uint8_t channel[3] = {c.r, c.g, c.b};
    for (int p = 0; p < 3; ++p) {
      for (int y = y0; y < y1; ++y) {
        std::uint8_t* row = out + (static_cast<std::ptrdiff_t>(p) * size + y) * size;
        std::fill(row + x0, row + x1, channel[p]);
      }
    }
  }
};

}  // namespace

TensorSpec pixels_tensor(const EngineRules& rules, int k) {
  TensorSpec t;
  t.name = "pixels";
  t.dtype = DType::u8;
  t.shape = {3, rules.side * k, rules.side * k};
  t.high = 255;
  t.scale = 1.0 / 255.0;
  t.meaning = "what the seat sees, as a picture: red, green, blue, each by [y, x]";
  t.labels = {"red", "green", "blue"};
  return t;
}

ParamSpec pixels_param() {
  return {"pixels",
          ParamKind::integer,
          "0",
          0,
          kMaxPixels,
          {},
          "of a cell along one axis in the observation `pixels`; 0: there is no such observation"};
}

void write_pixels(const EngineRules& rules, const State& s, int seat, const Sight& sight,
                  std::uint64_t seen, int resource, int k, std::uint8_t* out) {
  const Canvas canvas{rules.side * k, out};
  for (int y = 0; y < rules.side; ++y) {
    for (int x = 0; x < rules.side; ++x) {
      const bool wall = rules.terrain && walled(s, x, y);
      const Colour lit = wall ? kWall : kGround;
      const Colour dark = wall ? kDarkWall : kFog;  // the map is known
      canvas.fill(x * k, y * k, (x + 1) * k, (y + 1) * k, sight.cell(x, y) ? lit : dark);
    }
  }
  // The pixel under a point: cell (0, 0) is centred at (0, 0).
  const auto pixel = [&](float v) {
    return static_cast<int>(std::max(0.0F, (v + 0.5F) * static_cast<float>(k)));
  };
  for_bits(seen, [&](int i) {
    const int t = s.type[i];
    const UnitType& u = rules.type[t];
    const Colour whose = t == resource                        ? kNobody
                         : rules.owner_of(i) == seat          ? kOwn
                         : rules.owner_of(i) < kMaxOwners - 1 ? kEnemy
                                                              : kNobody;
    const int width = u.building ? k : std::max(1, k / 2);
    const int x = pixel(s.x[i]) - width / 2;
    const int y = pixel(s.y[i]) - width / 2;
    canvas.fill(x, y, x + width, y + width, shade(whose, s.hp[i], u.hp));
    const int core = width / 2;
    const int at = (width - core + 1) / 2;
    canvas.fill(x + at, y + at, x + at + core, y + at + core, of_type(t));
  });
  for (int i = 0; i < s.bullets; ++i) {
    const float bx = s.bullet_x[i];
    const float by = s.bullet_y[i];
    const int cx = cell_coord(bx);
    const int cy = cell_coord(by);
    if (!inside(rules, cx, cy) || !sight.cell(cx, cy)) continue;
    canvas.fill(pixel(bx), pixel(by), pixel(bx) + 1, pixel(by) + 1, kBullet);
  }
}

}  // namespace ludus::rts
