// MOBA: what falls are worth, levels, deaths, abilities, towers and fog, by hand; and the
// properties that every game on the engine has.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/moba/abilities.hpp"
#include "games/rts/moba/economy.hpp"
#include "games/rts/moba/moba.hpp"
#include "games/rts/moba/orders.hpp"
#include "games/rts/moba/sight.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/playing.hpp"

namespace ludus {
using namespace tests;

namespace {

using G = Moba;
constexpr int kSimple = 0, kRandom = 2;
constexpr const char* kStill =
    "waves.first=60000\ngold.passive=0\nregen.every=10000\nlate.tick=60000\nlate.rush=60000\n";

// A match without creeps and regeneration, some ticks old, in which a test puts units where it
// wants.
struct Table {
  G::Rules rules;
  G::State s{};

  explicit Table(int heroes, const std::string& more = "", const char* randomise = "")
      : rules(G::make_rules(Params{{"heroes", std::to_string(heroes)},
                                   {"rulebook", kStill + more},
                                   {"randomise", randomise}})) {
    std::uint64_t match = 0;
    do {
      G::reset(rules, s, {.seed = 3, .match = match++});
    } while (s.world.turned);
    wait(20);
  }

  void wait(int ticks) {
    for (int i = 0; i < ticks; ++i) G::advance(rules, s);
  }
  rts::Hero& hero(int seat) { return s.hero[static_cast<std::size_t>(seat)]; }
  void move(int slot, float x, float y) {
    rts::leave_buckets(s.world, slot, rts::bucket_of(s.world.x[slot]),
                       rts::bucket_of(s.world.y[slot]));
    s.world.x[slot] = x;
    s.world.y[slot] = y;
    rts::enter_buckets(s.world, slot, rts::bucket_of(x), rts::bucket_of(y));
  }
  void put(int seat, float x, float y) { move(hero(seat).slot, x, y); }
  int add(int team, int type, float x, float y) {
    const int slot = rts::add_unit(rules.engine, s.world, team, type, x, y, s.world.tick);
    REQUIRE(slot >= 0);
    return slot;
  }
  int first(int team, int type) const {
    int found = rts::kNone;
    rts::for_units(rules.engine, s.world, team, [&](int i) {
      if (found == rts::kNone && s.world.type[i] == type) found = i;
    });
    return found;
  }
  // A unit falls, killed by a hero's seat (or by none), as the engine reports it.
  void fall(int slot, int killer) {
    rts::TickEvents events;
    const auto& w = s.world;
    events.fall[0] = {killer < 0 ? -1 : static_cast<std::int32_t>(hero(killer).id),
                      w.id[slot],
                      static_cast<std::uint8_t>(rules.engine.owner_of(slot)),
                      w.type[slot],
                      w.x[slot],
                      w.y[slot]};
    events.falls = 1;
    rts::settle(rules, s, events);
  }
  void wound(int by, int whom) {
    rts::TickEvents events;
    const int slot = hero(whom).slot;
    events.wound[0] = {static_cast<std::int32_t>(hero(by).id), s.world.id[slot],
                       static_cast<std::uint8_t>(rules.team_of(whom)), s.world.type[slot], 5};
    events.wounds = 1;
    rts::settle(rules, s, events);
  }
  int row_of(int seat, int slot) const {
    const rts::Choices c(rules, s, seat);
    for (int row = 0; row < c.rows.rows; ++row) {
      if (c.slot_of_row(row) == slot) return row;
    }
    return -1;
  }
  void act(int seat, int order, int target = 0, int place = 0) {
    const std::array<std::int32_t, 3> action = {order, target, place};
    G::act(rules, s, seat, action);
  }
  std::vector<std::uint8_t> mask(int seat) const {
    std::vector<std::uint8_t> m(G::spec(rules).mask_bytes());
    G::legal(rules, s, seat, m.data());
    return m;
  }
};

TEST_CASE("moba: a last hit pays the killer alone") {
  Table t(3);
  t.put(1, 15.0F, 14.0F);
  t.put(0, 15.0F, 16.0F);
  t.fall(t.add(1, rts::kMeleeCreep, 16.0F, 15.0F), 1);
  CHECK(t.hero(1).gold == 20);
  CHECK(t.hero(0).gold == 0);
  t.fall(t.add(1, rts::kRangedCreep, 17.0F, 15.0F), 1);
  CHECK(t.hero(1).gold == 45);
  CHECK(t.hero(1).last_hits == 2);
}

TEST_CASE("moba: experience is split among the enemy heroes nearby") {
  Table t(3);
  for (int seat = 0; seat < 3; ++seat) t.put(seat, 15.0F, 13.0F + static_cast<float>(seat));
  t.fall(t.add(1, rts::kMeleeCreep, 16.0F, 15.0F), 1);  // 20 among three
  for (int seat = 0; seat < 3; ++seat) CHECK(t.hero(seat).xp == 6);
  t.put(2, 4.0F, 18.0F);
  t.fall(t.add(1, rts::kMeleeCreep, 17.0F, 15.0F), -1);  // 20 between two, no matter who killed it
  CHECK(t.hero(0).xp == 16);
  CHECK(t.hero(2).xp == 6);
  CHECK(t.hero(0).gold == 0);
  t.put(0, 4.0F, 13.0F);
  t.fall(t.add(1, rts::kRangedCreep, 18.0F, 15.0F), 1);  // 25 to one
  CHECK(t.hero(1).xp == 16 + 25);
  t.put(1, 4.0F, 15.0F);
  t.fall(t.add(1, rts::kRangedCreep, 19.0F, 15.0F), -1);  // no one is near
  CHECK(t.hero(0).xp + t.hero(1).xp + t.hero(2).xp == 16 + 41 + 6);
}

TEST_CASE("moba: a fallen hero pays its killer, its helpers and who is near") {
  Table t(3);
  for (int seat = 0; seat < 3; ++seat) t.put(seat, 15.0F, 13.0F + static_cast<float>(seat));
  t.put(3, 16.0F, 15.0F);
  t.hero(3).level = 3;
  t.wound(0, 3);
  t.wound(2, 3);
  t.wound(1, 3);
  t.fall(t.hero(3).slot, 1);
  CHECK(t.hero(1).gold == 60 + 2 * 10);
  CHECK(t.hero(0).gold == 80 / 2 / 2);  // half the bounty among two helpers
  CHECK(t.hero(2).gold == 20);
  CHECK(t.hero(1).kills == 1);
  CHECK(t.hero(0).helps == 1);
  CHECK(t.hero(3).deaths == 1);
  CHECK(t.hero(0).xp == (50 + 2 * 20) / 3);
}

TEST_CASE("moba: who hurt a hero long ago does not help, and towers take no bounty") {
  Table t(3);
  t.put(0, 15.0F, 13.0F);
  t.put(3, 16.0F, 15.0F);
  t.put(4, 16.0F, 16.0F);
  t.wound(0, 3);
  t.wait(51);
  t.fall(t.hero(3).slot, -1);
  CHECK(t.hero(0).gold == 0);
  t.wound(0, 4);
  t.wait(49);
  t.fall(t.hero(4).slot, -1);  // by a tower: only the helper is paid
  CHECK(t.hero(0).gold == 60 / 2);
  CHECK(t.hero(0).kills == 0);
}

TEST_CASE("moba: a tower pays the whole team, and passive gold all heroes") {
  Table t(3, "gold.passive=3\ngold.passive_every=10\n");
  const int before = t.hero(0).gold;
  t.fall(t.first(1, rts::kLaneTower), 0);
  for (int seat = 0; seat < 3; ++seat) CHECK(t.hero(seat).gold == before + 60);
  CHECK(t.hero(3).gold == before);
  t.put(3, 16.0F, 15.0F);
  t.fall(t.hero(3).slot, -1);
  t.wait(30);
  CHECK(t.hero(0).gold == before + 60 + 9);
  CHECK(t.hero(3).gold == before + 9);  // the dead too
}

TEST_CASE("moba: a killer that dies in the same tick is paid") {
  Table t(1);
  t.put(0, 15.0F, 15.0F);
  t.put(1, 16.0F, 15.0F);
  rts::TickEvents events;
  for (int seat = 0; seat < 2; ++seat) {
    const int slot = t.hero(seat).slot;
    events.fall[static_cast<std::size_t>(seat)] = {static_cast<std::int32_t>(t.hero(1 - seat).id),
                                                   t.s.world.id[slot],
                                                   static_cast<std::uint8_t>(seat),
                                                   t.s.world.type[slot],
                                                   15.0F,
                                                   15.0F};
  }
  events.falls = 2;
  rts::settle(t.rules, t.s, events);
  for (int seat = 0; seat < 2; ++seat) {
    CHECK(t.hero(seat).gold == 60);
    CHECK(t.hero(seat).xp == 0);  // the dead learn nothing
    CHECK(!t.hero(seat).alive());
  }
}

TEST_CASE("moba: levels come with experience, and bring hit points and mana") {
  Table t(1);
  rts::Hero& h = t.hero(0);
  const int hp = t.s.world.hp[h.slot];
  const int mana = h.mana;
  rts::give_xp(t.rules, t.s, 0, 59);
  CHECK(h.level == 1);
  rts::give_xp(t.rules, t.s, 0, 1 + 90 + 5);  // 60 to the second, 90 to the third
  CHECK(h.level == 3);
  CHECK(h.xp == 5);
  CHECK(t.s.world.hp[h.slot] == hp + 2 * 24);
  CHECK(h.mana == mana + 2 * 12);
  rts::give_xp(t.rules, t.s, 0, 100000);
  CHECK(h.level == rts::kMaxLevel);
  CHECK(h.xp == 0);
}

TEST_CASE("moba: a death costs time by level, in which only noop is legal") {
  Table t(1);
  t.hero(0).level = 3;
  t.put(0, 19.0F, 13.0F);  // under the enemy's tower
  t.s.world.hp[t.hero(0).slot] = 1;
  int waited = 0;
  while (t.hero(0).alive() && waited++ < 60) t.wait(1);
  REQUIRE(!t.hero(0).alive());
  const int back = t.hero(0).back_at;
  CHECK(back == static_cast<int>(t.s.world.tick) + 100 + 2 * 40);
  CHECK((G::to_act(t.rules, t.s) & 1U) != 0);
  const std::vector<std::uint8_t> m = t.mask(0);
  CHECK(m[0] == 1);
  CHECK(std::count(m.begin(), m.end(), 1) == 1);
  t.act(0, rts::kKeep);
  t.wait(back - static_cast<int>(t.s.world.tick));
  CHECK(!t.hero(0).alive());
  t.wait(1);
  REQUIRE(t.hero(0).alive());
  CHECK(t.s.world.hp[t.hero(0).slot] == 320 + 2 * 24);
  CHECK(rts::at_fountain(t.rules, t.s, 0));
}

TEST_CASE("moba: the fountain heals and turns gold into tiers") {
  Table t(1, "regen.every=10\n");
  rts::Hero& h = t.hero(0);
  h.gold = 250 + 400 + 10;
  t.s.world.hp[h.slot] = 100;
  t.wait(1);
  CHECK(h.tier == 2);
  CHECK(h.gold == 10);
  CHECK(h.worth() == 660);
  CHECK(t.rules.engine.type[t.s.world.type[h.slot]].attack == 15 + 2 * 9);
  CHECK(t.s.world.hp[h.slot] >= 100 + 60);
  t.wait(10);
  CHECK(t.s.world.hp[h.slot] >= 100 + 60 + 26);
  t.put(0, 15.0F, 15.0F);
  h.gold = 5000;
  t.wait(1);
  CHECK(h.tier == 2);  // too far away
}

TEST_CASE("moba: strike hurts one enemy, costs mana and rests") {
  Table t(1);
  t.put(0, 15.0F, 15.0F);
  const int creep = t.add(1, rts::kMeleeCreep, 18.0F, 15.0F);
  const int hp = t.s.world.hp[creep];
  t.act(0, rts::kCastFirst, t.row_of(0, creep));
  t.wait(1);
  CHECK(t.s.world.hp[creep] == hp - 60);
  CHECK(t.hero(0).mana == 80 - 30);
  CHECK(t.mask(0)[rts::kCastFirst] == 0);
  t.wait(118);
  CHECK(!rts::can_cast(t.rules, t.s, t.hero(0), 0));
  t.wait(1);
  CHECK(rts::can_cast(t.rules, t.s, t.hero(0), 0));
  CHECK_THROWS_AS(t.act(0, rts::kCastFirst, t.row_of(0, t.first(0, rts::kAncient))), GameError);
}

TEST_CASE("moba: slow takes its part of the speed for its time") {
  Table t(1);
  t.put(0, 15.0F, 15.0F);
  t.put(1, 18.0F, 15.0F);
  const int hp = t.s.world.hp[t.hero(1).slot];
  t.act(0, rts::kCastSecond, t.row_of(0, t.hero(1).slot));
  t.act(1, rts::kGoHome);
  t.wait(1);
  CHECK(t.s.world.hp[t.hero(1).slot] == hp - 20);
  CHECK(t.s.world.speed[t.hero(1).slot] == 0.08F * 50.0F / 100.0F);
  t.wait(39);
  CHECK(t.s.world.speed[t.hero(1).slot] == 0.08F * 50.0F / 100.0F);
  t.wait(1);
  CHECK(t.s.world.speed[t.hero(1).slot] == 0.08F);
}

TEST_CASE("moba: who is stunned stands, and may do nothing") {
  Table t(1, "start.line_up=2\n");  // tanks
  t.put(0, 15.0F, 15.0F);
  t.put(1, 16.5F, 15.0F);
  t.act(1, rts::kGoHome);
  t.act(0, rts::kCastFirst, t.row_of(0, t.hero(1).slot));
  t.wait(1);
  const float x = t.s.world.x[t.hero(1).slot];
  CHECK(t.mask(1)[rts::kGoHome] == 0);
  CHECK_THROWS_AS(t.act(1, rts::kGoHome), GameError);
  t.wait(24);
  CHECK(t.s.world.x[t.hero(1).slot] == x);
  t.wait(2);
  CHECK(t.s.world.x[t.hero(1).slot] > x);  // it keeps to its order
}

TEST_CASE("moba: dash is a jump to a free place in reach") {
  Table t(1, "start.line_up=2\n");
  t.put(0, 15.0F, 15.0F);
  constexpr int kEast2 = 2, kEast4 = 10, kEast8 = 18;
  const std::vector<std::uint8_t> m = t.mask(0);
  const std::size_t places =
      rts::kHeroOrders + rts::kHeroOrders * rts::kMobaRows + rts::kCastSecond * rts::kPlaces;
  CHECK(m[places + kEast2] == 1);
  CHECK(m[places + kEast4] == 1);
  CHECK(m[places + kEast8] == 0);
  CHECK_THROWS_AS(t.act(0, rts::kCastSecond, 0, kEast8), GameError);
  t.act(0, rts::kCastSecond, 0, kEast4);
  t.wait(1);
  CHECK(t.s.world.x[t.hero(0).slot] == 19.0F);
}

TEST_CASE("moba: heal mends an ally, up to its hit points, and pays the healer nothing") {
  Table t(3, "reward.mana=0\n");
  t.put(2, 15.0F, 15.0F);
  t.put(0, 16.0F, 15.0F);
  CHECK(t.mask(2)[rts::kCastFirst] == 0);  // no one is hurt
  t.s.world.hp[t.hero(0).slot] = 300;
  t.act(2, rts::kCastFirst, t.row_of(2, t.hero(0).slot));
  t.wait(1);
  CHECK(t.s.world.hp[t.hero(0).slot] == 320);
  std::array<float, 6> paid{};
  G::rewards(t.rules, t.s, paid);
  CHECK(paid[0] > 0.0F);
  CHECK(paid[2] == 0.0F);
}

TEST_CASE("moba: a strike around hits all near but buildings") {
  Table t(3);
  t.put(2, 18.0F, 15.0F);
  const int near = t.add(1, rts::kMeleeCreep, 17.0F, 15.0F);
  const int far = t.add(1, rts::kRangedCreep, 22.0F, 15.0F);
  const int tower = t.first(1, rts::kLaneTower);
  t.move(tower, 19.0F, 16.0F);
  const int hp = t.s.world.hp[tower];
  t.act(2, rts::kCastSecond);
  t.wait(1);
  CHECK(t.s.world.hp[near] == 110 - 40);
  CHECK(t.s.world.hp[far] == 70);
  CHECK(t.s.world.hp[tower] == hp);
}

TEST_CASE("moba: towers aim at creeps, then at heroes, and first at who hits a hero") {
  Table t(1, "tower.attack=1\n");
  int tower = rts::kNone;  // the outer one of team 1, at column 19
  rts::for_units(t.rules.engine, t.s.world, 1, [&](int i) {
    if (t.s.world.type[i] == rts::kLaneTower) tower = i;
  });
  const auto target = [&] { return t.s.world.target[tower]; };
  t.put(0, 17.0F, 13.0F);
  t.wait(6);
  CHECK(target() == t.hero(0).slot);
  const int creep = t.add(0, rts::kMeleeCreep, 18.0F, 16.0F);
  t.wait(6);
  CHECK(target() == t.hero(0).slot);  // it keeps to its target
  t.put(0, 4.0F, 13.0F);
  t.wait(6);
  CHECK(target() == creep);
  t.put(0, 17.0F, 13.0F);
  t.wait(6);
  CHECK(target() == creep);
  t.put(1, 18.0F, 12.0F);
  t.wound(0, 1);
  t.wait(6);
  CHECK(target() == t.hero(0).slot);
}

TEST_CASE("moba: a team shares its sight, and the other one is hidden in fog") {
  Table t(3);
  t.put(3, 18.0F, 15.0F);
  CHECK(t.row_of(0, t.hero(3).slot) < 0);
  CHECK(t.mask(0)[rts::kAttackAt] == 0);
  t.put(2, 12.0F, 15.0F);  // the support sees seven cells
  CHECK(t.row_of(0, t.hero(3).slot) >= 0);
  CHECK(t.mask(0)[rts::kAttackAt] == 1);
  t.act(0, rts::kAttackAt, t.row_of(0, t.hero(3).slot));
  t.wait(5);
  CHECK(t.hero(0).goal == rts::Goal::attack);
  t.put(3, 30.0F, 15.0F);
  t.wait(5);
  CHECK(t.hero(0).goal == rts::Goal::none);  // out of sight
}

TEST_CASE("moba: a team sees what the engine's maps of cells say") {
  const G::Rules rules = G::make_rules({});
  int seen = 0;
  int hidden = 0;
  play<G>(rules, {std::vector<int>(6, kSimple), 10, 12000}, [&](const G::State& s) {
    for (int team = 0; team < rts::kTeams; ++team) {
      const rts::Sight sight = rts::sight_of(rules.engine, s.world, team);
      const std::uint64_t known = rts::visible_units(rules.engine, s.world, sight);
      REQUIRE(rts::seen_by(rules, s.world, team) == known);
      rts::for_units(rules.engine, s.world, 1 - team, [&](int i) {
        const bool in_sight = (known >> i & 1) != 0;
        REQUIRE(rts::sees(rules, s.world, team, i) == in_sight);
        ++(in_sight ? seen : hidden);
      });
    }
  });
  CHECK(seen > 1000);
  CHECK(hidden > 1000);
}

TEST_CASE("moba: late, buildings lose hit points but the last, and creeps pass by") {
  Table t(1, "late.tick=30\nlate.every=1\nlate.loss=100\nlate.rush=0\ntower.attack=0\n");
  t.wait(30);
  CHECK(t.s.world.hp[t.first(0, rts::kAncient)] == 1);
  CHECK(t.s.world.hp[t.first(1, rts::kLaneTower)] == 1);
  CHECK(!t.s.world.over);
  const int own = t.add(0, rts::kMeleeCreep, 15.0F, 14.0F);
  const int other = t.add(1, rts::kMeleeCreep, 16.0F, 16.5F);
  t.wait(30);
  CHECK(t.s.world.hp[own] == 110);
  CHECK(t.s.world.x[own] > t.s.world.x[other]);
}

TEST_CASE("moba: rewards before the end decay with time") {
  const G::Rules rules = G::make_rules({});
  CHECK(rules.decayed(0) == 1.0F);
  CHECK(rules.decayed(3000) == doctest::Approx(0.8));
  CHECK(rules.decayed(6000) == doctest::Approx(0.6));
  CHECK(rules.decayed(12000) == doctest::Approx(0.36));
}

TEST_CASE("moba: level, gold and line-up may be drawn, alike for both teams") {
  const G::Rules rules =
      G::make_rules(Params{{"randomise", "start.level=2,4\nstart.gold=0,99\nstart.line_up=0,5"}});
  std::array<int, 16> levels{}, first{};
  for (std::uint64_t match = 0; match < 60; ++match) {
    G::State s{};
    G::reset(rules, s, {.seed = 1, .match = match});
    ++levels[s.hero[0].level];
    ++first[s.hero[0].hero_class];
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(s.hero[k].level == s.hero[k + 3].level);
      CHECK(s.hero[k].gold == s.hero[k + 3].gold);
      CHECK(s.hero[k].hero_class == s.hero[k + 3].hero_class);
    }
  }
  CHECK(levels[2] + levels[3] + levels[4] == 60);
  CHECK(std::min({levels[2], levels[3], levels[4]}) > 5);
  CHECK(std::min({first[0], first[1], first[2]}) > 5);
}

TEST_CASE("moba: a wrong rulebook is refused with every fault") {
  const auto message = [](const char* name, const char* text) -> std::string {
    try {
      (void)G::make_rules(Params{{name, text}});
    } catch (const ParamError& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(message("rulebook", "gold.crep=3\ntower.hp=0\nhero.tank.ability_1.kind=stunn") ==
        "moba.rulebook line 1: unknown key 'gold.crep' (did you mean gold.creep?)\n"
        "moba.rulebook line 2: tower.hp = '0': expected an integer in [1, 20000]\n"
        "moba.rulebook line 3: hero.tank.ability_1.kind = 'stunn': expected one of strike, around, "
        "heal, stun, slow, dash (did you mean stun?)");
  CHECK(message("rulebook", "tiers.costs=1,2") ==
        "moba.rulebook line 1: tiers.costs = '1,2': expected three integers in [1, 100000]");
  CHECK(
      message("randomise", "start.levle=1,2\nstart.gold=5,1") ==
      "moba.randomise line 1: unknown key 'start.levle' (did you mean start.level?)\n"
      "moba.randomise line 2: start.gold = '5,1': expected two integers low,high with low <= high, "
      "in [0, 10000]");
  CHECK(message("heroes", "4").find("heroes") != std::string::npos);
}

TEST_CASE("moba: its rules print as they are read") {
  const G::Rules rules = G::make_rules(Params{{"rulebook", "gold.creep=33\ntiers.costs=1,2,3"}});
  const std::string text = rts::print_moba_rules(rules);
  CHECK(text.find("gold.creep=33\n") != std::string::npos);
  CHECK(rts::print_moba_rules(G::make_rules(Params{{"rulebook", text}})) == text);
}

TEST_CASE("moba: playing allocates nothing") {
  check_playing_allocates_nothing<G>({std::vector<int>(6, kSimple), 10, 4000});
}

TEST_CASE("moba: a copy of what is in use is the match") {
  check_copies<G>({std::vector<int>(6, kRandom), 10, 5000});
  check_copies<G>({std::vector<int>(2, kSimple), 10, 5000}, Params{{"heroes", "1"}});
}

TEST_CASE(
    "moba: however heroes play, no path is searched and who attacks has its target in reach") {
  const G::Rules rules = G::make_rules(Params{{"heroes", "3"}});
  for (const int bot : {kSimple, kRandom}) {
    play<G>(rules, {std::vector<int>(6, bot), 10, 6000}, [&](const G::State& s) {
      REQUIRE(s.world.heuristic_size == 0);
      REQUIRE(s.world.waypoint_count == 0);
      REQUIRE(s.world.counters == 0);
    });
  }
}

// Lines of the rules with some values changed, to what a user may write and to what none should.
std::string mutated(const std::string& text, Rng& rng) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  constexpr std::array<const char*, 12> kValues = {"0",    "1",     "2",   "7",  "40",  "300",
                                                   "1000", "60000", "0.5", "-3", "nan", "heal"};
  for (int k = 0; k < 8; ++k) {
    std::string& line = lines[rng.below(static_cast<std::uint32_t>(lines.size()))];
    line = line.substr(0, line.find('=') + 1) + kValues[rng.below(kValues.size())];
  }
  std::string out;
  for (const std::string& line : lines) out += line + '\n';
  return out;
}

TEST_CASE("moba: any rulebook is refused with its key or played") {
  const std::string good = rts::print_moba_rules(G::make_rules({}));
  Rng rng({5, 0}, 1);
  int refused = 0, played = 0;
  for (int n = 0; n < 400; ++n) {
    std::string text = mutated(good, rng);
    const std::string heroes = std::to_string(1 + rng.below(3));
    std::string message = "again";
    G::Rules rules;
    while (!message.empty()) {  // what is refused is taken back, line by line
      message.clear();
      try {
        rules = G::make_rules(Params{{"rulebook", text}, {"heroes", heroes}});
      } catch (const ParamError& e) {
        message = e.what();
        REQUIRE(message.starts_with("moba.rulebook line "));
        ++refused;
        const int number = std::stoi(message.substr(19));
        std::size_t at = 0;
        for (int k = 1; k < number; ++k) at = text.find('\n', at) + 1;
        text.insert(at, "#");
      }
    }
    G::State s{};
    G::reset(rules, s, {.seed = 9, .match = static_cast<std::uint64_t>(n)});
    const GameSpec spec = G::spec(rules);
    std::array<float, 6> paid{};
    while (!G::status(rules, s).over && G::tick(s) < 500) {
      if (G::tick(s) % 10 == 0) {
        for (int seat = 0; seat < spec.seats; ++seat) {
          G::bot(rules, s, seat, static_cast<int>(rng.below(3)));
        }
        if (G::tick(s) % 50 == 0) (void)shown<G>(rules, spec, s);
      }
      G::advance(rules, s);
      G::rewards(rules, s, paid);
      REQUIRE(std::ranges::all_of(paid, [](float v) { return std::isfinite(v); }));
    }
    (void)G::view(rules, s);
    ++played;
  }
  CHECK(refused > 100);
  CHECK(played == 400);
}

}  // namespace

}  // namespace ludus
