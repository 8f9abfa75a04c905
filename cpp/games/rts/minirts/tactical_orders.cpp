#include "games/rts/minirts/tactical_orders.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "game/game.hpp"
#include "games/rts/engine/manoeuvres.hpp"
#include "games/rts/minirts/seen_rows.hpp"
#include "games/rts/minirts/strategy.hpp"

namespace ludus::rts {

namespace {

enum TacticalHead : std::uint8_t { kOrder, kGroup, kTarget, kSector };

// The first five are the strategic ones of the same number.
enum TacticalOrder : std::uint8_t {
  kNothing,
  kFirstManoeuvre = kBuildRange + 1,
  kAttackMove = kFirstManoeuvre,
  kFocusFire,
  kHitAndRunFrom,
  kDefendPoint,
  kRetreat,
  kRally
};
constexpr int kTacticalOrders = kRally + 1;
constexpr std::array<const char*, kTacticalOrders> kOrderNames = {"nothing",
                                                                  "build_worker",
                                                                  "build_barracks",
                                                                  "build_melee_attacker",
                                                                  "build_range_attacker",
                                                                  "attack_move",
                                                                  "focus_fire",
                                                                  "hit_and_run",
                                                                  "defend",
                                                                  "retreat",
                                                                  "rally"};

enum Group : std::uint8_t { kWorkers, kMeleeAttackers, kRangeAttackers, kTroops };
constexpr int kGroups = kTroops + 1;
constexpr std::array<const char*, kGroups> kGroupNames = {"workers", "melee_attackers",
                                                          "range_attackers", "troops"};
constexpr int kTargets = kSlots + 1;

// What a seat may order now.
struct Choices {
  const MiniRows rows;
  std::array<std::uint64_t, kGroups> members{};  // by slot
  ActionSet purchases = 0;
  std::array<std::uint32_t, kTacticalOrders> groups{};   // a bit a group
  std::array<std::uint64_t, kTacticalOrders> targets{};  // a bit a row
  bool decides = false;

  Choices(const MiniRules& rules, const State& state, int seat) : rows(rules, state, seat) {
    decides = !state.over && state.tick >= rules.first_decision;
    if (!decides) return;
    constexpr ActionSet kPurchases = action_bit(kBuildWorker) | action_bit(kBuildBarrack) |
                                     action_bit(kBuildMelee) | action_bit(kBuildRange);
    purchases = useful_actions(rules, state, seat) & kPurchases;
    const EngineRules& engine = rules.engine;
    members[kWorkers] = of_type(engine, state, seat, kWorker);
    members[kMeleeAttackers] = of_type(engine, state, seat, kMelee);
    members[kRangeAttackers] = of_type(engine, state, seat, kRange);
    members[kTroops] = members[kMeleeAttackers] | members[kRangeAttackers];
    targets[kFocusFire] = rows.victims;
    targets[kDefendPoint] = (std::uint64_t{1} << (rows.own - 1) << 1) - 1;
    if (rows.own == 0) targets[kDefendPoint] = 0;
    for (int g = 0; g < kGroups; ++g) {
      const std::uint64_t set = members[static_cast<std::size_t>(g)];
      if (set == 0) continue;
      const std::uint32_t bit = 1U << g;
      const bool fights = engine.type[type_of(g)].takes(Cmd::attack);
      const bool moves = engine.type[type_of(g)].takes(Cmd::move);
      if (fights && moves) groups[kAttackMove] |= bit;
      if (fights && (rows.victims != 0 || rows.enemy_base != kNone)) groups[kFocusFire] |= bit;
      if (fights && rows.victims != 0) groups[kHitAndRunFrom] |= bit;
      if (fights && moves) groups[kDefendPoint] |= bit;
      if (moves && rows.base != kNone) groups[kRetreat] |= bit;
      if (moves) groups[kRally] |= bit;
    }
  }

  static std::size_t type_of(int group) {
    return group == kWorkers ? kWorker : group == kRangeAttackers ? kRange : kMelee;
  }
  [[nodiscard]] bool allows(int order) const {
    if (order == kNothing) return true;
    if (order < kFirstManoeuvre) return (purchases & action_bit(order)) != 0;
    return groups[static_cast<std::size_t>(order)] != 0;
  }
  [[nodiscard]] bool allows_enemy_base(int order) const {
    return order == kFocusFire && rows.enemy_base != kNone;
  }
  static bool has_sector(int order) { return order == kAttackMove || order == kRally; }
  static bool has_target(int order) { return order == kFocusFire || order == kDefendPoint; }
};

[[noreturn]] void refuse(int head, std::int32_t choice, const char* why) {
  refuse_choice("minirts", tactical_heads()[static_cast<std::size_t>(head)], choice, why);
}

}  // namespace

std::vector<HeadSpec> tactical_heads() {
  HeadSpec order;
  order.name = "order";
  order.size = kTacticalOrders;
  order.labels.assign(kOrderNames.begin(), kOrderNames.end());
  order.meaning =
      "what to buy, or a manoeuvre of a group; every choice also sends idle workers to gather";
  HeadSpec group;
  group.name = "group";
  group.size = kGroups;
  group.labels.assign(kGroupNames.begin(), kGroupNames.end());
  group.depends_on = {kOrder};
  group.meaning = "who manoeuvres";
  return {order, group,
          row_head("target", kSlots, 1, {kOrder},
                   "focus_fire: whom, by its row, the last choice is the enemy's base, seen or "
                   "not; defend: which own unit or building"),
          sector_head({kOrder},
                      "attack_move, rally: to the middle of which of 4 x 4 parts of the map")};
}

void legal_tactical_orders(const MiniRules& rules, const State& state, int seat,
                           std::uint8_t* mask) {
  const Choices c(rules, state, seat);
  std::uint8_t* order = mask;
  std::uint8_t* group = order + kTacticalOrders;
  std::uint8_t* target = group + kTacticalOrders * kGroups;
  std::uint8_t* sector = target + kTacticalOrders * kTargets;
  for (int o = 0; o < kTacticalOrders; ++o) {
    const auto n = static_cast<std::size_t>(o);
    order[o] = c.allows(o) ? 1 : 0;
    expand_bits(c.groups[n], kGroups, group + o * kGroups);
    expand_bits(c.targets[n], kSlots, target + o * kTargets);
    target[o * kTargets + kEnemyBaseChoice] = c.allows_enemy_base(o) ? 1 : 0;
    std::fill_n(sector + o * kSectors, kSectors,
                static_cast<std::uint8_t>(Choices::has_sector(o) ? 1 : 0));
  }
}

void order_group(const MiniRules& rules, State& state, int seat,
                 std::span<const std::int32_t> action) {
  const Choices c(rules, state, seat);
  const int order = action[kOrder];
  if (order < 0 || order >= kTacticalOrders || !c.allows(order)) {
    refuse(kOrder, order, "not possible now");
  }
  if (order < kFirstManoeuvre) {
    act_strategy(rules, state, seat, action_bit(order));
    return;
  }
  const auto n = static_cast<std::size_t>(order);
  const int group = action[kGroup];
  if (group < 0 || group >= kGroups || (c.groups[n] >> group & 1) == 0) {
    refuse(kGroup, group, "the seat has no such units, or they cannot do that");
  }
  int target = kNone;
  if (Choices::has_target(order)) {
    const int row = action[kTarget];
    if (row == kEnemyBaseChoice && c.allows_enemy_base(order)) {
      target = c.rows.enemy_base;
    } else if (row >= 0 && row < kSlots && (c.targets[n] >> row & 1) != 0) {
      target = c.rows.slot[static_cast<std::size_t>(row)];
    } else {
      refuse(kTarget, row, "not to be seen, or not of that kind");
    }
  }
  Point where{};
  if (Choices::has_sector(order)) {
    const int sector = action[kSector];
    if (sector < 0 || sector >= kSectors) refuse(kSector, sector, "expected an integer in [0, 15]");
    where = middle_of_sector(rules.engine, sector);
  }
  act_strategy(rules, state, seat, action_bit(kStart));
  const std::uint64_t units = c.members[static_cast<std::size_t>(group)];
  const std::uint64_t enemies = c.rows.slots_of(c.rows.victims);
  const EngineRules& engine = rules.engine;
  Plan plan(state);
  switch (order) {
    case kAttackMove:
      attack_move(engine, state, plan, units, enemies, where.x, where.y);
      break;
    case kFocusFire:
      focus_fire(engine, state, plan, units, target);
      break;
    case kHitAndRunFrom:
      for_bits(units, [&](int i) { hit_and_run(engine, state, plan, i, enemies); });
      break;
    case kDefendPoint:
      defend(engine, state, plan, units, enemies, state.x[target], state.y[target], kDefendRadius);
      break;
    case kRetreat:
      retreat(engine, state, plan, units, state.x[c.rows.base], state.y[c.rows.base]);
      break;
    default:
      rally(engine, state, plan, units, where.x, where.y);
  }
  for_bits(plan.given, [&](int i) { offer_order(engine, state, i, plan.order[i]); });
}

}  // namespace ludus::rts
