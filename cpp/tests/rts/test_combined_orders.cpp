// Several strategic orders of MiniRTS at one decision: a head each, as the scripted bots give them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "game/conformance.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/hash.hpp"
#include "games/rts/engine/map.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/minirts/strategy.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

using M = MiniRts;
constexpr std::size_t kOrders = rts::kAllActions - 1;
using Decision = std::array<std::int32_t, kOrders>;

Params combined(const char* repeat = "0") {
  Params p;
  p.set("commands", "combined");
  p.set("repeat_orders", repeat);
  return p;
}

std::uint64_t world_hash(const M::Rules& rules, const M::State& s) {
  Hash64 h;
  rts::hash_world(rules.engine, s.world, h);
  return h.value();
}

// Two bots play `matches` matches, seat 0 SIMPLE or HIT_AND_RUN in turns; `at(state)` before each
// of their decisions.
template <class F>
void watch_bots(const M::Rules& rules, std::uint64_t matches, F&& at) {
  M::State s{};
  for (std::uint64_t match = 0; match < matches; ++match) {
    M::reset(rules, s, {.seed = 8, .match = match});
    while (!M::status(rules, s).over && M::tick(s) < 5000) {
      if (M::tick(s) % 50 == 0) {
        at(s);
        M::bot(rules, s, 0, static_cast<int>(match % 2));
        M::bot(rules, s, 1, 1);
      }
      M::advance(rules, s);
    }
  }
}

// Orders of the bot SIMPLE by the original's rules. Those that it gives only when a unit
// threatens do nothing while none does.
Decision simple(const M::Rules& rules, const rts::State& w, int seat) {
  std::array<int, rts::kMiniTypes> own{};
  int to_come = 0;
  rts::for_units(rules.engine, w, seat, [&](int i) {
    ++own[w.type[i]];
    to_come += w.cmd[i] == rts::Cmd::build && w.target[i] == rts::kBarracks ? 1 : 0;
  });
  const int money = w.money[seat];
  const int workers = own[rts::kWorker];
  const int barracks = own[rts::kBarracks];
  Decision d{};
  const auto say = [&](rts::Action a, bool yes) { d[std::size_t{a} - 1U] = yes ? 1 : 0; };
  say(rts::kBuildWorker, workers < 3 && money >= 50);
  say(rts::kBuildBarrack, workers >= 3 && barracks + to_come < 1 && money >= 200);
  say(rts::kBuildMelee, barracks >= 1 && money >= 100);
  say(rts::kAttack, own[rts::kMelee] >= 5);
  say(rts::kAttackInRange, true);
  say(rts::kDefend, true);
  return d;
}

TEST_CASE("combined orders: whole matches of a bot, decision for decision") {
  const M::Rules one = M::make_rules({});
  const M::Rules several = M::make_rules(combined());
  M::State a{};
  M::State b{};
  int ended = 0;
  for (std::uint64_t match = 0; match < 12; ++match) {
    M::reset(one, a, {.seed = 7, .match = match});
    M::reset(several, b, {.seed = 7, .match = match});
    while (!M::status(one, a).over && M::tick(a) < 12000) {
      if (M::tick(a) % 50 == 0) {
        const int seat = static_cast<int>(match % 2);
        for (int s = 0; s < 2; ++s) {
          M::bot(one, a, s, s == seat ? 0 : 1);
          if (s == seat) {
            M::act(several, b, s, simple(several, b.world, s));
          } else {
            M::bot(several, b, s, 1);
          }
        }
        REQUIRE(M::hash(one, a) == M::hash(several, b));
      }
      M::advance(one, a);
      M::advance(several, b);
    }
    ended += M::status(one, a).over ? 1 : 0;
  }
  CHECK(ended >= 6);
}

TEST_CASE("combined orders: no is always legal, yes where the order alone would do something") {
  const M::Rules rules = M::make_rules(combined());
  const GameSpec spec = M::spec(rules);
  REQUIRE(spec.heads.size() == kOrders);
  std::vector<std::uint8_t> mask(spec.mask_bytes());
  std::array<int, kOrders> yes{};
  watch_bots(rules, 6, [&](const M::State& s) {
    for (int seat = 0; seat < 2; ++seat) {
      M::legal(rules, s, seat, mask.data());
      const rts::ActionSet useful = rts::useful_actions(rules, s.world, seat);
      for (std::size_t h = 0; h < kOrders; ++h) {
        REQUIRE(mask[2 * h] == 1);
        REQUIRE(mask[2 * h + 1] == (useful >> (h + 1) & 1));
        yes[h] += mask[2 * h + 1];
      }
    }
  });
  for (const int n : yes) CHECK(n > 0);
}

TEST_CASE("combined orders: focus fire is at the weakest enemy troop in reach") {
  const M::Rules rules = M::make_rules(combined());
  Decision focus{};
  focus[rts::kFocusFire - 1] = 1;
  long alone = 0;
  long chosen = 0;
  watch_bots(rules, 30, [&](const M::State& before) {
    if (M::to_act(rules, before) == 0) return;
    for (int seat = 0; seat < 2; ++seat) {
      M::State s = before;
      M::act(rules, s, seat, focus);
      const rts::State& w = s.world;
      const std::uint64_t seen =
          rts::visible_units(rules.engine, w, rts::sight_of(rules.engine, w, seat));
      const auto troop = [&](int i) {
        return w.type[i] == rts::kMelee || w.type[i] == rts::kRange;
      };
      rts::for_units(rules.engine, w, seat, [&](int i) {
        if (!troop(i) || before.world.cmd[i] == rts::Cmd::move) return;
        const int range = rules.engine.type[w.type[i]].attack_range;
        int in_reach = 0;
        int least = 1000;
        rts::for_units(rules.engine, w, 1 - seat, [&](int j) {
          const float d2 = rts::distance2(w.x[i], w.y[i], w.x[j], w.y[j]);
          if (!troop(j) || (seen >> j & 1) == 0 || static_cast<int>(d2) > range * range) return;
          ++in_reach;
          least = std::min<int>(least, w.hp[j]);
        });
        if (in_reach == 0) return;
        REQUIRE(w.cmd[i] == rts::Cmd::attack);
        REQUIRE(w.hp[w.target[i]] == least);
        ++(in_reach > 1 ? chosen : alone);
      });
    }
  });
  CHECK(alone > 50);
  CHECK(chosen > 50);
}

TEST_CASE(
    "combined orders: manoeuvres stand until the next decision where they are to be repeated") {
  const M::Rules once = M::make_rules(combined());
  const M::Rules repeating = M::make_rules(combined("5"));
  M::State a{};
  M::State b{};
  Rng rng({4, 4}, 0);
  long apart = 0;
  for (std::uint64_t match = 0; match < 6; ++match) {
    M::reset(once, a, {.seed = 9, .match = match});
    M::reset(repeating, b, {.seed = 9, .match = match});
    M::State without = a;
    std::array<rts::ActionSet, 2> standing{};
    std::uint32_t since = 0;
    while (!M::status(once, a).over && M::tick(a) < 4000) {
      const std::uint32_t tick = M::tick(a);
      if (tick % 20 == 0 && M::to_act(once, a) != 0) {
        for (int seat = 0; seat < 2; ++seat) {
          Decision d{};
          for (std::int32_t& yes : d) yes = static_cast<std::int32_t>(rng.below(2));
          M::act(once, a, seat, d);
          M::act(repeating, b, seat, d);
          M::act(once, without, seat, d);
          rts::ActionSet& set = standing[static_cast<std::size_t>(seat)];
          set = 0;
          for (std::size_t h = 4; h < kOrders; ++h) {
            if (d[h] != 0) set |= rts::action_bit(static_cast<int>(h) + 1);
          }
        }
        since = tick;
      } else if (since != 0 && (tick - since) % 5 == 0) {
        for (int seat = 0; seat < 2; ++seat) {
          const rts::ActionSet set = standing[static_cast<std::size_t>(seat)];
          if (set != 0) rts::act_strategy(once, a.world, seat, set);
        }
      }
      M::advance(once, a);
      M::advance(repeating, b);
      M::advance(once, without);
      REQUIRE(world_hash(once, a) == world_hash(repeating, b));
      apart += world_hash(once, a) != world_hash(once, without) ? 1 : 0;
    }
  }
  CHECK(apart > 1000);
  // A copy remembers them; the hash knows of them.
  M::reset(repeating, b, {.seed = 9, .match = 1});
  while (M::to_act(repeating, b) == 0) M::advance(repeating, b);
  M::State other = b;
  Decision attack{};
  attack[rts::kAttackInRange - 1] = 1;
  M::act(repeating, b, 0, attack);
  M::act(repeating, other, 0, Decision{});
  CHECK(world_hash(repeating, b) == world_hash(repeating, other));
  CHECK(M::hash(repeating, b) != M::hash(repeating, other));
  M::State copy{};
  M::copy(repeating, copy, b);
  CHECK(M::hash(repeating, copy) == M::hash(repeating, b));
}

TEST_CASE("combined orders: a bot that decides in between ends what is to be repeated") {
  constexpr int kNoop = 3;
  const M::Rules once = M::make_rules(combined());
  const M::Rules repeating = M::make_rules(combined("5"));
  Decision fight{};
  for (const rts::Action a : {rts::kAttack, rts::kAttackInRange, rts::kDefend}) {
    fight[std::size_t{a} - 1U] = 1;
  }
  long stood = 0;  // steps at which standing orders make a difference
  watch_bots(repeating, 4, [&](const M::State& before) {
    if (M::to_act(repeating, before) == 0) return;
    M::State ended = before;
    M::State never = before;
    M::State standing = before;
    for (M::State* s : {&ended, &never, &standing}) {
      M::act(s == &never ? once : repeating, *s, 0, fight);
    }
    for (int tick = 0; tick < 30; ++tick) {
      if (tick == 2) M::bot(repeating, ended, 0, kNoop);
      M::advance(repeating, ended);
      M::advance(once, never);
      M::advance(repeating, standing);
      REQUIRE(world_hash(once, ended) == world_hash(once, never));
    }
    stood += world_hash(once, standing) != world_hash(once, never) ? 1 : 0;
  });
  CHECK(stood > 20);
}

TEST_CASE("combined orders: the game conforms, and refuses what is neither no nor yes") {
  for (const char* repeat : {"0", "5"}) {
    Conformance<M> c(combined(repeat), 6, 2500);
    const Findings& f = c.run(4);
    INFO(f.json());
    CHECK(f.clean());
  }

  const M::Rules rules = M::make_rules(combined());
  M::State s{};
  M::reset(rules, s, {});
  for (const std::int32_t choice : {-1, 2, 1 << 20}) {
    Decision d{};
    d[4] = choice;
    CHECK_THROWS_WITH_AS(
        M::act(rules, s, 0, d),
        ("minirts: attack = " + std::to_string(choice) + ": expected 0 or 1").c_str(), GameError);
  }
}

}  // namespace
}  // namespace ludus
