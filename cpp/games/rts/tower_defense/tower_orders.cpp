#include "games/rts/tower_defense/tower_orders.hpp"

#include <algorithm>
#include <array>

#include "games/rts/engine/units.hpp"
#include "games/rts/tower_defense/observe.hpp"
#include "games/rts/tower_defense/strategy.hpp"

namespace ludus::rts {

namespace {

constexpr const char* kGame = "tower_defense";

enum TacticalHead : std::uint8_t { kTowerCell, kFire };
constexpr int kFireAtNearest = kSlots;

enum UnitHead : std::uint8_t { kUnit, kOrder, kTarget, kCell };
enum OrderKind : std::uint8_t { kAttackAt, kBuildAt, kOrderKinds };
constexpr int kNobody = kDefenderSlots;

// Orders that a seat may give now, by rows of the tensor `units`.
struct Choices {
  const TdRules& rules;
  const State& state;
  SeenRows rows;
  bool decides;

  Choices(const TdRules& r, const State& s)
      : rules(r),
        state(s),
        rows(r.engine, s, kDefender, all_units(r.engine, s)),
        decides(!s.over && s.tick >= r.first_decision && s.bases[kDefender] != 0) {}

  [[nodiscard]] int slot(int row) const { return rows.slot[static_cast<std::size_t>(row)]; }
  [[nodiscard]] bool is(int row, TowerType type) const { return state.type[slot(row)] == type; }

  // The attackers that the unit strikes at and is not about, a bit a row.
  [[nodiscard]] std::uint64_t targets_of(int unit) const {
    std::uint64_t set = 0;
    for (int row = rows.own; decides && row < rows.rows; ++row) {
      if (!is(row, kAttacker)) continue;
      const int at = slot(row);
      const int by = slot(unit);
      const bool about_it = state.cmd[by] == Cmd::attack && state.target[by] == at;
      if (!about_it && reaches(rules, state, by, at) &&
          takes_order(rules.engine, state, by, attack_order(at))) {
        set |= std::uint64_t{1} << row;
      }
    }
    return set;
  }
  // The targets of all towers.
  [[nodiscard]] std::uint64_t targets() const {
    std::uint64_t set = 0;
    for (int unit = 0; unit < rows.own; ++unit) {
      if (is(unit, kTower)) set |= targets_of(unit);
    }
    return set;
  }
  [[nodiscard]] bool may_build(int cell) const {
    return decides && can_build_tower(rules, state, cell);
  }
  [[nodiscard]] bool builds(int unit) const {
    return is(unit, kTowerBase) && takes_order(rules.engine, state, slot(unit), tower_order(0, 0));
  }
};

[[noreturn]] void refuse(const std::vector<HeadSpec>& heads, int head, std::int32_t choice,
                         const char* why) {
  refuse_choice(kGame, heads[static_cast<std::size_t>(head)], choice, why);
}

bool has(std::uint64_t rows, int row) { return row >= 0 && row < kSlots && (rows >> row & 1) != 0; }

}  // namespace

HeadSpec cell_head(const char* name, const char* meaning) {
  HeadSpec head;
  head.name = name;
  head.size = kTowerActions;
  head.meaning = meaning;
  head.points_at = "map";
  head.rows = kTowerActions;
  head.by_columns = true;
  return head;
}

std::vector<HeadSpec> tower_tactical_heads() {
  return {cell_head("tower",
                    "a tower in the cell x = choice div 20, y = choice mod 20; 0, where the base "
                    "stands, waits"),
          row_head("fire", kSlots, 1, {},
                   "at which attacker all towers fire that reach it, by its row; the others, and "
                   "with the last choice all, take the nearest as on the strategic level")};
}

std::vector<HeadSpec> tower_unit_heads() {
  HeadSpec order;
  order.name = "order";
  order.size = kOrderKinds;
  order.labels = {"attack", "build_tower"};
  order.depends_on = {kUnit};
  order.meaning = "what the tower or the base shall do";
  HeadSpec cell = cell_head("cell", "where to build: x = choice div 20, y = choice mod 20");
  cell.depends_on = {kOrder};
  return {row_head("unit", kDefenderSlots, 1, {},
                   "the base or which tower gets an order, by its row; the last choice is none"),
          order,
          row_head("target", kSlots, 0, {kUnit, kOrder}, "which attacker to attack, by its row"),
          cell};
}

void legal_tower_tactics(const TdRules& rules, const State& state, std::uint8_t* mask) {
  const Choices c(rules, state);
  for (int cell = 0; cell < kTowerActions; ++cell) {
    mask[cell] = cell == kTowerWait || c.may_build(cell) ? 1 : 0;
  }
  std::uint8_t* fire = mask + kTowerActions;
  expand_bits(c.targets(), kSlots, fire);
  fire[kFireAtNearest] = 1;
}

void order_towers(const TdRules& rules, State& state, std::span<const std::int32_t> action) {
  const Choices c(rules, state);
  const int cell = action[kTowerCell];
  if (cell < 0 || cell >= kTowerActions || (cell != kTowerWait && !c.may_build(cell))) {
    refuse(tower_tactical_heads(), kTowerCell, cell, "no tower can be built there now");
  }
  const int fire = action[kFire];
  if (fire != kFireAtNearest && !has(c.targets(), fire)) {
    refuse(tower_tactical_heads(), kFire, fire,
           "no attacker that a tower reaches which is not firing at it");
  }
  act_tower(rules, state, cell, fire == kFireAtNearest ? kNone : c.slot(fire));
}

void legal_tower_orders(const TdRules& rules, const State& state, std::uint8_t* mask) {
  const Choices c(rules, state);
  std::uint8_t* unit = mask;
  std::uint8_t* order = unit + kNobody + 1;
  std::uint8_t* target = order + (kNobody + 1) * kOrderKinds;
  std::uint8_t* target_of_order = target + (kNobody + 1) * kSlots;
  std::uint8_t* cell = target_of_order + kOrderKinds * kSlots;
  std::fill(mask, cell + kOrderKinds * kTowerActions, std::uint8_t{0});
  unit[kNobody] = 1;
  bool room = false;
  for (int a = 0; a < kTowerActions; ++a) {
    if (!c.may_build(a)) continue;
    cell[kBuildAt * kTowerActions + a] = 1;
    room = true;
  }
  for (int u = 0; u < c.rows.own; ++u) {
    const std::uint64_t targets = c.targets_of(u);
    expand_bits(targets, kSlots, target + u * kSlots);
    order[u * kOrderKinds + kAttackAt] = targets != 0 ? 1 : 0;
    order[u * kOrderKinds + kBuildAt] = room && c.builds(u) ? 1 : 0;
    unit[u] = static_cast<std::uint8_t>(order[u * kOrderKinds + kAttackAt] |
                                        order[u * kOrderKinds + kBuildAt]);
  }
  std::fill_n(target_of_order + kAttackAt * kSlots, kSlots, std::uint8_t{1});
}

void order_tower(const TdRules& rules, State& state, std::span<const std::int32_t> action) {
  const int unit = action[kUnit];
  if (unit == kNobody) return;
  const Choices c(rules, state);
  if (unit < 0 || unit >= c.rows.own) {
    refuse(tower_unit_heads(), kUnit, unit, "neither the base nor a tower");
  }
  const int order = action[kOrder];
  const int slot = c.slot(unit);
  if (order == kAttackAt) {
    const std::uint64_t targets = c.targets_of(unit);
    const int target = action[kTarget];
    if (targets == 0) refuse(tower_unit_heads(), kUnit, unit, "no new enemy in its reach");
    if (!has(targets, target)) {
      refuse(tower_unit_heads(), kTarget, target,
             "no attacker that it reaches, or the one that it fires at");
    }
    give_order(state, slot, attack_order(c.slot(target)));
  } else if (order == kBuildAt && c.builds(unit)) {
    const int cell = action[kCell];
    if (cell < 0 || cell >= kTowerActions || !c.may_build(cell)) {
      refuse(tower_unit_heads(), kCell, cell, "no tower can be built there now");
    }
    give_order(state, slot, tower_order(cell / kMazeSide, cell % kMazeSide));
  } else {
    refuse(tower_unit_heads(), kOrder, order, "the unit cannot do that");
  }
}

}  // namespace ludus::rts
