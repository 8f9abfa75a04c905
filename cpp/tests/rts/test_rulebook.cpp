// Rulebooks: MiniRTS as one plays as MiniRTS, what is refused and how, attack tables, ends, waves,
// rewards, random rules.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "game/conformance.hpp"
#include "games/rts/engine/hash.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/rulebook/orders.hpp"
#include "games/rts/rulebook/rts.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/playing.hpp"

namespace ludus {
namespace {

using R = Rts;

R::Rules rules_of(const std::string& book, const std::string& randomise = "") {
  return R::make_rules(Params({{"rulebook", book}, {"randomise", randomise}}));
}

std::string refusal(const std::string& book, const std::string& randomise = "") {
  try {
    (void)rules_of(book, randomise);
  } catch (const ParamError& e) {
    return e.what();
  }
  return "";
}

// Plays a match of two bots and returns its last state.
R::State play(const R::Rules& rules, int bot0, int bot1, std::uint64_t match, unsigned limit) {
  R::State s{};
  R::reset(rules, s, {.seed = 5, .match = match});
  while (!R::status(rules, s).over && R::tick(s) < limit) {
    if (R::tick(s) % 50 == 0) {
      R::bot(rules, s, 0, bot0);
      R::bot(rules, s, 1, bot1);
    }
    R::advance(rules, s);
  }
  return s;
}

int type_of(const R::Rules& rules, const std::string& name) {
  const auto it = std::ranges::find(rules.book.names, name);
  REQUIRE(it != rules.book.names.end());
  return static_cast<int>(it - rules.book.names.begin());
}

// A world with nothing in it, to put units into.
R::State empty_world(const R::Rules& rules) {
  R::State s{};
  R::reset(rules, s, {.seed = 1, .match = 0});
  rts::clear_state(s.numbers.engine, s.world);
  return s;
}

TEST_CASE("rulebook: classic plays as minirts, tick for tick") {
  const R::Rules book = rules_of("classic");
  const MiniRts::Rules mini = MiniRts::make_rules({});
  REQUIRE(book.book.bots.size() == 2);
  unsigned ticks = 0;
  for (std::uint64_t match = 0; match < 8; ++match) {
    R::State a{};
    MiniRts::State b{};
    const MatchSeed seed{.seed = 9, .match = match};
    R::reset(book, a, seed);
    MiniRts::reset(mini, b, seed);
    const int first = static_cast<int>(match % 2);
    const int second = static_cast<int>(match / 2 % 2);
    while (!MiniRts::status(mini, b).over && R::tick(a) < 6000) {
      if (R::tick(a) % 50 == 0) {
        R::bot(book, a, 0, first);
        MiniRts::bot(mini, b, 0, first);
        R::bot(book, a, 1, second);
        MiniRts::bot(mini, b, 1, second);
      }
      R::advance(book, a);
      MiniRts::advance(mini, b);
      ++ticks;
      Hash64 ha;
      Hash64 hb;
      rts::hash_world(a.numbers.engine, a.world, ha);
      rts::hash_world(mini.engine, b.world, hb);
      REQUIRE(ha.value() == hb.value());
    }
    CHECK(R::status(book, a).over == MiniRts::status(mini, b).over);
  }
  CHECK(ticks > 20000);
}

TEST_CASE("rulebook: the built-in ones keep the contract") {
  for (const std::string& name : rts::builtin_books()) {
    Conformance<R> c(Params({{"rulebook", name}}), 3, 1500);
    const Findings f = c.run(3);
    INFO(f.json());
    CHECK(f.clean());
    const R::Rules rules = rules_of(name);
    CHECK(R::spec(rules).max_ticks == static_cast<int>(rules.book.engine().tick_limit) + 1);
  }
}

TEST_CASE("rulebook: every bot of the extended game wins some matches and builds its units") {
  const R::Rules rules = rules_of("extended");
  const int bots = static_cast<int>(rules.book.bots.size());
  CHECK(rules.book.types() == 14);
  std::vector<int> won(static_cast<std::size_t>(bots), 0);
  int decided = 0;
  int matches = 0;
  for (int a = 0; a < bots; ++a) {
    for (int b = 0; b < bots; ++b) {
      const R::State s = play(rules, a, b, static_cast<std::uint64_t>(a * 8 + b), 30000);
      REQUIRE(s.world.over);
      ++matches;
      if (s.world.winner >= 0) ++decided;
      if (s.world.winner == 0) ++won[static_cast<std::size_t>(a)];
      if (s.world.winner == 1) ++won[static_cast<std::size_t>(b)];
    }
  }
  CHECK(decided > matches * 3 / 4);
  for (int b = 0; b < bots; ++b) {
    INFO(rules.book.bots[static_cast<std::size_t>(b)].name);
    CHECK(won[static_cast<std::size_t>(b)] > 0);
  }
}

TEST_CASE("rulebook: what is printed reads back the same") {
  for (const std::string& name : rts::builtin_books()) {
    const rts::Book book = rts::read_book(name, "");
    const std::string text = rts::print_book(book);
    const rts::Book again = rts::read_book(text, "");
    CHECK(rts::print_book(again) == text);
    CHECK(again.names == book.names);
  }
}

TEST_CASE("rulebook: mistakes are named, with what was expected and the nearest") {
  const auto says = [](const std::string& text, std::initializer_list<const char*> parts) {
    const std::string what = refusal(text);
    for (const char* part : parts) {
      INFO(what);
      CHECK(what.find(part) != std::string::npos);
    }
  };
  says("extnded", {"no such rulebook", "did you mean extended?"});
  says("extends=extended\nunits.archer.hpp=5",
       {"'units.archer.hpp'", "did you mean units.archer.hp?"});
  says("extends=extended\nunits.archer.hp=0", {"units.archer.hp = '0'", "[1, 30000]"});
  says("extends=extended\nunits.archer.hp=12.5", {"an integer in [1, 30000]"});
  says("extends=extended\nunits.peasant.builds=barack",
       {"units.peasant.builds = 'barack'", "did you mean barrack?"});
  says("extends=extended\nwin.at_limit=stronge", {"one of draw", "did you mean stronger?"});
  says("extends=extended\nattack.archer.dragon=11", {"attack.archer.dragon", "[0, 10]"});
  says("extends=extended\nbots.rush.trains=resource", {"no type builds resource"});
  says("extends=extended\nroles.resource=town_hall", {"expected another type than roles.base"});
  says("extends=extended\nunits.archer.builds=dragon", {"units.archer.accepts", "expected build"});
  says("extends=extended\nmap.terrain=..,..", {"map.terrain", "20 rows of 20 letters"});
  says("extends=extended\nunits.Archer.hp=1", {"small letters"});
  says(
      "extends=extended\nmap.side=10\nmap.terrain=..........,..........,..........,..........,"
      "..........,..........,..........,..........,..........,..........",
      {"each of the letters 0 1 a b once"});
  says("units.a.hp=1", {"at least two types"});
  says("a line\n", {"line 1", "expected key=value"});
  // All mistakes together, one a line.
  const std::string all = refusal("extends=extended\nunits.archer.hp=0\nmap.side=99\nfoo.bar=1");
  CHECK(std::ranges::count(all, '\n') == 2);
  CHECK(refusal("extends=extended\nunits.archer.hp=140").empty());
  // Random rules.
  CHECK(refusal("extended", "units.archer.hp=100,200").empty());
  CHECK(refusal("extended", "units.archer.hp=200,100").find("low <= high") != std::string::npos);
  CHECK(refusal("extended", "units.archer.hp=0,100").find("[1, 30000]") != std::string::npos);
  CHECK(refusal("extended", "units.archer.hq=1,2").find("did you mean") != std::string::npos);
  CHECK(refusal("extended", "map.side=10,20").find("not a number that may vary") !=
        std::string::npos);
}

TEST_CASE("rulebook: an attack table decides legal targets and damage") {
  const R::Rules rules = rules_of("extended");
  R::State s = empty_world(rules);
  const rts::EngineRules& e = s.numbers.engine;
  const int sword = type_of(rules, "swordman");
  const int cavalry = type_of(rules, "cavalry");
  const int dragon = type_of(rules, "dragon");
  const int archer = type_of(rules, "archer");
  CHECK(e.damage(sword, cavalry) == 10);  // 7 * 1.5
  CHECK(e.damage(archer, dragon) == 200);
  const int a = rts::add_unit(e, s.world, 0, sword, 5, 5, 0);
  const int b = rts::add_unit(e, s.world, 1, dragon, 6, 5, 0);
  const int c = rts::add_unit(e, s.world, 1, cavalry, 5, 6, 0);
  for (int seat = 0; seat < 2; ++seat) {  // without a base the match would be over
    (void)rts::add_unit(e, s.world, seat, e.base_type, 18, static_cast<float>(1 + seat * 17), 0);
  }
  CHECK_FALSE(rts::offer_order(e, s.world, a, rts::attack_order(b)));
  CHECK(rts::offer_order(e, s.world, a, rts::attack_order(c)));
  CHECK(rts::offer_order(e, s.world, b, rts::attack_order(a)));
  // The dragon hurts the swordman, who cannot strike back while it is idle otherwise.
  rts::finish_command(s.world, a);
  for (int i = 0; i < 60; ++i) R::advance(rules, s);
  CHECK(s.world.hp[a] < 100);
  CHECK(s.world.hp[b] == 100);
}

TEST_CASE("rulebook: ends by money and at the limit") {
  const R::Rules money = rules_of("extends=extended\nwin.money=300\n");
  const R::State rich = play(money, 0, static_cast<int>(money.book.bots.size()) + 1, 1, 5000);
  CHECK(rich.world.over);
  const int noop = static_cast<int>(money.book.bots.size()) + 1;
  for (const auto& [rule, winner] :
       std::map<std::string, int>{{"draw", -1}, {"seat_0", 0}, {"seat_1", 1}, {"richer", -1}}) {
    const R::Rules r = rules_of("extends=extended\nmatch.tick_limit=40\nwin.at_limit=" + rule);
    const R::State s = play(r, noop, noop, 1, 100);
    INFO(rule);
    CHECK(s.world.over);
    CHECK(s.world.winner == winner);
  }
}

TEST_CASE("rulebook: waves come when they are due, grow, and attack") {
  const R::Rules rules = rules_of(
      "extends=extended\nstart.extra_units=none\nwaves.raid.seat=1\nwaves.raid.type=dragon\n"
      "waves.raid.first=100\nwaves.raid.every=200\nwaves.raid.count=2\nwaves.raid.grow=1\n"
      "waves.raid.x=10\nwaves.raid.y=10\n");
  R::State s{};
  R::reset(rules, s, {.seed = 2, .match = 0});
  const int before = s.world.units[1];
  while (R::tick(s) < 101) R::advance(rules, s);
  CHECK(s.world.units[1] == before + 2);
  const int first = s.numbers.engine.first_slot[1] + before;
  CHECK(s.world.cmd[static_cast<std::size_t>(first)] == rts::Cmd::attack);
  while (R::tick(s) < 301) R::advance(rules, s);
  CHECK(s.world.units[1] == before + 5);
}

// A map with a wall across, open in one place only.
const char* const kWalled =
    "extends=extended\nmap.side=12\nmap.terrain=............,.0a.........,............,............"
    ","
    "............,xxxxxxxxxxx.,............,............,............,............,.........b1.,"
    "............\n";

TEST_CASE("rulebook: walls stop who walks and who builds") {
  const R::Rules rules = rules_of(kWalled);
  R::State s{};
  R::reset(rules, s, {.seed = 1, .match = 0});
  const rts::EngineRules& e = s.numbers.engine;
  CHECK(e.terrain);
  CHECK(s.world.type[0] == e.base_type);
  CHECK(s.world.x[0] == 1.0F);
  CHECK(s.world.y[0] == 1.0F);
  const int spear = rts::add_unit(e, s.world, 0, type_of(rules, "spearman"), 2, 3, 0);
  REQUIRE(spear > 0);
  CHECK(rts::add_unit(e, s.world, 0, type_of(rules, "spearman"), 5, 5, 0) < 0);
  CHECK(rts::offer_order(e, s.world, spear, rts::move_order(2, 8)));
  float east = 0.0F;
  for (int i = 0; i < 1500; ++i) {
    R::advance(rules, s);
    east = std::max(east, s.world.x[spear]);
    const int cx = rts::cell_coord(s.world.x[spear]);
    const int cy = rts::cell_coord(s.world.y[spear]);
    REQUIRE_FALSE(rts::walled(s.world, cx, cy));
  }
  CHECK(std::abs(s.world.y[spear] - 8.0F) < 0.1F);  // it went round, through the gap
  CHECK(east > 10.4F);
  Conformance<R> c(Params({{"rulebook", kWalled}, {"pixels", "2"}}), 3, 1500);
  const Findings f = c.run(3);
  INFO(f.json());
  CHECK(f.clean());
  const GameSpec spec = R::spec(rules);
  CHECK(spec.observation.back().name == "terrain");
  CHECK(R::view(rules, s).find("\"terrain\":[\"............\"") != std::string::npos);
}

TEST_CASE("rulebook: rewards of the end and on the way") {
  const R::Rules rules = rules_of(
      "extends=extended\nreward.win=2\nreward.loss=-3\nreward.kill=1\nreward.lost=-0.5\n"
      "reward.income=0.25\nreward.tick=-0.001\n");
  R::State s{};
  R::reset(rules, s, {.seed = 4, .match = 3});
  std::array<float, 2> out{};
  float income = 0.0F;
  int deaths = 0;
  while (!s.world.over) {
    if (R::tick(s) % 50 == 0) {
      R::bot(rules, s, 0, 0);
      R::bot(rules, s, 1, 4);
    }
    const auto units = s.world.units;
    const auto next = s.world.next_id;
    R::advance(rules, s);
    R::rewards(rules, s, out);
    if (s.world.over) break;
    const int born = s.world.next_id - next;
    const int died = units[0] + units[1] + born - s.world.units[0] - s.world.units[1];
    deaths += died;
    if (died == 0) income = std::max(income, out[0]);
    if (died == 0 && born == 0) CHECK(out[0] + out[1] >= -0.0021F);
  }
  CHECK(deaths > 3);
  CHECK(income > 0.01F);
  REQUIRE(s.world.winner >= 0);
  const auto winner = static_cast<std::size_t>(s.world.winner);
  CHECK(out[winner] > 1.9F);
  CHECK(out[1 - winner] < -2.9F);
}

TEST_CASE("rulebook: random rules differ between matches, never within a match's copies") {
  const R::Rules rules = rules_of("extended",
                                  "units.archer.hp=100,200\nunits.dragon.speed=0.1,0.3\n"
                                  "attack.archer.dragon=1,3\nstart.money=200,900\n");
  std::set<int> hp;
  std::set<float> speed;
  std::set<int> factor;
  const auto archer = static_cast<std::size_t>(type_of(rules, "archer"));
  const auto dragon = static_cast<std::size_t>(type_of(rules, "dragon"));
  for (std::uint64_t m = 0; m < 200; ++m) {
    R::State a{};
    R::State b{};
    R::reset(rules, a, {.seed = 7, .match = m});
    R::reset(rules, b, {.seed = 7, .match = m});
    CHECK(R::hash(rules, a) == R::hash(rules, b));
    const rts::EngineRules& e = a.numbers.engine;
    CHECK(e.type[archer].hp >= 100);
    CHECK(e.type[archer].hp <= 200);
    CHECK(e.type[dragon].speed >= 0.1F);
    CHECK(e.type[dragon].speed <= 0.3F);
    CHECK(a.world.money[0] == a.numbers.start_positions.money);
    hp.insert(e.type[archer].hp);
    speed.insert(e.type[dragon].speed);
    factor.insert(e.attacks.percent[archer][dragon]);
  }
  CHECK(hp.size() > 60);
  CHECK(*hp.begin() < 105);
  CHECK(*hp.rbegin() > 195);
  CHECK(speed.size() > 190);
  CHECK(factor.size() > 80);
  Conformance<R> c(Params({{"randomise", "units.peasant.hp=10,90\nunits.swordman.attack=5,20"}}), 8,
                   800);
  CHECK(c.run(3).clean());
}

TEST_CASE("rulebook: a copy of what is in use is the match") {
  // With the original's quirks, with the learned heuristic; and with numbers of each match.
  tests::check_copies<R>({{0, 0}, 10, 30000}, Params({{"rulebook", "classic"}}));
  tests::check_copies<R>({{0, 1}, 10, 30000},
                         Params({{"randomise", "units.archer.hp=100,200\nstart.money=200,900"}}));
}

TEST_CASE("rulebook: nothing is allocated while a match is played") {
  const R::Rules rules = rules_of("extended", "units.archer.hp=100,200");
  const GameSpec spec = R::spec(rules);
  std::vector<std::vector<std::byte>> rows;
  std::vector<std::byte*> tensors;
  for (const TensorSpec& t : spec.observation) rows.emplace_back(t.bytes());
  for (auto& r : rows) tensors.push_back(r.data());
  std::vector<std::uint8_t> mask(spec.mask_bytes());
  R::State s{};
  const std::uint64_t before = thread_allocations();
  R::reset(rules, s, {.seed = 3, .match = 1});
  for (int i = 0; i < 2000 && !s.world.over; ++i) {
    if (i % 50 == 0) {
      R::bot(rules, s, 0, 0);
      R::bot(rules, s, 1, 3);
      R::observe(rules, s, 0, tensors);
      R::legal(rules, s, 1, mask.data());
    }
    R::advance(rules, s);
  }
  CHECK(thread_allocations() == before);
}

}  // namespace
}  // namespace ludus
