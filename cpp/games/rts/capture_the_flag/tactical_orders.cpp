#include "games/rts/capture_the_flag/tactical_orders.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "games/rts/capture_the_flag/observe.hpp"
#include "games/rts/capture_the_flag/strategy.hpp"
#include "games/rts/engine/manoeuvres.hpp"

namespace ludus::rts {

namespace {

enum TacticalHead : std::uint8_t { kOrder, kTarget, kSector };

enum class Manoeuvre : std::uint8_t {
  get_flag,
  attack_flag,
  protect_flag,
  attack_move,
  focus_fire,
  hit_and_run,
  defend,
  retreat,
  rally
};
constexpr std::array<const char*, 9> kManoeuvreNames = {
    "get_flag",    "attack_flag", "protect_flag", "attack_move", "focus_fire",
    "hit_and_run", "defend",      "retreat",      "rally"};
constexpr int kManoeuvres = static_cast<int>(kManoeuvreNames.size());
constexpr int kFetching = 3;  // the first ones are not for who has the flag

enum Group : std::uint8_t { kCarrier, kOthers, kFront, kRear, kGroups };
constexpr std::array<const char*, kGroups> kGroupNames = {"carrier", "others", "front", "rear"};
constexpr int kFrontSize = 2;

// Orders 0 and 1 are of no group.
constexpr int kNothing = 0;
constexpr int kEscort = 1;
constexpr int kFirst = 2;
struct GroupOrder {
  Manoeuvre manoeuvre;
  Group group;
};
constexpr int kGroupOrders = kManoeuvres * kGroups - kFetching;
constexpr std::array<GroupOrder, kGroupOrders> kOrderOf = [] {
  std::array<GroupOrder, kGroupOrders> all{};
  std::size_t n = 0;
  for (int m = 0; m < kManoeuvres; ++m) {
    for (int g = m < kFetching ? kOthers : kCarrier; g < kGroups; ++g) {
      all[n++] = {static_cast<Manoeuvre>(m), static_cast<Group>(g)};
    }
  }
  return all;
}();
constexpr int kOrders = kFirst + kGroupOrders;

bool has_target(Manoeuvre m) { return m == Manoeuvre::focus_fire || m == Manoeuvre::defend; }
bool has_sector(Manoeuvre m) { return m == Manoeuvre::attack_move || m == Manoeuvre::rally; }

// A seat's orders and the units that can take them.
struct Side {
  const CtfRules& rules;
  const State& state;
  int seat;
  FlagPlace flag;
  SeenRows rows;
  std::uint64_t athletes = 0, enemies = 0;           // by slot
  std::array<std::uint64_t, kGroups> members{};      // by slot
  std::array<std::uint64_t, kManoeuvres> targets{};  // by row: legal targets of each
  int base = kNone;

  Side(const CtfRules& r, const State& s, int who)
      : rules(r),
        state(s),
        seat(who),
        flag(find_flag(r, s)),
        rows(r.engine, s, who, known_units(r, s, who, flag)) {
    if (s.over || s.tick < r.first_decision) return;
    for_units(r.engine, s, who, [&](int i) {
      if (CtfRules::athlete(s.type[i])) athletes |= slot_bit(i);
      if (s.type[i] == kFlagBase && base == kNone) base = i;
    });
    enemies = rows.slots_of(rows.victims);
    members[kCarrier] = athletes & s.carrying;
    members[kOthers] = athletes & ~s.carrying;
    const int at = flag.free != kNone ? flag.free : flag.carrier;
    for (int n = 0; at != kNone && n < kFrontSize; ++n) {
      auto closest = static_cast<float>(r.engine.cells() * 4);
      const int next = nearest(s, members[kOthers] & ~members[kFront], s.x[at], s.y[at], closest);
      if (next != kNone) members[kFront] |= slot_bit(next);
    }
    members[kRear] = members[kOthers] & ~members[kFront];
    targets[static_cast<std::size_t>(Manoeuvre::focus_fire)] = rows.victims;
    std::uint64_t& guarded = targets[static_cast<std::size_t>(Manoeuvre::defend)];
    for (int row = 0; row < rows.rows; ++row) {
      if (row < rows.own || rows.slot[static_cast<std::size_t>(row)] == flag.free) {
        guarded |= std::uint64_t{1} << row;
      }
    }
  }

  // The orders of a manoeuvre of `units`. `at` is a slot or a sector, where it needs one.
  void plan(OrderSet& out, Manoeuvre m, std::uint64_t units, int at) const {
    const EngineRules& engine = rules.engine;
    switch (m) {
      case Manoeuvre::get_flag:
        if (flag.free == kNone) return;
        for_bits(units, [&](int i) {
          if (state.cmd[i] == Cmd::get_flag && state.target[i] == flag.free) return;
          out.put(i, get_flag_order(flag.free));
        });
        return;
      case Manoeuvre::attack_flag:
        if (flag.owner == 1 - seat) focus_fire(engine, state, out, units, flag.carrier);
        return;
      case Manoeuvre::protect_flag: {
        const int attacker = flag.owner == seat ? state.damaged_by[flag.carrier] : kNone;
        if (attacker != kNone) focus_fire(engine, state, out, units, attacker);
        return;
      }
      case Manoeuvre::attack_move: {
        const Point p = middle(at);
        attack_move(engine, state, out, units, enemies, p.x, p.y);
        return;
      }
      case Manoeuvre::focus_fire:
        focus_fire(engine, state, out, units, at);
        return;
      case Manoeuvre::hit_and_run:
        for_bits(units, [&](int i) { hit_and_run(engine, state, out, i, enemies); });
        return;
      case Manoeuvre::defend:
        defend(engine, state, out, units, enemies, state.x[at], state.y[at], kDefendRadius);
        return;
      case Manoeuvre::retreat:
        if (base != kNone) retreat(engine, state, out, units, state.x[base], state.y[base]);
        return;
      case Manoeuvre::rally: {
        const Point p = middle(at);
        rally(engine, state, out, units, p.x, p.y);
        return;
      }
    }
  }

  // Units that take an order of a manoeuvre of all. The order of
  // one unit does not depend on the other units, except for the cell that it is sent to.
  [[nodiscard]] std::uint64_t takers(OrderSet& scratch, Manoeuvre m, int at = kNone) const {
    if (m == Manoeuvre::hit_and_run) {
      std::uint64_t set = 0;
      for_bits(runners(athletes), [&](int i) {
        if (may_hit_and_run(rules.engine, state, i, enemies)) set |= slot_bit(i);
      });
      return set;
    }
    scratch.given = 0;
    plan(scratch, m, athletes, at);
    return taken(scratch);
  }
  [[nodiscard]] std::uint64_t taken(const OrderSet& p) const {
    std::uint64_t set = 0;
    for_bits(p.given, [&](int i) {
      if (takes_order(rules.engine, state, i, p.order[static_cast<std::size_t>(i)])) {
        set |= slot_bit(i);
      }
    });
    return set;
  }
  // Those that can do either half of hit and run.
  [[nodiscard]] std::uint64_t runners(std::uint64_t units) const {
    std::uint64_t set = 0;
    for_bits(units, [&](int i) {
      const UnitType& type = rules.engine.type[state.type[i]];
      if (type.takes(Cmd::attack) && type.takes(Cmd::move)) set |= slot_bit(i);
    });
    return set;
  }

  [[nodiscard]] bool may_escort() const {
    return flag.owner == seat && members[kCarrier] != 0 &&
           state.cmd[flag.carrier] != Cmd::escort_flag &&
           takes_order(rules.engine, state, flag.carrier, escort_flag_order());
  }

 private:
  [[nodiscard]] Point middle(int sector) const {
    const Point p = middle_of_sector(rules.engine, sector);
    return {rules.column(state, seat, p.x), p.y};
  }
};

[[noreturn]] void refuse(int head, std::int32_t choice, const char* why) {
  refuse_choice("capture_the_flag", flag_tactical_heads()[static_cast<std::size_t>(head)], choice,
                why);
}

}  // namespace

std::vector<HeadSpec> flag_tactical_heads() {
  HeadSpec order;
  order.name = "order";
  order.size = kOrders;
  order.labels = {"nothing", "escort_flag"};
  for (const GroupOrder& o : kOrderOf) {
    order.labels.push_back(std::string(kManoeuvreNames[static_cast<std::size_t>(o.manoeuvre)]) +
                           "_" + kGroupNames[o.group]);
  }
  order.meaning = "a manoeuvre and the group that carries it out; nothing; or the carrier home";
  return {
      order,
      row_head("target", kFlagUnitRows, 0, {kOrder},
               "focus_fire: the enemy; defend: which own unit, the base or the free flag; by its "
               "row"),
      sector_head({kOrder},
                  "attack_move, rally: to the middle of which of 4 x 4 parts of the field")};
}

void legal_flag_tactics(const CtfRules& rules, const State& state, int seat, std::uint8_t* mask) {
  const Side side(rules, state, seat);
  std::uint8_t* order = mask;
  std::uint8_t* target = order + kOrders;
  std::uint8_t* sector = target + kOrders * kFlagUnitRows;
  std::fill_n(mask, kOrders * (1 + kFlagUnitRows + kSectors), std::uint8_t{0});
  order[kNothing] = 1;
  if (side.athletes == 0) return;
  order[kEscort] = side.may_escort() ? 1 : 0;
  OrderSet scratch(state);
  // Orders come manoeuvre by manoeuvre: who takes each is found once for all groups.
  for (int o = 0; o < kGroupOrders;) {
    const Manoeuvre m = kOrderOf[static_cast<std::size_t>(o)].manoeuvre;
    const int first = o;
    while (o < kGroupOrders && kOrderOf[static_cast<std::size_t>(o)].manoeuvre == m) ++o;
    const auto allow = [&](std::uint64_t takers, std::uint8_t* table, int width, int choice) {
      for (int k = first; k < o; ++k) {
        const Group g = kOrderOf[static_cast<std::size_t>(k)].group;
        if ((takers & side.members[g]) == 0) continue;
        order[kFirst + k] = 1;
        if (table != nullptr) table[(kFirst + k) * width + choice] = 1;
      }
    };
    if (has_target(m)) {
      for_bits(side.targets[static_cast<std::size_t>(m)], [&](int row) {
        const int slot = side.rows.slot[static_cast<std::size_t>(row)];
        allow(side.takers(scratch, m, slot), target, kFlagUnitRows, row);
      });
    } else if (has_sector(m)) {
      for (int s = 0; s < kSectors; ++s) {
        allow(side.takers(scratch, m, s), sector, kSectors, s);
      }
    } else {
      allow(side.takers(scratch, m), nullptr, 0, 0);
    }
  }
}

void order_athletes(const CtfRules& rules, State& state, int seat,
                    std::span<const std::int32_t> action) {
  const int order = action[kOrder];
  if (order == kNothing) return;
  if (order < 0 || order >= kOrders) refuse(kOrder, order, "expected an integer in [0, 34]");
  static_assert(kOrders == 35);
  const Side side(rules, state, seat);
  if (order == kEscort) {
    if (!side.may_escort()) refuse(kOrder, order, "no unit has the flag but those on the way home");
    give_order(state, side.flag.carrier, escort_flag_order());
    return;
  }
  const auto [m, group] = kOrderOf[static_cast<std::size_t>(order - kFirst)];
  std::uint64_t units = side.members[group];
  if (units == 0) refuse(kOrder, order, "no unit is in that group now");
  if (m == Manoeuvre::hit_and_run) units = side.runners(units);
  int at = kNone;
  int blamed = kOrder;
  if (has_target(m)) {
    blamed = kTarget;
    const int row = action[kTarget];
    const bool known = row >= 0 && row < kFlagUnitRows &&
                       (side.targets[static_cast<std::size_t>(m)] >> row & 1) != 0;
    if (!known) refuse(kTarget, row, "not to be seen, or not of that kind");
    at = side.rows.slot[static_cast<std::size_t>(row)];
  } else if (has_sector(m)) {
    blamed = kSector;
    at = action[kSector];
    if (at < 0 || at >= kSectors) refuse(kSector, at, "expected an integer in [0, 15]");
  }
  OrderSet plan(state, rules.mirrored(state, seat));
  side.plan(plan, m, units, at);
  const std::uint64_t taken = side.taken(plan);
  if (taken == 0) {
    refuse(blamed, action[static_cast<std::size_t>(blamed)], "gives no unit a new order");
  }
  for_bits(taken, [&](int i) { give_order(state, i, plan.order[static_cast<std::size_t>(i)]); });
}

}  // namespace ludus::rts
