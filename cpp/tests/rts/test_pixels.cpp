// The picture that a seat is given: colours where they belong, nothing from the fog, every byte
// written.
#include <algorithm>
#include <string>
#include <vector>

#include "game/conformance.hpp"
#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/engine/pixels.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/rulebook/rts.hpp"
#include "games/rts/tower_defense/tower_defense.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

using rts::kMaxPixels;

// A picture of what seat 0 sees of three units: its own base, an enemy near it and one far away.
struct Scene {
  rts::MiniRules rules = rts::make_mini_rules({});
  rts::State s;
  int k;
  std::vector<std::uint8_t> picture;

  explicit Scene(int pixels) : k(pixels) {
    const rts::EngineRules& e = rules.engine;
    rts::clear_state(e, s);
    (void)rts::add_unit(e, s, 0, rts::kBase, 4, 4, 0);
    (void)rts::add_unit(e, s, 1, rts::kMelee, 6, 4, 0);
    (void)rts::add_unit(e, s, 1, rts::kMelee, 16, 16, 0);
    const rts::Sight sight = rts::sight_of(e, s, 0);
    picture.assign(rts::pixels_tensor(e, k).bytes(), 7);
    rts::write_pixels(e, s, 0, sight, rts::visible_units(e, s, sight), rts::kResource, k,
                      picture.data());
  }
  [[nodiscard]] int size() const { return rules.engine.side * k; }
  // Channel c of the pixel in the upper left corner of the cell (x, y), plus an offset.
  [[nodiscard]] int at(int c, int x, int y, int dx = 0, int dy = 0) const {
    return picture[static_cast<std::size_t>((c * size() + y * k + dy) * size() + x * k + dx)];
  }
};

TEST_CASE("pixels: own is blue, enemies are vermilion, the fog is dark") {
  for (int k = 1; k <= kMaxPixels; ++k) {
    const Scene scene(k);
    CHECK(scene.at(2, 4, 4) > scene.at(0, 4, 4));  // the base's rim
    if (k >= 3) {
      // A unit covers the middle half of its cell.
      const int rim = k / 2 - k / 4;
      CHECK(scene.at(0, 6, 4, rim, rim) > scene.at(2, 6, 4, rim, rim));
    }
    CHECK(scene.at(0, 3, 3) > scene.at(0, 19, 19));  // lit ground against fog
    // No unit shows in the fog: the cell of the far enemy is like any other dark one.
    for (int c = 0; c < 3; ++c) CHECK(scene.at(c, 16, 16, k / 2, k / 2) == scene.at(c, 19, 19));
    CHECK(std::ranges::count(scene.picture, 7) == 0);
  }
}

TEST_CASE("pixels: a unit that is hurt is darker") {
  Scene whole(6);
  Scene hurt(6);
  hurt.s.hp[0] = 50;
  const rts::EngineRules& e = hurt.rules.engine;
  const rts::Sight sight = rts::sight_of(e, hurt.s, 0);
  rts::write_pixels(e, hurt.s, 0, sight, rts::visible_units(e, hurt.s, sight), rts::kResource, 6,
                    hurt.picture.data());
  CHECK(hurt.at(2, 4, 4) < whole.at(2, 4, 4));
}

TEST_CASE("pixels: units at the edge stay on the canvas") {
  rts::MiniRules rules = rts::make_mini_rules({});
  const rts::EngineRules& e = rules.engine;
  rts::State s;
  rts::clear_state(e, s);
  for (const auto& [x, y] :
       {std::pair{-0.4F, -0.4F}, std::pair{19.4F, 19.4F}, std::pair{-1.2F, 8.F}}) {
    (void)rts::add_unit(e, s, 0, rts::kBase, x, y, 0);
  }
  const rts::Sight sight = rts::sight_of(e, s, 0);
  std::vector<std::uint8_t> picture(rts::pixels_tensor(e, kMaxPixels).bytes() + 64, 9);
  rts::write_pixels(e, s, 0, sight, ~std::uint64_t{0} & 7U, rts::kResource, kMaxPixels,
                    picture.data());
  CHECK(std::all_of(picture.end() - 64, picture.end(), [](std::uint8_t v) { return v == 9; }));
}

TEST_CASE("pixels: a parameter adds the tensor, in every game") {
  const auto tensor = [](const GameSpec& spec) {
    return std::ranges::count(spec.observation, std::string("pixels"), &TensorSpec::name);
  };
  const Params four({{"pixels", "4"}});
  CHECK(tensor(MiniRts::spec(MiniRts::make_rules(four))) == 1);
  CHECK(tensor(MiniRts::spec(MiniRts::make_rules({}))) == 0);
  CHECK(tensor(Rts::spec(Rts::make_rules(four))) == 1);
  CHECK(tensor(Rts::spec(Rts::make_rules({}))) == 0);
  CHECK(tensor(CaptureTheFlag::spec(CaptureTheFlag::make_rules(four))) == 1);
  CHECK(tensor(CaptureTheFlag::spec(CaptureTheFlag::make_rules({}))) == 0);
  CHECK(tensor(TowerDefense::spec(TowerDefense::make_rules(four))) == 1);
  CHECK(tensor(TowerDefense::spec(TowerDefense::make_rules({}))) == 0);
  // Every byte is written and every value in range, over whole matches.
  const Params two({{"pixels", "2"}, {"ruleset", "clean"}});
  Conformance<CaptureTheFlag> flag(two, 3, 300);
  CHECK(flag.run(1).clean());
  Conformance<TowerDefense> tower(two, 3, 300);
  CHECK(tower.run(1).clean());
  const GameSpec spec = Rts::spec(Rts::make_rules(four));
  CHECK(spec.observation.back().shape == std::vector<int>{3, 80, 80});
  CHECK_THROWS_AS(Rts::make_rules(Params({{"pixels", "9"}})), ParamError);
}

}  // namespace
}  // namespace ludus
