// Tower Defense below the strategic level: masks choice by choice, what towers make of orders, and
// whole matches.
#include <array>
#include <string>
#include <vector>

#include "game/conformance.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/tower_defense/observe.hpp"
#include "games/rts/tower_defense/strategy.hpp"
#include "games/rts/tower_defense/tower_defense.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/orders.hpp"

namespace ludus {
namespace {

using G = TowerDefense;
using rts::Cmd;
using tests::Decision4;
using tests::Masks;
constexpr int kNearest = 64;
constexpr int kNobody = 24;
constexpr int kCells = rts::kTowerActions;

Params params_of(const char* commands, const char* ruleset) {
  Params p;
  p.set("commands", commands);
  p.set("ruleset", ruleset);
  // Many attackers, and money to build against them: matches of random play last.
  p.set("rulebook", "start.money=400\nwave.growth=2");
  return p;
}

// The slots of the rows of the tensor `units`.
std::vector<int> rows_of(const G::Rules& rules, const rts::State& s) {
  std::vector<int> rows;
  for (const int owner : {0, 1}) {
    rts::for_units(rules.engine, s, owner, [&](int i) { rows.push_back(i); });
  }
  return rows;
}

// The rules again: whether the unit in slot `by` strikes at the attacker that row `target` means.
bool strikes_at(const G::Rules& rules, const rts::State& s, int by, int target) {
  const std::vector<int> rows = rows_of(rules, s);
  if (target >= static_cast<int>(rows.size())) return false;
  const int victim = rows[static_cast<std::size_t>(target)];
  if (s.type[victim] != rts::kAttacker) return false;
  const int range = rules.engine.type[s.type[by]].attack_range;
  const float d2 = rts::distance2(s.x[by], s.y[by], s.x[victim], s.y[victim]);
  const float cut =
      rules.engine.quirks.integer_range ? static_cast<float>(static_cast<int>(d2)) : d2;
  return cut <= static_cast<float>(range * range);
}

// And is not about it.
bool begins_to_attack(const G::Rules& rules, const rts::State& s, int by, int target) {
  if (!strikes_at(rules, s, by, target)) return false;
  const int victim = rows_of(rules, s)[static_cast<std::size_t>(target)];
  return s.cmd[by] != Cmd::attack || s.target[by] != victim;
}

TEST_CASE("tower commands: unit commands are what the rules say, and towers obey") {
  for (const char* ruleset : {"elf", "clean"}) {
    Masks<G> masks(params_of("units", ruleset));
    long legal_attacks = 0;
    long legal_builds = 0;
    long wrong = 0;
    long disobeyed = 0;
    int step = 0;
    masks.play(5, rounds(16000), [&](const G::State& s) {
      if (++step % 211 != 0) return;
      masks.look(s, 0);
      const rts::State& w = s.world;
      const std::vector<int> rows = rows_of(masks.rules, w);
      const auto attempt = [&](const Decision4& a, bool expected) {
        const bool allowed = masks.allows(a);
        G::State copy = s;
        copy.world.fresh = 0;
        const bool taken = masks.takes(copy, 0, a);
        wrong += allowed != expected || taken != expected ? 1 : 0;
        if (!taken || a[0] == kNobody) {
          disobeyed += copy.world.fresh != 0 ? 1 : 0;
          return;
        }
        const int slot = rows[static_cast<std::size_t>(a[0])];
        bool obeys = copy.world.fresh == rts::slot_bit(slot);
        if (a[1] == 0) {
          obeys = obeys && copy.world.cmd[slot] == Cmd::attack &&
                  copy.world.target[slot] == rows[static_cast<std::size_t>(a[2])];
          ++legal_attacks;
        } else {
          G::advance(masks.rules, copy);
          const int built = copy.world.units[0] - 1;
          obeys = obeys && copy.world.units[0] == w.units[0] + 1 &&
                  copy.world.x[built] == static_cast<float>(a[3] / 20) &&
                  copy.world.y[built] == static_cast<float>(a[3] % 20);
          ++legal_builds;
        }
        disobeyed += obeys ? 0 : 1;
      };
      for (int unit = 0; unit <= kNobody; ++unit) {
        const bool own = unit < w.units[0];
        const int slot = own ? rows[static_cast<std::size_t>(unit)] : 0;
        for (int target = 0; target < 64; ++target) {
          attempt({unit, 0, target, 0},
                  unit == kNobody || (own && begins_to_attack(masks.rules, w, slot, target)));
        }
        for (int cell = step % 13; cell < kCells; cell += 13) {
          const bool base = own && w.type[slot] == rts::kTowerBase;
          attempt({unit, 1, 0, cell},
                  unit == kNobody || (base && rts::can_build_tower(masks.rules, w, cell)));
        }
      }
    });
    CHECK(legal_attacks > 5);
    CHECK(legal_builds > 20);
    CHECK(wrong == 0);
    CHECK(disobeyed == 0);
  }
}

TEST_CASE("tower commands: focus fire is of those who reach, the others aim as ever") {
  for (const char* ruleset : {"elf", "clean"}) {
    Masks<G> masks(params_of("tactical", ruleset));
    Masks<G> plain(params_of("strategic", ruleset));
    long fires = 0;
    long wrong = 0;
    long builds = 0;
    long others = 0;
    int step = 0;
    masks.play(10, rounds(4000), [&](const G::State& s) {
      const rts::State& w = s.world;
      masks.look(s, 0);
      // With the last choice of `fire` a decision is the strategic one.
      for (int cell = step++ % 67; cell < kCells; cell += 67) {
        const Decision4 a{cell, kNearest, 0, 0};
        G::State copy = s;
        const bool taken = masks.takes(copy, 0, a);
        const bool can = cell == 0 || rts::can_build_tower(masks.rules, w, cell);
        wrong += taken != can || masks.allows(a) != can ? 1 : 0;
        if (!taken) continue;
        ++builds;
        G::State twin = s;
        REQUIRE(plain.takes(twin, 0, a));
        wrong += G::hash(masks.rules, copy) != G::hash(plain.rules, twin) ? 1 : 0;
      }
      if (step % 7 != 0) return;
      const std::vector<int> rows = rows_of(masks.rules, w);
      G::State without = s;
      REQUIRE(masks.takes(without, 0, {0, kNearest, 0, 0}));
      for (int target = 0; target < 64; ++target) {
        bool somebody = false;
        for (int i = 0; i < w.units[0]; ++i) {
          somebody |= w.type[i] == rts::kTower && begins_to_attack(masks.rules, w, i, target);
        }
        const Decision4 a{0, target, 0, 0};
        G::State copy = s;
        const bool taken = masks.takes(copy, 0, a);
        wrong += taken != somebody || masks.allows(a) != somebody ? 1 : 0;
        if (!taken) continue;
        ++fires;
        const int victim = rows[static_cast<std::size_t>(target)];
        for (int i = 0; i < w.units[0]; ++i) {
          if (w.type[i] != rts::kTower) continue;
          if (strikes_at(masks.rules, w, i, target)) {
            wrong += copy.world.target[i] == victim && copy.world.cmd[i] == Cmd::attack ? 0 : 1;
          } else {
            wrong += copy.world.target[i] == without.world.target[i] ? 0 : 1;
            ++others;
          }
        }
      }
    });
    CHECK(wrong == 0);
    CHECK(builds > 100);
    CHECK(fires > 20);
    CHECK(others > 20);
  }
}

TEST_CASE("tower commands: rows of the observation are what units and targets mean") {
  Masks<G> masks(params_of("units", "elf"));
  REQUIRE(masks.spec.observation.size() == 4);
  REQUIRE(masks.spec.observation[3].name == "units");
  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::byte*> pointers;
  for (const TensorSpec& t : masks.spec.observation) buffers.emplace_back(t.bytes());
  for (auto& b : buffers) pointers.push_back(b.data());
  int looked = 0;
  int wrong = 0;
  int reached = 0;
  int attacked = 0;
  int step = 0;
  masks.play(5, rounds(16000), [&](const G::State& s) {
    if (++step % 3 != 0) return;
    const rts::State& w = s.world;
    const std::vector<int> rows = rows_of(masks.rules, w);
    G::observe(masks.rules, s, 0, pointers);
    const auto* row = reinterpret_cast<const std::uint8_t*>(buffers[3].data());
    for (int i = 0; i < rts::kSlots; ++i, row += rts::kTowerUnitCols) {
      if (i >= static_cast<int>(rows.size())) {
        for (int c = 0; c < rts::kTowerUnitCols; ++c) wrong += row[c] != 0 ? 1 : 0;
        continue;
      }
      const int slot = rows[static_cast<std::size_t>(i)];
      const bool own = i < w.units[0];
      wrong += row[own ? 0 : 1] == 255 && row[own ? 1 : 0] == 0 ? 0 : 1;
      wrong += row[2 + w.type[slot]] == 255 ? 0 : 1;
      ++looked;
      int in_reach = 0;
      int aimed = 0;
      for (int t = 0; !own && t < w.units[0]; ++t) {
        const bool about_it = w.cmd[t] == Cmd::attack && w.target[t] == slot;
        aimed += about_it ? 1 : 0;
        in_reach += strikes_at(masks.rules, w, t, i) ? 1 : 0;
      }
      if (w.type[slot] != rts::kAttacker) continue;
      wrong += row[11] == in_reach * 255 / 8 ? 0 : 1;
      wrong += row[12] == aimed * 255 / 8 ? 0 : 1;
      reached += in_reach;
      attacked += aimed;
    }
  });
  CHECK(looked > 1000);
  CHECK(reached > 50);
  CHECK(attacked > 20);
  CHECK(wrong == 0);
}

TEST_CASE("tower commands: the standard observation equals the strategic level's") {
  CHECK(G::spec(G::make_rules({})).observation.size() == 3);
  Params p;
  p.set("pixels", "2");
  p.set("commands", "units");
  const GameSpec spec = G::spec(G::make_rules(p));
  REQUIRE(spec.observation.size() == 5);
  CHECK(spec.observation[4].name == "pixels");
}

TEST_CASE("tower commands: matches of uniform play end and replay to the same hash") {
  for (const char* commands : {"strategic", "tactical", "units"}) {
    for (const char* ruleset : {"elf", "clean"}) {
      const std::string context = std::string(commands) + " " + ruleset;
      INFO(context);
      const Params p = params_of(commands, ruleset);
      MatchContext<G> match(p);
      const Replay r =
          record_match<G>(match, p, {8, 1}, std::vector<SeatDriver>{SeatDriver{-1, 10}}, 32);
      CHECK(r.over);
      CHECK(r.ticks > 500);
      const ReplayCheck check = replay_verify<G>(r);
      INFO(check.difference);
      CHECK(check.same);
    }
  }
}

TEST_CASE("tower commands: the game conforms, and deciding allocates nothing") {
  for (const char* commands : {"tactical", "units"}) {
    for (const char* ruleset : {"elf", "clean"}) {
      Params p = params_of(commands, ruleset);
      p.set("pixels", "1");
      Conformance<G> c(p, 6, 500);
      const Findings& f = c.run(2);
      INFO(f.json());
      CHECK(f.clean());
    }
    Masks<G> masks(params_of(commands, "elf"));
    std::uint64_t grown = 0;
    G::State copy{};
    const Decision4 wait{commands == std::string("units") ? kNobody : 0, kNearest, 0, 0};
    masks.play(10, 200, [&](const G::State& s) {
      copy = s;
      const std::uint64_t before = thread_allocations();
      masks.look(s, 0);
      G::act(masks.rules, copy, 0, masks.heads_of(wait));
      grown += thread_allocations() - before;
    });
    CHECK(grown == 0);
  }
}

}  // namespace
}  // namespace ludus
