// Pommerman's laws: recorded transitions of the original, and positions worked out by hand from the
// fact specification.
#include <cmath>
#include <fstream>
#include <sstream>

#include "games/pommerman/judge.hpp"
#include "games/pommerman/pommerman.hpp"
#include "games/pommerman/step.hpp"
#include "tests/doctest.hpp"
#include "tests/pommerman/trace.hpp"

namespace ludus::pommerman {
namespace {

// An empty board whose agents stand in their corners.
struct Scene {
  Rules rules;
  State s;

  explicit Scene(int size = 11) : rules(bare_rules(size)) { place_start(rules, s); }

  Bomb& bomb(int row, int column, int owner, int life, int blast, int moving = kStop) {
    Bomb& b = s.bomb[s.bombs++];
    b = {.cell = cell_at(row, column),
         .owner = static_cast<std::uint8_t>(owner),
         .life = static_cast<std::uint8_t>(life),
         .blast = static_cast<std::uint8_t>(blast),
         .moving = static_cast<std::uint8_t>(moving)};
    s.board[b.cell] = kBomb;
    return b;
  }
  void move_agent(int a, int row, int column) {
    Agent& agent = s.agent[static_cast<std::size_t>(a)];
    s.board[agent.cell] = kPassage;
    agent.cell = cell_at(row, column);
    s.board[agent.cell] = static_cast<std::uint8_t>(kAgent0 + a);
  }
  std::uint8_t& at(int row, int column) { return s.board[cell_at(row, column)]; }
  StepEvents step(std::array<std::uint8_t, kAgents> actions = {}) {
    s.chosen = actions;
    StepEvents events;
    step_world(s, 10, events);
    ++s.steps;
    return events;
  }
};

TEST_CASE("pommerman: recorded transitions of the original are reproduced") {
  std::ifstream in(std::string(LUDUS_SOURCE_DIR) + "/tests/golden/pommerman/transitions.txt");
  REQUIRE(in.good());
  const TraceResult r = compare_traces(in);
  for (const std::string& d : r.differences) MESSAGE(d);
  CHECK(r.records == 32);
  CHECK(r.steps > 200);
  CHECK(r.wrong == 0);
}

TEST_CASE("pommerman: a comparison with a wrong record finds it") {
  std::istringstream in(
      "start 4 10\nstate a00d000000000b0c 0,0,1,1,2,0,3,1,1,1,2,0,3,3,1,1,2,0,0,3,1,1,2,0 - - -\n"
      "step 2 0 0 0\nstate a00d000000000b0c 0,0,1,1,2,0,3,1,1,1,2,0,3,3,1,1,2,0,0,3,1,1,2,0 - - "
      "-\n");
  const TraceResult r = compare_traces(in);
  CHECK(r.steps == 1);
  CHECK(r.wrong == 1);
  std::istringstream broken("start 4 10\nstate a00d 1,1 - - -\n");
  CHECK_THROWS_AS((void)compare_traces(broken), std::runtime_error);
}

TEST_CASE("pommerman: a bomb explodes nine steps after it was laid and burns for three") {
  Scene scene;
  scene.step({kLayBomb, 0, 0, 0});
  CHECK(scene.s.bombs == 1);
  CHECK(scene.s.bomb[0].life == 9);
  CHECK(scene.s.agent[0].ammo == 0);
  CHECK(scene.at(1, 1) == kAgent0);  // an agent hides the bomb under it
  scene.step({kDown, 0, 0, 0});
  CHECK(scene.at(1, 1) == kBomb);
  for (int i = 0; i < 7; ++i) scene.step({kDown, 0, 0, 0});
  CHECK(scene.s.bombs == 1);
  scene.step();
  CHECK(scene.s.bombs == 0);
  CHECK(scene.s.agent[0].ammo == 1);
  for (const auto& [r, c] : {std::array{1, 1}, {0, 1}, {2, 1}, {1, 0}, {1, 2}}) {
    CHECK(scene.at(r, c) == kFlames);  // blast 2 reaches one cell
  }
  CHECK(scene.at(1, 3) == kPassage);
  scene.step();
  scene.step();
  CHECK(scene.at(1, 1) == kFlames);
  scene.step();
  CHECK(scene.at(1, 1) == kPassage);
}

TEST_CASE("pommerman: walls stop blasts, wood after it was hit, bombs set each other off") {
  Scene scene;
  scene.at(5, 6) = kRigid;
  scene.at(5, 3) = kWood;
  scene.s.hidden[cell_at(5, 3)] = kKick;
  scene.at(5, 2) = kWood;
  scene.bomb(5, 5, 0, 1, 5);
  scene.bomb(7, 5, 1, 9, 4);  // in reach of the first
  scene.bomb(7, 8, 2, 9, 2);  // in reach of the second
  const StepEvents events = scene.step();
  CHECK(scene.s.bombs == 0);
  CHECK(scene.at(5, 6) == kRigid);
  CHECK(scene.at(5, 7) == kPassage);
  CHECK(scene.at(5, 4) == kFlames);
  CHECK(scene.at(5, 3) == kFlames);
  CHECK(scene.at(5, 2) == kWood);
  CHECK(scene.at(7, 9) == kFlames);
  CHECK(events.wood[0] == 1);
  CHECK(events.wood[1] == 0);
  for (int i = 0; i < 3; ++i) scene.step();
  CHECK(scene.at(5, 3) == kKick);
  CHECK(scene.s.hidden[cell_at(5, 3)] == 0);
}

TEST_CASE("pommerman: a power-up that older flames reveal under younger ones is lost") {
  Scene scene;
  scene.s.flames[0].add(cell_at(5, 5));
  scene.s.flames[2].add(cell_at(5, 5));
  scene.at(5, 5) = kFlames;
  scene.s.hidden[cell_at(5, 5)] = kExtraBomb;
  scene.step();
  CHECK(scene.at(5, 5) == kFlames);
  for (int i = 0; i < 2; ++i) scene.step();
  CHECK(scene.at(5, 5) == kPassage);
}

TEST_CASE("pommerman: flames in their last step let an agent pass and pick up") {
  Scene scene;
  scene.s.flames[0].add(cell_at(1, 2));
  scene.at(1, 2) = kFlames;
  scene.s.hidden[cell_at(1, 2)] = kIncrRange;
  const StepEvents events = scene.step({kRight, 0, 0, 0});
  CHECK(scene.s.agent[0].alive == 1);
  CHECK(scene.s.agent[0].cell == cell_at(1, 2));
  CHECK(scene.s.agent[0].blast == 3);
  CHECK(events.picked_up[0] == 1);
  scene.s.flames[1].add(cell_at(1, 3));
  scene.at(1, 3) = kFlames;
  scene.step({kRight, 0, 0, 0});
  CHECK(scene.s.agent[0].alive == 0);
}

TEST_CASE("pommerman: agents that want the same cell, or each other's, stay") {
  Scene scene;
  scene.move_agent(0, 5, 4);
  scene.move_agent(1, 5, 6);
  scene.step({kRight, kLeft, 0, 0});
  CHECK(scene.s.agent[0].cell == cell_at(5, 4));
  CHECK(scene.s.agent[1].cell == cell_at(5, 6));
  scene.move_agent(1, 5, 5);
  scene.step({kRight, kLeft, 0, 0});
  CHECK(scene.s.agent[0].cell == cell_at(5, 4));
  scene.step({kRight, kRight, 0, 0});  // one follows the other
  CHECK(scene.s.agent[0].cell == cell_at(5, 5));
  CHECK(scene.s.agent[1].cell == cell_at(5, 6));
}

TEST_CASE("pommerman: kicks") {
  Scene scene;
  scene.move_agent(0, 5, 3);
  scene.bomb(5, 4, 1, 9, 2);
  scene.step({kRight, 0, 0, 0});
  CHECK(scene.s.agent[0].cell == cell_at(5, 3));  // it cannot kick
  scene.s.agent[0].can_kick = 1;
  scene.step({kRight, 0, 0, 0});
  CHECK(scene.s.agent[0].cell == cell_at(5, 4));
  CHECK(scene.s.bomb[0].cell == cell_at(5, 5));
  CHECK(scene.s.bomb[0].moving == kRight);
  scene.step();
  CHECK(scene.s.bomb[0].cell == cell_at(5, 6));
  scene.at(5, 7) = kWood;
  scene.step();
  CHECK(scene.s.bomb[0].cell == cell_at(5, 6));
  CHECK(scene.s.bomb[0].moving == kStop);
}

TEST_CASE("pommerman: no agent kicks a bomb onto a power-up") {
  Scene scene;
  scene.move_agent(0, 5, 3);
  scene.bomb(5, 4, 1, 9, 2);
  scene.s.agent[0].can_kick = 1;
  for (const Item item : {kExtraBomb, kIncrRange, kKick}) {
    scene.at(5, 5) = item;
    scene.step({kRight, 0, 0, 0});
    CHECK(scene.s.agent[0].cell == cell_at(5, 3));
    CHECK(scene.s.bomb[0].cell == cell_at(5, 4));
    CHECK(scene.at(5, 5) == item);
  }
}

TEST_CASE("pommerman: no agent walks onto a bomb that another has stopped") {
  Scene scene;
  scene.move_agent(0, 5, 3);
  scene.bomb(5, 4, 2, 9, 2, kRight);  // about to leave the cell that agent 0 wants
  scene.move_agent(1, 5, 5);          // stands in its way
  scene.step({kRight, kStop, 0, 0});
  CHECK(scene.s.agent[0].cell == cell_at(5, 3));
  CHECK(scene.s.agent[1].cell == cell_at(5, 5));
  CHECK(scene.s.bomb[0].cell == cell_at(5, 4));
  CHECK(scene.s.bomb[0].moving == kStop);
  // With the way free both move on.
  Scene free;
  free.move_agent(0, 5, 3);
  free.bomb(5, 4, 2, 9, 2, kRight);
  free.step({kRight, kStop, 0, 0});
  CHECK(free.s.agent[0].cell == cell_at(5, 4));
  CHECK(free.s.bomb[0].cell == cell_at(5, 5));
}

TEST_CASE("pommerman: the ring that collapses is seen one step later") {
  Params p;
  p.set("collapse", "1");
  p.set("collapse_from", "2");
  p.set("max_steps", "10");
  const Rules rules = Pommerman::make_rules(p);
  CHECK(rules.collapse_at == std::array{2, 4, 6, 8});
  State s;
  Pommerman::reset(rules, s, {1, 1});
  s.agent[0].cell = cell_at(0, 1);
  s.board[cell_at(1, 1)] = kPassage;
  s.board[cell_at(0, 1)] = kAgent0;
  s.bomb[s.bombs++] = {.cell = cell_at(0, 5), .owner = 2, .life = 9};
  Pommerman::advance(rules, s);
  Pommerman::advance(rules, s);
  CHECK(s.agent[0].alive == 1);
  CHECK(s.bombs == 1);
  Pommerman::advance(rules, s);
  CHECK(s.agent[0].alive == 0);
  CHECK(s.bombs == 0);
  CHECK(s.agent[2].ammo == 2);
  CHECK(s.reward[0] == -1.0F);
  for (int i = 0; i < 11; ++i) {
    CHECK(s.board[cell_at(0, i)] == kRigid);
    CHECK(s.board[cell_at(i, 10)] == kRigid);
  }
  Pommerman::advance(rules, s);
  Pommerman::advance(rules, s);  // the second ring takes the other three at once
  CHECK(Pommerman::status(rules, s).over);
  CHECK(original_rewards(rules, s) == PerAgent{-1, -1, -1, -1});
  CHECK(results(rules, s) == PerAgent{0, 0, 0, 0});
}

PerAgent paid(const Rules& rules, unsigned alive, int steps) {
  State s;
  for (unsigned a = 0; a < kAgents; ++a) s.agent[a].alive = alive >> a & 1U;
  s.steps = static_cast<std::uint16_t>(steps);
  return original_rewards(rules, s);
}

bool over(const Rules& rules, unsigned alive, int steps) {
  State s;
  for (unsigned a = 0; a < kAgents; ++a) s.agent[a].alive = alive >> a & 1U;
  s.steps = static_cast<std::uint16_t>(steps);
  return match_over(rules, s);
}

TEST_CASE("pommerman: rewards and ends of the original") {
  Rules rules = Pommerman::make_rules({});
  CHECK(paid(rules, 0b0110, 5) == PerAgent{-1, 0, 0, -1});
  CHECK(paid(rules, 0b0100, 5) == PerAgent{-1, -1, 1, -1});
  CHECK(paid(rules, 0, 5) == PerAgent{-1, -1, -1, -1});
  CHECK(paid(rules, 0b0110, 800) == PerAgent{-1, -1, -1, -1});
  CHECK_FALSE(over(rules, 0b0101, 799));
  CHECK(over(rules, 0b0001, 5));
  rules.mode = Mode::team;
  CHECK(paid(rules, 0b0001, 5) == PerAgent{1, -1, 1, -1});
  CHECK(paid(rules, 0b1010, 5) == PerAgent{-1, 1, -1, 1});
  CHECK(paid(rules, 0b1011, 5) == PerAgent{0, 0, 0, 0});
  CHECK(paid(rules, 0b1011, 800) == PerAgent{-1, -1, -1, -1});
  CHECK(over(rules, 0b0101, 5));
  CHECK(over(rules, 0b1000, 5));
  CHECK_FALSE(over(rules, 0b0011, 5));
  rules.mode = Mode::one_vs_one;
  CHECK(paid(rules, 0, 5) == PerAgent{0, 0, 0, 0});  // both died at once
  CHECK(paid(rules, 0b01, 5)[0] == 1.0F);
  CHECK(paid(rules, 0b11, 800)[1] == -1.0F);
}

TEST_CASE("pommerman: kills of others are paid to the living, pickups and wood to who did it") {
  const auto paid_for = [](const char* mode, unsigned before, unsigned alive, StepEvents events) {
    const Rules rules = make_rules(Params{{"mode", mode},
                                          {"reward_kill", "0.5"},
                                          {"reward_pickup", "0.25"},
                                          {"reward_wood", "0.125"}});
    State s;
    place_start(rules, s);
    for (unsigned a = 0; a < kAgents; ++a) s.agent[a].alive = alive >> a & 1U;
    return step_rewards(rules, s, before, events);
  };
  // Agents 0 and 2 are a team. Agent 2 dies: the other team is paid, its mate is not.
  CHECK(paid_for("team", 0b1111, 0b1011, {}) == PerAgent{0, 0.5F, 0, 0.5F});
  CHECK(paid_for("team", 0b1111, 0b1101, {}) == PerAgent{0.5F, 0, 0.5F, 0});
  CHECK(paid_for("team", 0b1111, 0b1100, {}) == PerAgent{0, 0, 0.5F, 0.5F});
  CHECK(paid_for("team", 0b1101, 0b1101, {}) == PerAgent{0, 0, 0, 0});  // died before
  // Everyone for themselves, each death is one of others; the dead have lost.
  CHECK(paid_for("ffa", 0b1111, 0b1010, {}) == PerAgent{-1, 1, -1, 1});
  StepEvents events;
  events.picked_up = {2, 0, 1, 0};
  events.wood = {0, 3, 1, 0};
  CHECK(paid_for("team", 0b1111, 0b1111, events) == PerAgent{0.5F, 0.375F, 0.375F, 0});
}

TEST_CASE("pommerman: with reward = result a death is paid once, a return is the last reward") {
  for (const char* mode : {"ffa", "team"}) {
    Params p;
    p.set("mode", mode);
    const Rules rules = Pommerman::make_rules(p);
    for (std::uint64_t match = 0; match < 40; ++match) {
      State s;
      Pommerman::reset(rules, s, {4, match});
      PerAgent sum{};
      while (!Pommerman::status(rules, s).over) {
        for (int a = 0; a < kAgents; ++a) Pommerman::bot(rules, s, a, a % 2);
        Pommerman::advance(rules, s);
        for (std::size_t a = 0; a < kAgents; ++a) sum[a] += s.reward[a];
      }
      CHECK(sum == original_rewards(rules, s));
    }
  }
}

TEST_CASE("pommerman: boards are the original's in kind") {
  for (const char* mode : {"ffa", "one_vs_one"}) {
    Params p;
    p.set("mode", mode);
    const Rules rules = Pommerman::make_rules(p);
    const int n = rules.size;
    std::array<int, 9> kinds{};
    for (std::uint64_t match = 0; match < 200; ++match) {
      State s;
      Pommerman::reset(rules, s, {6, match});
      std::array<int, 16> count{};
      bool mirrored = true;
      int hidden = 0;
      for (int r = 0; r < n; ++r) {
        for (int c = 0; c < n; ++c) {
          const std::uint8_t item = s.board[cell_at(r, c)];
          ++count[item];
          if (item <= kWood) {
            const std::uint8_t other = s.board[cell_at(c, r)];
            mirrored &= item == other || other >= kAgent0;
          }
          const std::uint8_t under = s.hidden[cell_at(r, c)];
          hidden += under != 0 ? 1 : 0;
          if (under != 0) ++kinds[under];
          mirrored &= under == 0 || item == kWood;
        }
      }
      CHECK(mirrored);
      CHECK(count[kRigid] == (n == 11 ? 36 : 16));
      CHECK(count[kWood] == (n == 11 ? 36 : 16));
      CHECK(count[kPassage] == (n == 11 ? 45 : 30));
      CHECK(hidden == (n == 11 ? 20 : 10));
    }
    const int all = kinds[kExtraBomb] + kinds[kIncrRange] + kinds[kKick];
    for (const Item kind : {kExtraBomb, kIncrRange, kKick}) {  // a third each, within 5 deviations
      CHECK(std::abs(kinds[kind] - all / 3.0) < 5 * std::sqrt(all * 2.0 / 9.0));
    }
  }
}

}  // namespace
}  // namespace ludus::pommerman
