#include "games/rts/engine/tactical_commands.hpp"

#include <algorithm>

#include "games/rts/engine/manoeuvres.hpp"

namespace ludus::rts {

namespace {

enum TacticalHead : std::uint8_t { kOrder, kGroup, kTarget, kSector };

// Behind the purchases.
enum Manoeuvre : std::uint8_t {
  kAttackMove,
  kFocusFire,
  kHitAndRun,
  kDefend,
  kRetreat,
  kRally,
  kManoeuvres
};
constexpr std::array<const char*, kManoeuvres> kManoeuvreNames = {
    "attack_move", "focus_fire", "hit_and_run", "defend", "retreat", "rally"};
constexpr int kTargets = kSlots + 1;

bool has_sector(int m) { return m == kAttackMove || m == kRally; }
bool has_target(int m) { return m == kFocusFire || m == kDefend; }

int first_manoeuvre(const TacticalGame& game) { return 1 + game.purchases; }
int orders(const TacticalGame& game) { return first_manoeuvre(game) + kManoeuvres; }

// Legal orders of a seat now.
struct Choices {
  const TacticalGame& game;
  const HomeRows rows;
  std::uint32_t useful = 0;
  std::array<std::uint64_t, kGroups> members{};      // by slot
  std::array<std::uint64_t, kGroups> victims{};      // of each group, a bit a row
  std::uint32_t at_base = 0;                         // a bit a group that may attack it
  std::array<std::uint32_t, kManoeuvres> groups{};   // a bit a group
  std::array<std::uint64_t, kManoeuvres> targets{};  // a bit a row

  Choices(const TacticalGame& g, const State& state, int seat, std::uint32_t possible)
      : game(g), rows(g.units, state, seat) {
    if (state.over || state.tick < g.units.first_decision) return;
    const EngineRules& engine = g.units.engine;
    useful = possible;
    targets[kFocusFire] = rows.victims;
    targets[kDefend] = rows.own == 0 ? 0 : (std::uint64_t{1} << (rows.own - 1) << 1) - 1;
    for (int k = 0; k < kGroups; ++k) {
      const auto n = static_cast<std::size_t>(k);
      const std::uint32_t bit = 1U << k;
      bool fights = false;
      bool moves = false;
      for_units(engine, state, seat, [&](int i) {
        if ((g.groups[n] >> state.type[i] & 1) == 0) return;
        members[n] |= slot_bit(i);
        fights |= engine.type[state.type[i]].takes(Cmd::attack);
        moves |= engine.type[state.type[i]].takes(Cmd::move);
      });
      if (fights) find_victims(state, n);
      if (fights && moves) groups[kAttackMove] |= bit;
      if (victims[n] != 0 || (at_base & bit) != 0) groups[kFocusFire] |= bit;
      if (victims[n] != 0) groups[kHitAndRun] |= bit;
      if (fights && moves) groups[kDefend] |= bit;
      if (moves && rows.base != kNone) groups[kRetreat] |= bit;
      if (moves) groups[kRally] |= bit;
    }
  }

  void find_victims(const State& state, std::size_t group) {
    const auto may = [&](int slot) {
      if (!game.units.attack_table) return true;
      bool some = false;
      for_bits(members[group], [&](int i) {
        some |= game.units.engine.may_attack(state.type[i], state.type[slot]);
      });
      return some;
    };
    for_bits(rows.victims, [&](int row) {
      if (may(rows.slot[static_cast<std::size_t>(row)])) {
        victims[group] |= std::uint64_t{1} << row;
      }
    });
    if (rows.enemy_base != kNone && may(rows.enemy_base)) at_base |= 1U << group;
  }

  [[nodiscard]] bool allows(int order) const {
    if (order == 0) return true;
    if (order < first_manoeuvre(game)) return (useful >> order & 1) != 0;
    return groups[static_cast<std::size_t>(order - first_manoeuvre(game))] != 0;
  }
  // Whether `group` may do that to the target `row`, or to the enemy's base.
  [[nodiscard]] bool allows(int manoeuvre, int group, int row) const {
    const auto g = static_cast<std::size_t>(group);
    if (row == kEnemyBaseChoice) return manoeuvre == kFocusFire && (at_base >> group & 1) != 0;
    if (row < 0 || row >= kSlots) return false;
    const std::uint64_t set = targets[static_cast<std::size_t>(manoeuvre)];
    return ((manoeuvre == kFocusFire ? victims[g] : set) >> row & 1) != 0;
  }
};

[[noreturn]] void refuse(const TacticalGame& game, int head, std::int32_t choice, const char* why) {
  const std::array<const char*, kGroups> groups{"", "", "", ""};
  refuse_choice(game.units.name, tactical_heads(game, {}, groups)[static_cast<std::size_t>(head)],
                choice, why);
}

}  // namespace

std::vector<HeadSpec> tactical_heads(const TacticalGame& game, std::span<const std::string> bought,
                                     const std::array<const char*, kGroups>& groups) {
  HeadSpec order;
  order.name = "order";
  order.size = orders(game);
  order.labels = {"nothing"};
  for (const std::string& name : bought) order.labels.push_back("build_" + name);
  order.labels.insert(order.labels.end(), kManoeuvreNames.begin(), kManoeuvreNames.end());
  order.meaning =
      "what to buy, or a manoeuvre of a group; every choice also sends idle workers to gather";
  HeadSpec group;
  group.name = "group";
  group.size = kGroups;
  group.labels.assign(groups.begin(), groups.end());
  group.depends_on = {kOrder};
  group.meaning = "who manoeuvres";
  HeadSpec target = row_head(
      "target", kSlots, 1, {kOrder},
      "focus_fire: the enemy, by its row, the last choice is the enemy's base, seen or not; "
      "defend: which own unit or building");
  if (game.units.attack_table) target.depends_on = {kOrder, kGroup};
  return {order, group, target,
          sector_head({kOrder},
                      "attack_move, rally: to the middle of which of 4 x 4 parts of the map")};
}

void legal_tactical_orders(const TacticalGame& game, const State& state, int seat,
                           std::uint32_t useful, std::uint8_t* mask) {
  const Choices c(game, state, seat, useful);
  const int n = orders(game);
  std::uint8_t* order = mask;
  std::uint8_t* group = order + n;
  std::uint8_t* target = group + n * kGroups;
  std::uint8_t* target_of_group = target + n * kTargets;
  std::uint8_t* sector = target_of_group + (game.units.attack_table ? kGroups * kTargets : 0);
  std::fill(mask, sector + n * kSectors, std::uint8_t{0});
  for (int o = 0; o < n; ++o) {
    order[o] = c.allows(o) ? 1 : 0;
    const int m = o - first_manoeuvre(game);
    if (m < 0) continue;
    expand_bits(c.groups[static_cast<std::size_t>(m)], kGroups, group + o * kGroups);
    expand_bits(c.targets[static_cast<std::size_t>(m)], kSlots, target + o * kTargets);
    target[o * kTargets + kEnemyBaseChoice] = m == kFocusFire && c.rows.enemy_base != kNone ? 1 : 0;
    std::fill_n(sector + o * kSectors, kSectors, static_cast<std::uint8_t>(has_sector(m) ? 1 : 0));
  }
  for (int g = 0; game.units.attack_table && g < kGroups; ++g) {
    const auto k = static_cast<std::size_t>(g);
    std::uint8_t* row = target_of_group + g * kTargets;
    expand_bits(c.victims[k] | c.targets[kDefend], kSlots, row);
    row[kEnemyBaseChoice] = static_cast<std::uint8_t>(c.at_base >> g & 1);
  }
}

TacticalOrder read_tactical_order(const TacticalGame& game, const State& state, int seat,
                                  std::uint32_t useful, std::span<const std::int32_t> action) {
  const Choices c(game, state, seat, useful);
  const int order = action[kOrder];
  if (order < 0 || order >= orders(game) || !c.allows(order)) {
    refuse(game, kOrder, order, "not possible now");
  }
  TacticalOrder out;
  if (order < first_manoeuvre(game)) {
    out.purchase = order;
    return out;
  }
  const int m = order - first_manoeuvre(game);
  const int group = action[kGroup];
  if (group < 0 || group >= kGroups || (c.groups[static_cast<std::size_t>(m)] >> group & 1) == 0) {
    refuse(game, kGroup, group, "the seat has no such units, or they cannot do that");
  }
  out.manoeuvre = m;
  out.units = c.members[static_cast<std::size_t>(group)];
  out.enemies = c.rows.slots_of(c.rows.victims);
  out.base = c.rows.base;
  if (has_target(m)) {
    const int row = action[kTarget];
    if (!c.allows(m, group, row)) refuse(game, kTarget, row, "not to be seen, or not of that kind");
    out.target =
        row == kEnemyBaseChoice ? c.rows.enemy_base : c.rows.slot[static_cast<std::size_t>(row)];
  }
  if (has_sector(m)) {
    const int sector = action[kSector];
    if (sector < 0 || sector >= kSectors) {
      refuse(game, kSector, sector, "expected an integer in [0, 15]");
    }
    out.where = middle_of_sector(game.units.engine, sector);
  }
  return out;
}

void give_tactical_order(const TacticalGame& game, State& state, const TacticalOrder& order) {
  const EngineRules& engine = game.units.engine;
  const auto [x, y] = order.where;
  OrderSet plan(state);
  switch (order.manoeuvre) {
    case kAttackMove:
      attack_move(engine, state, plan, order.units, order.enemies, x, y);
      break;
    case kFocusFire:
      focus_fire(engine, state, plan, order.units, order.target);
      break;
    case kHitAndRun:
      for_bits(order.units, [&](int i) {
        hit_and_run(engine, state, plan, i, attackable(engine, state, i, order.enemies));
      });
      break;
    case kDefend:
      defend(engine, state, plan, order.units, order.enemies, state.x[order.target],
             state.y[order.target], kDefendRadius);
      break;
    case kRetreat:
      retreat(engine, state, plan, order.units, state.x[order.base], state.y[order.base]);
      break;
    case kRally:
      rally(engine, state, plan, order.units, x, y);
      break;
    default:  // a purchase
      return;
  }
  for_bits(plan.given, [&](int i) { offer_order(engine, state, i, plan.order[i]); });
}

}  // namespace ludus::rts
