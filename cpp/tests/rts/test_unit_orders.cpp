// Unit commands of MiniRTS: the mask against a naive reading of the rules, choice by choice.
#include <array>
#include <cstring>
#include <set>
#include <tuple>
#include <vector>

#include "game/conformance.hpp"
#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/units.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/minirts/observe.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"
#include "tests/rts/orders.hpp"

namespace ludus {
namespace {

using M = MiniRts;
constexpr int kNobody = 32;
constexpr int kEnemyBase = 64;
constexpr int kMove = 0, kAttack = 1, kGather = 2, kBuild = 3;  // + unit type

Params params_of(const char* ruleset) {
  Params p;
  p.set("commands", "units");
  p.set("ruleset", ruleset);
  return p;
}

TEST_CASE("unit orders: a hundred thousand random decisions are all accepted") {
  for (const char* ruleset : {"elf", "clean"}) {
    tests::Masks<M> masks(params_of(ruleset));
    std::set<int> kinds;
    int orders = 0;
    CHECK_NOTHROW(masks.play(10, rounds(50000), [&](const M::State& s) {
      for (int i = 0; i < rts::kSlots; ++i) {
        if (s.world.cmd[i] != rts::Cmd::idle) kinds.insert(static_cast<int>(s.world.cmd[i]));
      }
      ++orders;
    }));
    CHECK(kinds == std::set<int>{1, 2, 3, 4});  // every kind of command was given
    CHECK(orders == rounds(50000) / 2);
  }
}

// The rules again, one choice at a time and without bit sets: the legal orders of a seat, and the
// targets a row of its observation means.
struct Naive {
  const M::Rules& rules;
  const rts::State& s;
  int seat;
  std::vector<int> rows;  // slot of each row of the tensor `units`
  int own = 0;

  Naive(const M::Rules& r, const M::State& state, int who) : rules(r), s(state.world), seat(who) {
    const std::uint64_t seen = rts::visible_units(r.engine, s, rts::sight_of(r.engine, s, who));
    for (const bool mine : {true, false}) {
      for (int i = 0; i < rts::kSlots; ++i) {
        if ((seen >> i & 1) != 0 && (r.engine.owner_of(i) == who) == mine) rows.push_back(i);
      }
      if (mine) own = static_cast<int>(rows.size());
    }
  }
  [[nodiscard]] const rts::UnitType& type(int slot) const {
    return rules.engine.type[s.type[slot]];
  }
  [[nodiscard]] int base_of(int owner) const {
    for (int i = 0; i < rts::kSlots; ++i) {
      const bool alive =
          i - rules.engine.first_slot[rules.engine.owner_of(i)] < s.units[rules.engine.owner_of(i)];
      if (alive && rules.engine.owner_of(i) == owner && s.type[i] == rts::kBase) return i;
    }
    return -1;
  }
  [[nodiscard]] std::pair<float, float> point(int slot, int place) const {
    static constexpr int kX[] = {-1, 1, 0, 0, -1, -1, 1, 1};
    static constexpr int kY[] = {0, 0, -1, 1, -1, 1, -1, 1};
    static constexpr int kFar[] = {2, 4, 8};
    const int n = place - 1;
    const int far = place == 0 ? 0 : kFar[n / 8];
    return {static_cast<float>(rts::cell_coord(s.x[slot]) + far * kX[n & 7]),
            static_cast<float>(rts::cell_coord(s.y[slot]) + far * kY[n & 7])};
  }
  [[nodiscard]] bool place_ok(int slot, int order, int place) const {
    if (place == 0) return order >= kBuild;
    if (type(slot).building) return false;
    const auto [x, y] = point(slot, place);
    const int side = rules.engine.side;
    if (x < 0 || y < 0 || x > static_cast<float>(side - 1) || y > static_cast<float>(side - 1)) {
      return false;
    }
    for (const int i : rows) {
      if (i != slot && rts::distance2(x, y, s.x[i], s.y[i]) < 0.25F) return false;
    }
    return true;
  }
  [[nodiscard]] bool target_ok(int order, int target) const {
    if (order == kAttack && target == kEnemyBase) return base_of(1 - seat) >= 0;
    if (target >= static_cast<int>(rows.size())) return false;
    const int slot = rows[static_cast<std::size_t>(target)];
    if (order == kGather) return s.type[slot] == rts::kResource;
    return rules.engine.owner_of(slot) != seat && !type(slot).invulnerable;
  }
  // Head by head, as the mask's contract has it: a head counts where it has a legal choice.
  [[nodiscard]] bool ok(int unit, int order, int target, int place) const {
    if (unit == kNobody) return true;
    if (unit >= own) return false;
    const int slot = rows[static_cast<std::size_t>(unit)];
    const rts::UnitType& t = type(slot);
    if (t.building && s.cmd[slot] != rts::Cmd::idle) return false;
    if (order == kMove) return t.takes(rts::Cmd::move) && place_ok(slot, order, place);
    if (order == kAttack) return t.takes(rts::Cmd::attack) && target_ok(order, target);
    if (order == kGather) {
      return t.takes(rts::Cmd::gather) && base_of(seat) >= 0 && target_ok(order, target);
    }
    const int what = order - kBuild;
    return t.takes(rts::Cmd::build) && (t.builds >> what & 1) != 0 &&
           s.money[seat] >= rules.engine.type[what].cost && place_ok(slot, order, place);
  }
};

TEST_CASE("unit orders: the mask allows exactly what the rules take, and the engine obeys") {
  for (const char* ruleset : {"elf", "clean"}) {
    tests::Masks<M> masks(params_of(ruleset));
    const M::Rules& rules = masks.rules;
    const MaskLayout& layout = masks.layout;
    long legal = 0;
    long wrong = 0;
    long accepted_otherwise = 0;
    long disobeyed = 0;
    int step = 0;
    masks.play(40, 3000, [&](const M::State& s) {
      if (++step % 150 != 0) return;
      const int seat = step / 150 % 2;
      const Naive naive(rules, s, seat);
      masks.look(s, seat);
      for (int unit = 0; unit <= kNobody; ++unit) {
        for (int order = 0; order < layout.size(1); ++order) {
          // Targets and places do not touch each other: each is tried with one of the other.
          for (int n = 0; n < layout.size(2) + layout.size(3); ++n) {
            const int target = n < layout.size(2) ? n : 0;
            const int place = n < layout.size(2) ? 0 : n - layout.size(2);
            const tests::Decision4 a{unit, order, target, place};
            const bool allowed = masks.allows(a);
            if (allowed != naive.ok(unit, order, target, place)) ++wrong;
            legal += allowed ? 1 : 0;
            M::State copy = s;
            const bool taken = masks.takes(copy, seat, a);
            if (taken != allowed) ++accepted_otherwise;
            if (!taken || unit == kNobody) continue;
            const int slot = naive.rows[static_cast<std::size_t>(unit)];
            const rts::State& w = copy.world;
            const rts::Cmd cmd = order == kMove     ? rts::Cmd::move
                                 : order == kAttack ? rts::Cmd::attack
                                 : order == kGather ? rts::Cmd::gather
                                                    : rts::Cmd::build;
            bool obeys = w.cmd[slot] == cmd;
            if (order == kAttack || order == kGather) {
              const int meant = target == kEnemyBase ? naive.base_of(1 - seat)
                                                     : naive.rows[static_cast<std::size_t>(target)];
              obeys = obeys && (order == kAttack ? w.target[slot] : w.source[slot]) == meant;
            } else {
              const auto [x, y] = naive.point(slot, place);
              obeys =
                  obeys && (place == 0 ? w.source[slot] == 1 : w.px[slot] == x && w.py[slot] == y);
              obeys = obeys && (order == kMove || w.target[slot] == order - kBuild);
            }
            disobeyed += obeys ? 0 : 1;
          }
        }
      }
    });
    CHECK(legal > 2000);
    CHECK(wrong == 0);
    CHECK(accepted_otherwise == 0);
    CHECK(disobeyed == 0);
  }
}

TEST_CASE("unit orders: rows of the observation are what units and targets mean") {
  tests::Masks<M> masks(params_of("elf"));
  const M::Rules& rules = masks.rules;
  const GameSpec& spec = masks.spec;
  const auto& tensor = spec.observation[1];
  REQUIRE(tensor.name == "units");
  std::vector<std::vector<std::byte>> buffers;
  std::vector<std::byte*> pointers;
  for (const TensorSpec& t : spec.observation) buffers.emplace_back(t.bytes());
  for (auto& b : buffers) pointers.push_back(b.data());
  int looked = 0;
  int wrong = 0;
  masks.play(25, 4000, [&](const M::State& s) {
    const Naive naive(rules, s, 1);
    M::observe(rules, s, 1, pointers);
    const auto* row = reinterpret_cast<const std::uint8_t*>(buffers[1].data());
    for (int i = 0; i < rts::kUnitRows; ++i, row += rts::kUnitCols) {
      if (i >= static_cast<int>(naive.rows.size())) {
        wrong += row[0] != 0 || row[1] != 0 ? 1 : 0;
        continue;
      }
      const int slot = naive.rows[static_cast<std::size_t>(i)];
      const bool mine = rules.engine.owner_of(slot) == 1;
      wrong += row[mine ? 0 : 1] == 255 && row[2 + s.world.type[slot]] == 255 ? 0 : 1;
      ++looked;
    }
  });
  CHECK(looked > 10000);
  CHECK(wrong == 0);
}

TEST_CASE("unit orders: a unit's present order continues undisturbed") {
  tests::Masks<M> masks(params_of("elf"));
  const M::Rules& rules = masks.rules;
  int gatherers = 0;
  masks.play(20, 4000, [&](const M::State& s) {
    const Naive naive(rules, s, 0);
    for (int u = 0; u < naive.own; ++u) {
      const int slot = naive.rows[static_cast<std::size_t>(u)];
      if (s.world.cmd[slot] != rts::Cmd::gather || s.world.phase[slot] == 0) continue;
      for (std::size_t t = 0; t < naive.rows.size(); ++t) {
        if (naive.rows[t] != s.world.source[slot]) continue;
        M::State copy = s;
        const std::array<std::int32_t, 4> again{u, kGather, static_cast<int>(t), 0};
        M::act(rules, copy, 0, again);
        CHECK(M::hash(rules, copy) == M::hash(rules, s));
        ++gatherers;
      }
    }
  });
  CHECK(gatherers > 10);
}

TEST_CASE("unit orders: the game conforms, and deciding allocates nothing") {
  Params p;
  p.set("commands", "units");
  Conformance<M> c(p, 6, 2500);
  const Findings& f = c.run(4);
  INFO(f.json());
  CHECK(f.clean());

  const M::Rules rules = M::make_rules(p);
  const GameSpec spec = M::spec(rules);
  M::State s{};
  M::reset(rules, s, {1, 2});
  for (int i = 0; i < 50; ++i) M::advance(rules, s);
  std::vector<std::uint8_t> mask(spec.mask_bytes());
  const std::array<std::int32_t, 4> action{kNobody, 0, 0, 0};
  const std::uint64_t before = thread_allocations();
  M::legal(rules, s, 0, mask.data());
  M::act(rules, s, 0, action);
  CHECK(thread_allocations() == before);
}

}  // namespace
}  // namespace ludus
