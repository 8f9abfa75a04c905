// Tactical orders: the mask choice by choice, and what each manoeuvre makes of its units.
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "game/conformance.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/manoeuvres.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/minirts/start.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/orders.hpp"

namespace ludus {
namespace {

using M = MiniRts;
using rts::Cmd;

Params params_of(const char* ruleset) {
  Params p;
  p.set("commands", "tactical");
  p.set("ruleset", ruleset);
  return p;
}

std::uint64_t bit(int slot) { return std::uint64_t{1} << slot; }

// A map with nothing on it but what a test puts there.
struct Scene {
  M::Rules rules = M::make_rules(params_of("elf"));
  rts::State s;
  Scene() { rts::clear_state(rules.engine, s); }
  int put(int owner, int type, float x, float y) {
    return rts::add_unit(rules.engine, s, owner, type, x, y, 0);
  }
  void give(const rts::OrderSet& plan) {
    rts::for_bits(plan.given, [&](int i) { rts::offer_order(rules.engine, s, i, plan.order[i]); });
  }
};

TEST_CASE("manoeuvres: attack-move fights what is in sight and marches on otherwise") {
  Scene w;
  const int near = w.put(0, rts::kMelee, 5, 5);
  const int far = w.put(0, rts::kRange, 2, 15);
  const int worker = w.put(0, rts::kWorker, 14, 14);
  const int enemy = w.put(1, rts::kMelee, 7, 5);
  rts::OrderSet plan(w.s);
  const std::uint64_t army = bit(near) | bit(far) | bit(worker);
  rts::attack_move(w.rules.engine, w.s, plan, army, bit(enemy), 14, 14);
  w.give(plan);
  CHECK(w.s.cmd[near] == Cmd::attack);
  CHECK(w.s.target[near] == enemy);
  CHECK(w.s.cmd[far] == Cmd::move);
  CHECK(rts::distance2(w.s.px[far], w.s.py[far], 14, 14) <= 2.0F);
  CHECK(w.s.cmd[worker] == Cmd::idle);  // it is there
}

TEST_CASE("manoeuvres: a group retreats to distinct free cells") {
  Scene w;
  const int base = w.put(0, rts::kBase, 3, 3);
  std::uint64_t army = bit(base);  // a building does not move
  for (int i = 0; i < 12; ++i) {
    army |= bit(w.put(0, rts::kMelee, 10.0F + static_cast<float>(i % 4),
                      10.0F + static_cast<float>(i / 4)));
  }
  rts::OrderSet plan(w.s);
  rts::retreat(w.rules.engine, w.s, plan, army, 3, 3);
  w.give(plan);
  std::set<std::pair<float, float>> places;
  rts::for_bits(army & ~bit(base), [&](int i) {
    CHECK(w.s.cmd[i] == Cmd::move);
    CHECK(rts::distance2(w.s.px[i], w.s.py[i], 3, 3) <= 8.0F);
    places.insert({w.s.px[i], w.s.py[i]});
  });
  CHECK(places.size() == 12);
  CHECK_FALSE(places.contains({3.0F, 3.0F}));
  CHECK(w.s.cmd[base] == Cmd::idle);
}

TEST_CASE("manoeuvres: the defence goes for the intruder nearest to the point, and comes back") {
  Scene w;
  const int home = w.put(0, rts::kMelee, 4, 4);
  const int away = w.put(0, rts::kMelee, 16, 16);
  const int farther = w.put(1, rts::kMelee, 8, 4);
  const int closer = w.put(1, rts::kWorker, 6, 4);
  const std::uint64_t army = bit(home) | bit(away);
  rts::OrderSet plan(w.s);
  rts::defend(w.rules.engine, w.s, plan, army, bit(farther) | bit(closer), 4, 4, 5);
  w.give(plan);
  for (const int i : {home, away}) {
    CHECK(w.s.cmd[i] == Cmd::attack);
    CHECK(w.s.target[i] == closer);
  }
  rts::OrderSet calm(w.s);
  rts::defend(w.rules.engine, w.s, calm, army, 0, 4, 4, 5);
  w.give(calm);
  CHECK(w.s.cmd[home] == Cmd::attack);  // near enough: left alone
  CHECK(w.s.cmd[away] == Cmd::move);
}

TEST_CASE("manoeuvres: focus fire takes all, a rally only those that do not fight") {
  Scene w;
  const int a = w.put(0, rts::kMelee, 4, 4);
  const int b = w.put(0, rts::kRange, 5, 8);
  const int enemy = w.put(1, rts::kWorker, 12, 4);
  rts::OrderSet plan(w.s);
  rts::focus_fire(w.rules.engine, w.s, plan, bit(a), enemy);
  w.give(plan);
  CHECK(w.s.cmd[a] == Cmd::attack);
  rts::OrderSet call(w.s);
  rts::rally(w.rules.engine, w.s, call, bit(a) | bit(b), 15, 15);
  w.give(call);
  CHECK(w.s.cmd[a] == Cmd::attack);
  CHECK(w.s.cmd[b] == Cmd::move);
}

enum Order { kNothing, kAttackMove = 5, kFocusFire, kHitAndRun, kDefend, kRetreat, kRally };

// The rules again without bit sets.
struct Naive {
  const M::Rules& rules;
  const rts::State& s;
  int seat;
  std::vector<int> rows;
  std::array<int, rts::kMiniTypes> count{};
  int own = 0, victims = 0, base = -1, enemy_base = -1;
  bool idle_barracks = false, gatherer = false;

  Naive(const M::Rules& r, const M::State& state, int who) : rules(r), s(state.world), seat(who) {
    const std::uint64_t seen = rts::visible_units(r.engine, s, rts::sight_of(r.engine, s, who));
    rts::for_units(r.engine, s, who, [&](int i) {
      rows.push_back(i);
      ++count[s.type[i]];
      if (s.type[i] == rts::kBase && base < 0) base = i;
      idle_barracks |= s.type[i] == rts::kBarracks && s.cmd[i] == Cmd::idle;
      gatherer |= s.type[i] == rts::kWorker && s.cmd[i] == Cmd::gather;
    });
    own = static_cast<int>(rows.size());
    rts::for_units(r.engine, s, 1 - who, [&](int i) {
      if (s.type[i] == rts::kBase && enemy_base < 0) enemy_base = i;
      if ((seen >> i & 1) == 0) return;
      rows.push_back(i);
      victims += s.type[i] != rts::kResource ? 1 : 0;
    });
  }
  [[nodiscard]] int members(int group) const {
    const int melee = count[rts::kMelee];
    const int range = count[rts::kRange];
    return std::array{count[rts::kWorker], melee, range,
                      melee + range}[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] bool ok(int order, int group, int target) const {
    const int money = s.money[seat];
    const bool economy = base >= 0 && count[rts::kResource] > 0;
    if (order == kNothing) return true;
    if (order == 1) return economy && s.cmd[base] == Cmd::idle && money >= 50;
    if (order == 2) return economy && gatherer && money >= 200;
    if (order < kAttackMove) return economy && idle_barracks && money >= 100;
    if (members(group) == 0) return false;
    if (order == kFocusFire) {
      if (target == 64) return enemy_base >= 0;
      if (target >= static_cast<int>(rows.size())) return false;
      const int slot = rows[static_cast<std::size_t>(target)];
      return target >= own && s.type[slot] != rts::kResource;
    }
    if (order == kHitAndRun) return victims > 0;
    if (order == kDefend) return target < own;
    if (order == kRetreat) return base >= 0;
    return true;
  }
};

TEST_CASE("tactical orders: the mask allows exactly what the rules take") {
  for (const char* ruleset : {"elf", "clean"}) {
    tests::Masks<M> masks(params_of(ruleset));
    long legal = 0;
    long wrong = 0;
    int step = 0;
    CHECK_NOTHROW(masks.play(25, rounds(20000), [&](const M::State& s) {
      if (++step % 145 != 0) return;
      const int seat = step / 145 % 2;
      masks.look(s, seat);
      const Naive naive(masks.rules, s, seat);
      for (int n = 0; n < 11 * 4 * (65 + 16); ++n) {
        const int rest = n % (65 + 16);
        const tests::Decision4 a{n / (65 + 16) / 4, n / (65 + 16) % 4, rest < 65 ? rest : 0,
                                 rest < 65 ? 0 : rest - 65};
        const bool allowed = masks.allows(a);
        M::State copy = s;
        const bool taken = masks.takes(copy, seat, a);
        wrong += allowed != naive.ok(a[0], a[1], a[2]) || taken != allowed ? 1 : 0;
        legal += allowed ? 1 : 0;
      }
    }));
    CHECK(legal > rounds(5000));
    CHECK(wrong == 0);
  }
}

TEST_CASE("tactical orders: the game conforms") {
  Params p;
  p.set("commands", "tactical");
  Conformance<M> c(p, 6, 2500);
  const Findings& f = c.run(4);
  INFO(f.json());
  CHECK(f.clean());
}

}  // namespace
}  // namespace ludus
