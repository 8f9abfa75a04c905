// Tower Defense: exactness against the original, determinism, the maze, masks, rewards.
#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/hash.hpp"
#include "games/rts/engine/map.hpp"
#include "games/rts/tower_defense/observe.hpp"
#include "games/rts/tower_defense/strategy.hpp"
#include "games/rts/tower_defense/tower_defense.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/playing.hpp"
#include "tests/rts/trace.hpp"

namespace ludus {
using namespace tests;

namespace {

using G = TowerDefense;
constexpr int kSimple = 0;
constexpr int kRandom = 1;
constexpr int kSide = rts::kMazeSide;

struct Observed {
  std::array<std::uint8_t, rts::kTowerPlanes * kSide * kSide / 8> planes{};
  std::array<std::uint8_t, rts::kTowerMaps * kSide * kSide> map{};
  std::array<float, rts::kTowerGlobals> globals{};

  void look(const G::Rules& rules, const G::State& s) {
    const std::array<std::byte*, 3> out = {reinterpret_cast<std::byte*>(planes.data()),
                                           reinterpret_cast<std::byte*>(map.data()),
                                           reinterpret_cast<std::byte*>(globals.data())};
    G::observe(rules, s, 0, out);
  }
};

TEST_CASE("tower_defense: recorded matches of the original agree at every tick") {
  std::ifstream in(std::string(LUDUS_SOURCE_DIR) + "/tests/golden/rts/td_traces.txt");
  const std::vector<rts::TraceResult> results = rts::compare_traces(in);
  CHECK(results.size() == 4);
  for (const rts::TraceResult& r : results) {
    INFO(r.name, ": first difference at tick ", r.first_bad, " ", r.difference, r.end);
    CHECK(r.agrees);
    CHECK(r.ticks > 1000);
  }
}

TEST_CASE("tower_defense: pinned behaviour over 60,000 ticks") {
  CHECK(digest<G>("elf", {{kSimple}, 50, 60000}) == 0xac7a7db3c4903509ULL);
  CHECK(digest<G>("elf", {{kRandom}, 10, 60000}) == 0x99daf140b3a6ebf9ULL);
  CHECK(digest<G>("clean", {{kRandom}, 50, 60000}) == 0xc3de58cb76f22af7ULL);
}

TEST_CASE("tower_defense: playing allocates nothing") {
  check_playing_allocates_nothing<G>({{kRandom}, 50, 20000});
}

TEST_CASE("tower_defense: a copy of what is in use is the match") {
  check_copies<G>({{kRandom}, 10, 20000});
}

TEST_CASE("tower_defense: the caches of path search change nothing") {
  for (const char* ruleset : {"elf", "clean"}) {
    const G::Rules rules = G::make_rules(Params{{{"ruleset", ruleset}}});
    for (std::uint64_t match = 0; match < 8; ++match) {
      G::State s{};
      G::reset(rules, s, {.seed = 31, .match = match});
      G::State forgetful = s;
      const int bot = match % 2 == 0 ? kSimple : kRandom;
      const unsigned skip = match % 4 < 2 ? 5 : 40;
      while (!G::status(rules, s).over && G::tick(s) < 3000) {
        if (G::tick(s) % skip == 0) {
          G::bot(rules, s, 0, bot);
          G::bot(rules, forgetful, 0, bot);
        }
        forgetful.path_cache.clear();
        forgetful.tables.clear();
        G::advance(rules, s);
        G::advance(rules, forgetful);
        if (G::tick(s) % 20 == 0) REQUIRE(G::hash(rules, s) == G::hash(rules, forgetful));
      }
      const auto remembered =
          std::ranges::count_if(s.path_cache.key, [](auto key) { return key != 0; });
      CHECK((remembered > 0 || G::tick(s) < 500));
      REQUIRE(G::hash(rules, s) == G::hash(rules, forgetful));
    }
  }
}

TEST_CASE("tower_defense: a maze is a tree of corridors") {
  const G::Rules rules = G::make_rules({});
  G::State s{};
  for (std::uint64_t match = 0; match < 50; ++match) {
    G::reset(rules, s, {.seed = 5, .match = match});
    int open = 0;
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        open += rts::walled(s.world, x, y) ? 0 : 1;
        if (x < 14 && y < 14 && x % 2 == 1 && y % 2 == 1) CHECK(rts::walled(s.world, x, y));
      }
    }
    // The square, and for each of the 91 coarse cells itself and one cell of its way.
    CHECK(open == 36 + 2 * 91);
    CHECK_FALSE(rts::walled(s.world, 0, 0));
  }
}

TEST_CASE("tower_defense: the mask shows where a tower will stand") {
  for (const char* ruleset : {"elf", "clean"}) {
    const G::Rules rules = G::make_rules(Params{{{"ruleset", ruleset}}});
    int built = 0;
    int refused = 0;
    unsigned n = 0;
    play<G>(rules, {{kRandom}, 50, 12000}, [&](const G::State& s) {
      std::array<std::uint8_t, rts::kTowerActions> mask{};
      G::legal(rules, s, 0, mask.data());
      REQUIRE(mask[rts::kTowerWait] == 1);
      if (G::to_act(rules, s) == 0) return;
      for (int a = static_cast<int>(n++ % 7); a < rts::kTowerActions; a += 7) {
        G::State t = s;
        const std::int32_t choice = a;
        G::act(rules, t, 0, {&choice, 1});
        const int before = t.world.units[0];
        G::advance(rules, t);
        const bool stands = t.world.units[0] > before;
        REQUIRE(stands == (mask[static_cast<std::size_t>(a)] != 0 && a != rts::kTowerWait));
        (stands ? built : refused) += 1;
        if (!stands) continue;
        const int slot = t.world.units[0] - 1;
        CHECK(t.world.x[slot] == static_cast<float>(a / kSide));
        CHECK(t.world.y[slot] == static_cast<float>(a % kSide));
        CHECK(t.world.money[0] <= s.world.money[0] - 50 + 50);
      }
    });
    CHECK(built > 100);
    CHECK(refused > 1000);
  }
}

TEST_CASE("tower_defense: a choice outside the head is refused") {
  check_refuses_what_is_outside<G>(rts::kTowerActions, 3);
}

TEST_CASE("tower_defense: rewards are what the base lost, and the end") {
  const G::Rules rules = G::make_rules({});
  G::State s{};
  int ends[2] = {0, 0};
  for (std::uint64_t match = 0; match < 30; ++match) {
    G::reset(rules, s, {.seed = 9, .match = match});
    float sum = 0.0F;
    std::array<float, 1> out{};
    while (!G::status(rules, s).over) {
      if (G::tick(s) % 5 == 0) G::bot(rules, s, 0, kRandom);
      G::advance(rules, s);
      G::rewards(rules, s, out);
      if (!s.world.over) sum += out[0];
      if (!s.world.over) CHECK(sum == doctest::Approx(s.world.hp[0] / 100.0 - 1.0));
    }
    if (s.world.winner < 0) continue;
    CHECK(out[0] == (s.world.winner == 0 ? 1.0F : -1.0F));
    ++ends[s.world.winner];
  }
  CHECK(ends[0] > 0);
  CHECK(ends[1] > 0);
}

TEST_CASE("tower_defense: planes show walls and units") {
  const G::Rules rules = G::make_rules({});
  Observed o;
  play<G>(rules, {{kSimple}, 50, 4000}, [&](const G::State& s) {
    o.look(rules, s);
    std::array<bool, 2 * kSide * kSide> want{};
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        want[static_cast<std::size_t>(y * kSide + x)] = rts::walled(s.world, x, y);
      }
    }
    for (int owner = 0; owner < 2; ++owner) {
      rts::for_units(rules.engine, s.world, owner, [&](int i) {
        const int cell = static_cast<int>(s.world.y[i]) * kSide + static_cast<int>(s.world.x[i]);
        want[static_cast<std::size_t>(kSide * kSide + cell)] = true;
      });
    }
    for (std::size_t bit = 0; bit < want.size(); ++bit) {
      REQUIRE(((o.planes[bit / 8] >> bit % 8 & 1) != 0) == want[bit]);
    }
    // The map shows wherever a tower may stand, money or not.
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const bool free = rts::can_place(rules.engine, s.world, rules.engine.type[rts::kTower],
                                         static_cast<float>(x), static_cast<float>(y));
        REQUIRE((o.map[static_cast<std::size_t>(y * kSide + x)] == 255) == free);
      }
    }
  });
}

TEST_CASE("tower_defense: a wrong rulebook is refused with its fault") {
  const G::Rules rules = G::make_rules(Params{{{"rulebook", "tower.attack_range=4"}}});
  CHECK(rules.engine.type[rts::kTower].attack_range == 4);
  CHECK(rules.notice2 == 4.0F);
  try {
    (void)G::make_rules(Params{{{"rulebook", "wave.tick=1"}}});
    FAIL("accepted");
  } catch (const ParamError& e) {
    CHECK(std::string(e.what()) ==
          "tower_defense.rulebook line 1: unknown key 'wave.tick' (did you mean wave.ticks?)");
  }
}

}  // namespace
}  // namespace ludus
