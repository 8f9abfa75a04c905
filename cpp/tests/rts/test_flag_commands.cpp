// Capture the Flag below the strategic level: masks choice by choice, what each order makes of the
// athletes, that both seats command alike in the ruleset "clean", and whole matches.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "game/conformance.hpp"
#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/capture_the_flag/observe.hpp"
#include "games/rts/capture_the_flag/strategy.hpp"
#include "games/rts/engine/units.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/flag_mirror.hpp"
#include "tests/rts/orders.hpp"

namespace ludus {
namespace {

using G = CaptureTheFlag;
using rts::Cmd;
using tests::Decision4;
using tests::Masks;
constexpr int kRows = rts::kFlagUnitRows;
constexpr int kNobody = 6;

Params params_of(const char* commands, const char* ruleset) {
  Params p;
  p.set("commands", commands);
  p.set("ruleset", ruleset);
  return p;
}

int head_named(const GameSpec& spec, const std::string& name) {
  for (std::size_t h = 0; h < spec.heads.size(); ++h) {
    if (spec.heads[h].name == name) return static_cast<int>(h);
  }
  return -1;
}
int choice_named(const GameSpec& spec, const std::string& head, const std::string& label) {
  const auto h = static_cast<std::size_t>(head_named(spec, head));
  const auto& labels = spec.heads[h].labels;
  return static_cast<int>(std::ranges::find(labels, label) - labels.begin());
}

// Calls f(action) for every decision there is. The last two heads never matter together: each is
// tried with a 0 of the other.
template <class F>
void every_decision(const GameSpec& spec, F&& f) {
  const std::size_t n = spec.heads.size();
  const int targets = spec.heads[n - 2].size;
  const int points = spec.heads[n - 1].size;
  const auto tails = [&](Decision4 a) {
    for (int t = 0; t < targets + points; ++t) {
      a[n - 2] = t < targets ? t : 0;
      a[n - 1] = t < targets ? 0 : t - targets;
      f(a);
    }
  };
  for (int first = 0; first < spec.heads[0].size; ++first) {
    for (int second = 0; second < (n == 4 ? spec.heads[1].size : 1); ++second) {
      tails({first, second, 0, 0});
    }
  }
}

// The choice that gives no unit an order and is always legal.
bool is_nothing(const Masks<G>& masks, const Decision4& a) {
  return a[0] == (masks.rules.commands == rts::Commands::units ? kNobody : 0);
}

TEST_CASE("flag commands: a choice is legal if and only if it gives a unit an order") {
  for (const char* commands : {"tactical", "units"}) {
    for (const char* ruleset : {"elf", "clean"}) {
      Masks<G> masks(params_of(commands, ruleset));
      const std::string context = std::string(commands) + " " + ruleset;
      INFO(context);
      long legal = 0;
      long tried = 0;
      long accepted_otherwise = 0;
      long idle_orders = 0;
      long changed = 0;
      std::vector<long> used(static_cast<std::size_t>(masks.spec.heads[0].size) * 8);
      int step = 0;
      masks.play(25, rounds(6000), [&](const G::State& s) {
        if (++step % 41 != 0) return;
        const int seat = step / 41 % 2;
        masks.look(s, seat);
        every_decision(masks.spec, [&](const Decision4& a) {
          const bool allowed = masks.allows(a);
          G::State copy = s;
          copy.world.fresh = 0;
          const G::State before = copy;
          const bool taken = masks.takes(copy, seat, a);
          ++tried;
          if (taken != allowed) ++accepted_otherwise;
          // A unit that got an order in this tick is marked as such, and belongs to the seat.
          const bool ordered = copy.world.fresh != 0;
          if (ordered != (allowed && !is_nothing(masks, a))) ++idle_orders;
          rts::for_bits(copy.world.fresh, [&](int i) {
            idle_orders += masks.rules.engine.owner_of(i) == seat ? 0 : 1;
          });
          if (!ordered && std::memcmp(&copy, &before, sizeof copy) != 0) ++changed;
          if (!allowed) return;
          ++legal;
          ++used[static_cast<std::size_t>(a[0] * 8 + (masks.spec.heads.size() == 4 ? a[1] : 0))];
        });
      });
      CHECK(legal > rounds(3000));
      CHECK(tried - legal > rounds(3000));
      CHECK(accepted_otherwise == 0);
      CHECK(idle_orders == 0);
      CHECK(changed == 0);
      // Every order is legal at some step: no choice of the first head is dead, but for the row
      // of the base, which takes no orders.
      if (masks.rules.commands == rts::Commands::tactical) {
        for (int o = 0; o < masks.spec.heads[0].size; ++o) {
          INFO("order ", masks.spec.heads[0].labels[static_cast<std::size_t>(o)]);
          CHECK(used[static_cast<std::size_t>(o * 8)] > 0);
        }
      } else {
        for (int unit = 1; unit < kNobody; ++unit) {
          for (int order = 0; order < 4; ++order) {
            INFO("unit ", unit, " order ", order);
            CHECK(used[static_cast<std::size_t>(unit * 8 + order)] > 0);
          }
        }
        CHECK(used[0] == 0);
      }
    }
  }
}

// The rules of unit commands again, one choice at a time and without bit sets.
struct Naive {
  const G::Rules& rules;
  const rts::State& s;
  int seat;
  rts::FlagPlace flag;
  std::uint64_t known;
  std::vector<int> rows;
  int own = 0;

  Naive(const G::Rules& r, const G::State& state, int who)
      : rules(r),
        s(state.world),
        seat(who),
        flag(rts::find_flag(r, s)),
        known(rts::known_units(r, s, who, flag)) {
    for (const bool mine : {true, false}) {
      for (int i = 0; i < rts::kSlots; ++i) {
        if ((known >> i & 1) != 0 && (r.engine.owner_of(i) == who) == mine) rows.push_back(i);
      }
      if (mine) own = static_cast<int>(rows.size());
    }
  }
  [[nodiscard]] std::pair<float, float> point(int slot, int place) const {
    static constexpr int kX[] = {-1, 1, 0, 0, -1, -1, 1, 1};
    static constexpr int kY[] = {0, 0, -1, 1, -1, 1, -1, 1};
    static constexpr int kFar[] = {2, 4, 8};
    const int n = place - 1;
    const int far = place == 0 ? 0 : kFar[n / 8];
    const bool mirror = rules.mirrored(s, seat);
    const float x = mirror ? 19 - s.x[slot] : s.x[slot];
    const float to = static_cast<float>(rts::cell_coord(x) + far * kX[n & 7]);
    return {mirror ? 19 - to : to,
            static_cast<float>(rts::cell_coord(s.y[slot]) + far * kY[n & 7])};
  }
  [[nodiscard]] bool ok(int unit, int order, int target, int place) const {
    if (unit == kNobody) return true;
    if (unit >= own) return false;
    const int slot = rows[static_cast<std::size_t>(unit)];
    if (!G::Rules::athlete(s.type[slot])) return false;
    const Cmd cmd = s.cmd[slot];
    if (order == 0) {
      const auto [x, y] = point(slot, place);
      if (x < 0 || y < 0 || x > 19 || y > 19) return false;
      for (const int i : rows) {
        if (i != slot && rts::distance2(x, y, s.x[i], s.y[i]) < 0.25F) return false;
      }
      if (cmd == Cmd::idle) return s.x[slot] != x || s.y[slot] != y;
      return cmd != Cmd::move || s.px[slot] != x || s.py[slot] != y;
    }
    if (order == 1) {
      if (target >= static_cast<int>(rows.size())) return false;
      const int victim = rows[static_cast<std::size_t>(target)];
      return rules.engine.owner_of(victim) == 1 - seat && G::Rules::athlete(s.type[victim]) &&
             (cmd != Cmd::attack || s.target[slot] != victim);
    }
    if (order == 2) {
      return flag.free != rts::kNone && (cmd != Cmd::get_flag || s.target[slot] != flag.free);
    }
    return flag.carrier == slot && cmd != Cmd::escort_flag;
  }
};

TEST_CASE("flag commands: unit commands are what the rules say, and athletes obey") {
  for (const char* ruleset : {"elf", "clean"}) {
    Masks<G> masks(params_of("units", ruleset));
    long wrong = 0;
    long disobeyed = 0;
    std::array<long, 4> obeyed{};
    int step = 0;
    masks.play(25, rounds(6000), [&](const G::State& s) {
      if (++step % 43 != 0) return;
      const int seat = step / 43 % 2;
      masks.look(s, seat);
      const Naive naive(masks.rules, s, seat);
      every_decision(masks.spec, [&](const Decision4& a) {
        const auto [unit, order, target, place] = a;
        const bool allowed = masks.allows(a);
        wrong += allowed != naive.ok(unit, order, target, place) ? 1 : 0;
        if (!allowed || unit == kNobody) return;
        G::State copy = s;
        if (!masks.takes(copy, seat, a)) return;
        const rts::State& w = copy.world;
        const int slot = naive.rows[static_cast<std::size_t>(unit)];
        constexpr std::array<Cmd, 4> kCmdOf = {Cmd::move, Cmd::attack, Cmd::get_flag,
                                               Cmd::escort_flag};
        bool obeys = w.cmd[slot] == kCmdOf[static_cast<std::size_t>(order)];
        if (order == 0) {
          const auto [x, y] = naive.point(slot, place);
          obeys = obeys && w.px[slot] == x && w.py[slot] == y;
        }
        if (order == 1) {
          obeys = obeys && w.target[slot] == naive.rows[static_cast<std::size_t>(target)];
        }
        if (order == 2) obeys = obeys && w.target[slot] == naive.flag.free;
        ++(obeys ? obeyed[static_cast<std::size_t>(order)] : disobeyed);
      });
    });
    CHECK(wrong == 0);
    CHECK(disobeyed == 0);
    for (const long n : obeyed) CHECK(n > 0);
  }
}

// A field with nothing on it but what a test puts there, and one seat that orders.
struct Field {
  Masks<G> masks{params_of("tactical", "elf")};
  G::State g{};
  rts::State& s = g.world;

  Field() {
    rts::clear_state(masks.rules.engine, s);
    s.tick = 10;
    put(0, rts::kFlagBase, 1, 9.5F);
    put(1, rts::kFlagBase, 18, 9.5F);
  }
  int put(int owner, int type, float x, float y) {
    return rts::add_unit(masks.rules.engine, s, owner, type, x, y, 0);
  }
  void carry(int slot) { s.carrying |= rts::slot_bit(slot); }
  // False where the mask forbids it; the rules must say the same.
  bool order(const char* label, int target = 0, int sector = 0) {
    const Decision4 a{choice_named(masks.spec, "order", label), target, sector, 0};
    REQUIRE(a[0] < masks.spec.heads[0].size);
    masks.look(g, 0);
    const bool allowed = masks.allows(a);
    CHECK(masks.takes(g, 0, a) == allowed);
    return allowed;
  }
};

TEST_CASE("flag tactics: the front is the two nearest to the flag, and the carrier is apart") {
  Field f;
  const int a = f.put(0, rts::kAthlete, 2, 2);
  const int b = f.put(0, rts::kAthlete, 8, 9);
  const int c = f.put(0, rts::kAthlete, 6, 9);
  const int flag = f.put(2, rts::kFlag, 9.5F, 9.5F);
  CHECK_FALSE(f.order("attack_move_carrier"));
  CHECK_FALSE(f.order("escort_flag"));
  CHECK_FALSE(f.order("attack_flag_others"));
  REQUIRE(f.order("get_flag_front"));
  CHECK(f.s.cmd[a] == Cmd::idle);
  for (const int i : {b, c}) {
    CHECK(f.s.cmd[i] == Cmd::get_flag);
    CHECK(f.s.target[i] == flag);
  }
  CHECK_FALSE(f.order("get_flag_front"));  // they are about it
  REQUIRE(f.order("get_flag_others"));
  CHECK(f.s.cmd[a] == Cmd::get_flag);

  Field g;
  const int carrier = g.put(0, rts::kAthlete, 8, 9);
  const int near = g.put(0, rts::kAthlete, 7, 9);
  const int next = g.put(0, rts::kAthlete, 6, 9);
  const int far = g.put(0, rts::kAthlete, 2, 2);
  g.carry(carrier);
  CHECK_FALSE(g.order("get_flag_others"));
  CHECK_FALSE(g.order("attack_flag_others"));
  REQUIRE(g.order("escort_flag"));
  CHECK(g.s.cmd[carrier] == Cmd::escort_flag);
  CHECK_FALSE(g.order("escort_flag"));
  REQUIRE(g.order("rally_rear", 0, 15));
  CHECK(g.s.cmd[far] == Cmd::move);
  CHECK(g.s.cmd[near] == Cmd::idle);
  CHECK(g.s.cmd[next] == Cmd::idle);
}

TEST_CASE("flag tactics: who has the flag is hunted, who hit the own carrier is fought") {
  Field f;
  const int a = f.put(0, rts::kAthlete, 2, 2);
  const int thief = f.put(1, rts::kAthlete, 15, 15);
  const int other = f.put(1, rts::kAthlete, 3, 2);
  f.carry(thief);
  REQUIRE(f.order("attack_flag_others"));  // wherever it is: it is always visible
  CHECK(f.s.cmd[a] == Cmd::attack);
  CHECK(f.s.target[a] == thief);
  CHECK_FALSE(f.order("attack_flag_others"));
  CHECK_FALSE(f.order("protect_flag_others"));
  f.s.carrying = 0;
  const int carrier = f.put(0, rts::kAthlete, 5, 5);
  f.carry(carrier);
  CHECK_FALSE(f.order("protect_flag_others"));  // no unit hit it
  f.s.damaged_by[carrier] = static_cast<std::uint8_t>(other);
  REQUIRE(f.order("protect_flag_others"));
  CHECK(f.s.target[a] == other);
  CHECK(f.s.cmd[carrier] == Cmd::idle);
  // Rows: the base, two athletes; the enemy in sight comes after them. The base cannot be attacked.
  REQUIRE(f.order("focus_fire_carrier", 3));
  CHECK(f.s.target[carrier] == other);
  CHECK_FALSE(f.order("focus_fire_others", 3));
  CHECK_FALSE(f.order("focus_fire_others", 4));  // not in sight
  CHECK_FALSE(f.order("focus_fire_others", 0));
}

TEST_CASE("flag tactics: points to defend are the own units and the free flag") {
  Field f;
  const int home = f.put(0, rts::kAthlete, 2, 9);
  const int away = f.put(0, rts::kAthlete, 14, 3);
  const int flag = f.put(2, rts::kFlag, 9.5F, 9.5F);
  CHECK(flag >= 60);
  REQUIRE(f.order("defend_others", 0));  // the base
  CHECK(f.s.cmd[home] == Cmd::idle);     // near enough
  CHECK(f.s.cmd[away] == Cmd::move);
  CHECK(rts::distance2(f.s.px[away], f.s.py[away], 1, 9.5F) <= 4.0F);
  REQUIRE(f.order("defend_others", 3));  // the flag's row
  CHECK(f.s.cmd[home] == Cmd::move);
  CHECK_FALSE(f.order("defend_others", 4));
  const int enemy = f.put(1, rts::kAthlete, 5, 9);
  REQUIRE(f.order("defend_others", 0));
  for (const int i : {home, away}) CHECK(f.s.target[i] == enemy);
  CHECK_FALSE(f.order("defend_others", 0));
  CHECK_FALSE(f.order("defend_others", 3));  // the enemy's row, now: the flag comes after it
}

TEST_CASE("flag tactics: only athletes of the other side are attacked") {
  for (const char* commands : {"tactical", "units"}) {
    for (const char* ruleset : {"elf", "clean"}) {
      Masks<G> masks(params_of(commands, ruleset));
      long attacks = 0;
      masks.play(25, rounds(4000), [&](const G::State& s) {
        for (int i = 0; i < 60; ++i) {
          if (s.world.cmd[i] != Cmd::attack || s.world.target[i] == rts::kNone) continue;
          ++attacks;
          const int victim = s.world.target[i];
          REQUIRE(G::Rules::athlete(s.world.type[victim]));
          REQUIRE(masks.rules.engine.owner_of(victim) != masks.rules.engine.owner_of(i));
        }
      });
      CHECK(attacks > 100);
    }
  }
}

TEST_CASE("flag commands: rows of the observation are what units and targets mean") {
  for (const char* ruleset : {"elf", "clean"}) {
    Masks<G> masks(params_of("units", ruleset));
    std::vector<std::vector<std::byte>> buffers;
    std::vector<std::byte*> pointers;
    for (const TensorSpec& t : masks.spec.observation) buffers.emplace_back(t.bytes());
    for (auto& b : buffers) pointers.push_back(b.data());
    REQUIRE(masks.spec.observation[1].name == "units");
    int looked = 0;
    int wrong = 0;
    masks.play(25, rounds(3000), [&](const G::State& s) {
      for (int seat = 0; seat < 2; ++seat) {
        const Naive naive(masks.rules, s, seat);
        G::observe(masks.rules, s, seat, pointers);
        const auto* row = reinterpret_cast<const std::uint8_t*>(buffers[1].data());
        for (int i = 0; i < kRows; ++i, row += rts::kFlagUnitCols) {
          if (i >= static_cast<int>(naive.rows.size())) {
            wrong += row[2] + row[3] + row[4] != 0 ? 1 : 0;
            continue;
          }
          const int slot = naive.rows[static_cast<std::size_t>(i)];
          const int owner = masks.rules.engine.owner_of(slot);
          const bool right = row[0] == (owner == seat ? 255 : 0) &&
                             row[1] == (owner == 1 - seat ? 255 : 0) &&
                             row[8] == ((s.world.carrying >> slot & 1) != 0 ? 255 : 0);
          wrong += right ? 0 : 1;
          ++looked;
        }
      }
    });
    CHECK(looked > rounds(10000));
    CHECK(wrong == 0);
  }
}

TEST_CASE("flag commands: who stands outside the field is shown at its edge") {
  Field f;  // the ruleset "elf" lets units go there, and commands send them to the edge
  const int carrier = f.put(0, rts::kAthlete, -1, -1);
  f.put(1, rts::kAthlete, -0.75F, 1);
  f.carry(carrier);
  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::byte*> pointers;
  for (const TensorSpec& t : f.masks.spec.observation) buffers.emplace_back(t.bytes());
  for (auto& b : buffers) pointers.push_back(b.data());
  G::observe(f.masks.rules, f.g, 0, pointers);
  std::array<float, rts::kFlagGlobals> globals;
  std::memcpy(globals.data(), buffers[2].data(), sizeof globals);
  CHECK(globals[7] == 0.0F);   // flag_x
  CHECK(globals[19] == 0.0F);  // own_mean_x
  CHECK(globals[24] == 0.0F);  // seen_mean_x
  CHECK(*std::ranges::min_element(globals) == 0.0F);
}

TEST_CASE("flag commands: in clean both seats may do the same, and do the same by it") {
  for (const char* commands : {"tactical", "units"}) {
    Masks<G> masks(params_of(commands, "clean"));
    Masks<G> other(params_of(commands, "clean"));
    INFO(std::string(commands));
    Rng rng({5, 5}, 0);
    long masks_differ = 0;
    long orders_differ = 0;
    long orders = 0;
    long steps = 0;
    masks.play(25, rounds(8000), [&](const G::State& s) {
      if (++steps % 3 != 0) return;
      const G::State m = tests::mirrored(masks.rules, s);
      for (int seat = 0; seat < 2; ++seat) {
        masks.look(s, seat);
        other.look(m, 1 - seat);
        if (masks.mask != other.mask) {  // mirrored coordinates are rounded
          ++masks_differ;
          continue;
        }
        Decision4 a{};
        masks.layout.draw(masks.mask.data(), rng, std::span(a).first(masks.spec.heads.size()));
        G::State here = s;
        G::State there = m;
        REQUIRE(masks.takes(here, seat, a));
        REQUIRE(other.takes(there, 1 - seat, a));
        const G::State seen = tests::mirrored(masks.rules, here);
        ++orders;
        for (int i = 0; i < rts::kSlots; ++i) {
          const rts::State& x = seen.world;
          const rts::State& y = there.world;
          if (x.cmd[i] != y.cmd[i] || x.target[i] != y.target[i] ||
              std::abs(x.px[i] - y.px[i]) > 1e-4F || std::abs(x.py[i] - y.py[i]) > 1e-4F) {
            ++orders_differ;
            break;
          }
        }
      }
    });
    CHECK(orders > rounds(1000));
    CHECK(masks_differ <= orders / 50);
    CHECK(orders_differ <= orders / 500);
  }
}

TEST_CASE("flag commands: matches of uniform play end and replay to the same hash") {
  for (const char* commands : {"strategic", "tactical", "units"}) {
    for (const char* ruleset : {"elf", "clean"}) {
      INFO(std::string(commands), " ", std::string(ruleset));
      Params p = params_of(commands, ruleset);
      p.set("tick_limit", "6000");
      MatchContext<G> context(p);
      for (std::uint64_t match = 0; match < 2; ++match) {
        const std::vector<SeatDriver> drivers(2, SeatDriver{-1, 25});
        const Replay r = record_match<G>(context, p, {8, match}, drivers, 32);
        CHECK(r.over);
        CHECK(r.ticks > 1000);
        CHECK(r.heads == static_cast<int>(context.spec.heads.size()));
        const ReplayCheck check = replay_verify<G>(r);
        INFO(check.difference);
        CHECK(check.same);
      }
    }
  }
}

TEST_CASE("flag commands: the game conforms, and deciding allocates nothing") {
  for (const char* commands : {"tactical", "units"}) {
    for (const char* ruleset : {"elf", "clean"}) {
      Conformance<G> c(params_of(commands, ruleset), 6, 1000);
      const Findings& f = c.run(2);
      INFO(f.json());
      CHECK(f.clean());
    }
    Masks<G> masks(params_of(commands, "elf"));
    std::uint64_t grown = 0;
    G::State copy{};
    const Decision4 march{choice_named(masks.spec, "order", "attack_move_others"), 0, 9, 0};
    const Decision4 move{1, 0, 0, 0};
    const bool tactical = masks.rules.commands == rts::Commands::tactical;
    int acted = 0;
    masks.play(25, 400, [&](const G::State& s) {
      copy = s;
      const std::uint64_t before = thread_allocations();
      masks.look(s, 0);
      const Decision4& a = tactical ? march : move;
      if (masks.allows(a)) {
        G::act(masks.rules, copy, 0, masks.heads_of(a));
        ++acted;
      }
      grown += thread_allocations() - before;
    });
    CHECK(acted > 20);
    CHECK(grown == 0);
  }
}

}  // namespace
}  // namespace ludus
