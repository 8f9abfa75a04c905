// Rules of the engine that games show only in pinned hashes: what units see, who strikes back
// first, and that only its owner learns of a hit.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/capture_the_flag/observe.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/learned_heuristic.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/minirts/observe.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/playing.hpp"

namespace ludus {
using namespace tests;

namespace {

// The value that seat `seat` sees in column `label` of row `row` of the tensor "units": own units
// first.
template <Game G>
int shown_of(const typename G::Rules& rules, const typename G::State& s, int seat, int row,
             const std::string& label) {
  const GameSpec spec = G::spec(rules);
  std::vector<std::vector<std::byte>> tensors;
  std::vector<std::byte*> out;
  for (const TensorSpec& t : spec.observation) tensors.emplace_back(t.bytes());
  for (std::vector<std::byte>& t : tensors) out.push_back(t.data());
  G::observe(rules, s, seat, out);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& t = spec.observation[i];
    if (t.name != "units") continue;
    const auto column = std::ranges::find(t.labels, label) - t.labels.begin();
    REQUIRE(column < static_cast<std::ptrdiff_t>(t.labels.size()));
    const auto at = static_cast<std::size_t>(row) * t.labels.size();
    return std::to_integer<int>(tensors[i][at + static_cast<std::size_t>(column)]);
  }
  FAIL("no units");
  return 0;
}

// A map without units.
rts::State empty_world(const rts::EngineRules& engine) {
  rts::State s{};
  rts::clear_state(engine, s);
  return s;
}

int add(const rts::EngineRules& engine, rts::State& s, int owner, int type, float x, float y) {
  const int slot = rts::add_unit(engine, s, owner, type, x, y, 0);
  REQUIRE(slot >= 0);
  return slot;
}

TEST_CASE("rts: a unit sees the cells that are at most its vision away, across plus down") {
  for (const int vision : {0, 1, 4, 15, 16, 25}) {
    CAPTURE(vision);
    MiniRts::Rules rules = MiniRts::make_rules({});
    rules.engine.type[rts::kWorker].vision = vision;
    for (const auto& [x, y] : {std::pair{9.0F, 9.0F}, {0.0F, 0.0F}, {19.0F, 3.0F}, {7.4F, 12.6F}}) {
      rts::State s = empty_world(rules.engine);
      add(rules.engine, s, 0, rts::kWorker, x, y);
      add(rules.engine, s, 1, rts::kWorker, 15.0F, 15.0F);  // sees for the other seat
      const int own_x = static_cast<int>(x + 0.5F);
      const int own_y = static_cast<int>(y + 0.5F);
      const rts::Sight sight = rts::sight_of(rules.engine, s, 0);
      for (int cy = 0; cy < 20; ++cy) {
        for (int cx = 0; cx < 20; ++cx) {
          CHECK(sight.cell(cx, cy) == (std::abs(cx - own_x) + std::abs(cy - own_y) <= vision));
        }
      }
    }
  }
}

TEST_CASE("rts: the units of a seat see together, and see the units in the cells that they see") {
  MiniRts::Rules rules = MiniRts::make_rules({});
  rules.engine.type[rts::kWorker].vision = 3;
  rts::State s = empty_world(rules.engine);
  add(rules.engine, s, 0, rts::kWorker, 4.0F, 4.0F);
  add(rules.engine, s, 0, rts::kWorker, 14.0F, 4.0F);
  const int near = add(rules.engine, s, 1, rts::kWorker, 5.0F, 6.0F);    // 1 + 2
  const int corner = add(rules.engine, s, 1, rts::kWorker, 6.0F, 6.0F);  // 2 + 2
  const int other = add(rules.engine, s, 1, rts::kWorker, 16.0F, 5.0F);  // of the second unit
  const std::uint64_t seen = rts::visible_units(rules.engine, s, rts::sight_of(rules.engine, s, 0));
  CHECK((seen >> near & 1) == 1);
  CHECK((seen >> corner & 1) == 0);
  CHECK((seen >> other & 1) == 1);
}

TEST_CASE("rts: that a unit was hit is shown to its owner, and not to the enemy who sees it") {
  const MiniRts::Rules mini = MiniRts::make_rules({});
  MiniRts::State m{};
  MiniRts::reset(mini, m, {});
  m.world = empty_world(mini.engine);
  const int own = add(mini.engine, m.world, 0, rts::kWorker, 9.0F, 9.0F);
  const int enemy = add(mini.engine, m.world, 1, rts::kWorker, 10.0F, 9.0F);
  CHECK(shown_of<MiniRts>(mini, m, 0, 0, "was_hit") == 0);
  m.world.damaged_by[own] = static_cast<std::uint8_t>(enemy);
  m.world.damaged_by[enemy] = static_cast<std::uint8_t>(own);
  for (int seat = 0; seat < 2; ++seat) {
    CHECK(shown_of<MiniRts>(mini, m, seat, 0, "own") == 255);
    CHECK(shown_of<MiniRts>(mini, m, seat, 0, "was_hit") == 255);
    CHECK(shown_of<MiniRts>(mini, m, seat, 1, "enemy") == 255);
    CHECK(shown_of<MiniRts>(mini, m, seat, 1, "was_hit") == 0);
  }

  const CaptureTheFlag::Rules flags = CaptureTheFlag::make_rules({});
  CaptureTheFlag::State f{};
  CaptureTheFlag::reset(flags, f, {});
  f.world = empty_world(flags.engine);
  const int ours = add(flags.engine, f.world, 0, rts::kAthlete, 9.0F, 9.0F);
  const int theirs = add(flags.engine, f.world, 1, rts::kAthlete, 10.0F, 9.0F);
  f.world.damaged_by[ours] = static_cast<std::uint8_t>(theirs);
  f.world.damaged_by[theirs] = static_cast<std::uint8_t>(ours);
  for (int seat = 0; seat < 2; ++seat) {
    CHECK(shown_of<CaptureTheFlag>(flags, f, seat, 0, "was_hit") == 255);
    CHECK(shown_of<CaptureTheFlag>(flags, f, seat, 1, "enemy") == 255);
    CHECK(shown_of<CaptureTheFlag>(flags, f, seat, 1, "was_hit") == 0);
  }
}

// Athletes of both seats far from each other, in Capture the Flag.
struct Athletes {
  CaptureTheFlag::Rules rules = CaptureTheFlag::make_rules({});
  rts::State s = empty_world(rules.engine);
  std::array<int, 5> own{}, enemy{};

  Athletes() {
    for (std::size_t i = 0; i < 5; ++i) {
      const float row = 2.0F + 3.0F * static_cast<float>(i);
      own[i] = add(rules.engine, s, 0, rts::kAthlete, 3.0F, row);
      enemy[i] = add(rules.engine, s, 1, rts::kAthlete, 15.0F, row);
    }
    s.tick = 100;
  }
  void order(std::size_t i) { rts::give_order(s, own[i], rts::attack_order(enemy[4])); }
  void struck(std::size_t i, std::size_t by) {
    s.counter[s.counters++] = {static_cast<std::uint8_t>(own[i]),
                               static_cast<std::uint8_t>(enemy[by])};
  }
  void advance() { rts::advance_tick(rules.engine, s, rts::own_store(s, tables)); }
  [[nodiscard]] std::vector<int> running() const {
    return {s.run_order.begin(), s.run_order.begin() + s.running};
  }
  rts::HeuristicTables tables;
};

TEST_CASE("rts: counter-attacks are dealt in the order of the hits, who was hit again goes last") {
  Athletes a;
  a.struck(2, 0);
  a.struck(0, 1);
  a.struck(1, 2);
  a.struck(2, 3);
  a.advance();
  CHECK(a.running() == std::vector<int>{a.own[0], a.own[1], a.own[2]});
  CHECK(a.s.counters == 0);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(a.s.cmd[a.own[i]] == rts::Cmd::attack);
    CHECK(a.s.start[a.own[i]] == 99);  // the tick of the hit
  }
  CHECK(a.s.target[a.own[0]] == a.enemy[1]);
  CHECK(a.s.target[a.own[1]] == a.enemy[2]);
  CHECK(a.s.target[a.own[2]] == a.enemy[3]);  // its last attacker
}

TEST_CASE("rts: a counter-attack stands behind the orders of its hit's tick, before older ones") {
  Athletes a;
  a.order(3);
  a.advance();
  a.order(4);
  a.advance();
  REQUIRE(a.running() == std::vector<int>{a.own[4], a.own[3]});
  a.struck(0, 0);  // in the tick of the order to athlete 4
  a.struck(1, 1);
  a.order(2);
  a.advance();
  CHECK(a.running() == std::vector<int>{a.own[2], a.own[4], a.own[0], a.own[1], a.own[3]});
}

TEST_CASE("rts: an order given in the tick after the hit replaces the counter-attack") {
  Athletes a;
  a.struck(0, 0);
  a.order(0);
  a.advance();
  CHECK(a.s.target[a.own[0]] == a.enemy[4]);
  CHECK(a.s.start[a.own[0]] == 100);
  CHECK(a.running() == std::vector<int>{a.own[0]});
}

}  // namespace
}  // namespace ludus
