#include "games/rts/minirts/strategy.hpp"

#include <algorithm>

#include "games/rts/engine/tactics.hpp"

namespace ludus::rts {

namespace {

constexpr float kNearResource2 = 6.0F;  // squared distances of the defence
constexpr float kNearBase2 = 4.0F;
constexpr float kBeyondSight = 2.0F;  // cells that a troop goes for one that others see

// Input of a decision, gathered once.
struct Picture {
  std::array<int, kMiniTypes> own_first;
  std::array<int, kMiniTypes> enemy_first;
  std::array<int, kMiniTypes> own_count{};
  std::array<int, kMiniTypes> enemy_count{};
  std::array<int, kMiniTypes> under_construction{};
  std::uint64_t enemies_seen = 0;  // without resources
  int attacker = kNone;            // first living unit that hit a worker or the base

  Picture(const MiniRules& rules, const State& state, int seat)
      : Picture(rules, state, seat,
                visible_units(rules.engine, state, sight_of(rules.engine, state, seat))) {}

  // For who knows already what the seat sees.
  Picture(const MiniRules& rules, const State& state, int seat, std::uint64_t seen) {
    const EngineRules& engine = rules.engine;
    own_first.fill(kNone);
    enemy_first.fill(kNone);
    for_units(engine, state, seat, [&](int i) {
      const int type = state.type[i];
      if (own_count[type]++ == 0) own_first[type] = i;
      if (state.cmd[i] == Cmd::build) ++under_construction[state.target[i]];
      if ((type == kWorker || type == kBase) && attacker == kNone) attacker = state.damaged_by[i];
    });
    for_units(engine, state, 1 - seat, [&](int i) {
      const int type = state.type[i];
      if (enemy_count[type]++ == 0) enemy_first[type] = i;
      if (type != kResource) enemies_seen |= seen & (std::uint64_t{1} << i);
    });
  }

  [[nodiscard]] bool threatened() const { return enemies_seen != 0 || attacker != kNone; }
};

// The weakest of `enemies` within reach of a troop, the nearest of equals; else the nearest one
// that is little farther than it sees; or kNone.
int weakest_in_reach(const EngineRules& engine, const State& state, int slot,
                     std::uint64_t enemies) {
  const UnitType& type = engine.type[state.type[slot]];
  const float sight = static_cast<float>(type.vision) + kBeyondSight;
  float closest = sight * sight;
  int found = nearest(state, enemies, state.x[slot], state.y[slot], closest);
  if (found == kNone) return kNone;
  const auto reach2 = static_cast<float>(type.attack_range * type.attack_range + 1);
  for_bits(enemies, [&](int i) {
    const float d2 = distance2(state.x[i], state.y[i], state.x[slot], state.y[slot]);
    if (d2 >= reach2) return;
    if (state.hp[i] < state.hp[found] || closest >= reach2 ||
        (state.hp[i] == state.hp[found] && d2 < closest)) {
      found = i;
      closest = d2;
    }
  });
  return found;
}

void carry_out(const MiniRules& rules, State& state, int seat, ActionSet actions,
               const Picture& view) {
  const EngineRules& engine = rules.engine;
  if (view.own_count[kBase] == 0 || view.enemy_count[kBase] == 0) return;
  const auto wants = [&](Action a) { return (actions & action_bit(a)) != 0; };
  const auto own = [&](int type) { return of_type(engine, state, seat, type); };
  const auto enemy = [&](int type) { return of_type(engine, state, 1 - seat, type); };
  const int first = engine.first_slot[seat];
  const std::uint64_t everyone = ((std::uint64_t{1} << (state.units[seat] - 1) << 1) - 1) << first;
  const int base = view.own_first[kBase];
  const Order at_base = attack_order(view.enemy_first[kBase]);
  std::int32_t money = state.money[seat];  // what this decision has not spent yet
  const auto buy = [&](int type) {
    if (money < engine.type[type].cost) return false;
    money -= engine.type[type].cost;
    return true;
  };
  OrderSet plan(state);

  if (view.own_count[kResource] == 0) {
    plan.put_all(everyone, at_base, true);  // nothing left to gather: everyone attacks
  } else {
    if (wants(kBuildWorker) && state.cmd[base] == Cmd::idle && buy(kWorker)) {
      plan.put(base, build_order(kWorker));
    }
    plan.put_all(own(kWorker), gather_order(base, view.own_first[kResource]), false);
    if (wants(kBuildBarrack) && money >= engine.type[kBarracks].cost) {
      int builder = kNone;
      for_bits(own(kWorker), [&](int i) {
        if (builder == kNone && state.cmd[i] == Cmd::gather) builder = i;
      });
      Order order;
      if (builder != kNone &&
          building_place(engine, state, kBarracks, state.x[base], state.y[base], order)) {
        plan.put(builder, order);
        money -= engine.type[kBarracks].cost;
      }
    }
    const auto train = [&](int type) {
      int builder = kNone;
      for_bits(own(kBarracks), [&](int i) {
        if (builder == kNone && state.cmd[i] == Cmd::idle) builder = i;
      });
      if (builder != kNone && buy(type)) plan.put(builder, build_order(type));
    };
    if (wants(kBuildMelee)) train(kMelee);
    if (wants(kBuildRange)) train(kRange);
    const std::uint64_t troops = own(kMelee) | own(kRange);
    if (wants(kAttack)) plan.put_all(troops, at_base, false);
    if (wants(kHitAndRun)) {
      const bool no_troops = view.enemy_count[kMelee] == 0 && view.enemy_count[kRange] == 0;
      if (no_troops && view.enemy_count[kWorker] != 0) {
        for_bits(own(kRange), [&](int i) { hit_and_run(engine, state, plan, i, enemy(kWorker)); });
      }
      if (view.enemy_count[kMelee] != 0) {
        for_bits(own(kRange), [&](int i) { hit_and_run(engine, state, plan, i, enemy(kMelee)); });
      }
      if (view.enemy_count[kRange] != 0) {
        plan.put_all(troops, attack_order(view.enemy_first[kRange]), false);
      }
    }
    if (wants(kAttackInRange) && view.enemies_seen != 0) {
      plan.put_all(troops, attack_order(std::countr_zero(view.enemies_seen)), false);
    }
    if (wants(kDefend)) {
      const int resource = view.own_first[kResource];
      float close = kNearResource2;
      const int at_resource =
          nearest(state, view.enemies_seen, state.x[resource], state.y[resource], close);
      if (at_resource != kNone) plan.put_all(everyone, attack_order(at_resource), true);
      close = kNearBase2;
      const int by_base = nearest(state, view.enemies_seen, state.x[base], state.y[base], close);
      if (by_base != kNone) plan.put_all(everyone, attack_order(by_base), true);
      if (view.attacker != kNone) plan.put_all(everyone, attack_order(view.attacker), true);
    }
    if (wants(kFocusFire)) {
      const std::uint64_t targets = view.enemies_seen & (enemy(kMelee) | enemy(kRange));
      for_bits(targets != 0 ? troops : 0, [&](int i) {
        const bool ordered = (plan.given >> i & 1) != 0;
        if ((ordered ? plan.order[i].cmd : state.cmd[i]) == Cmd::move) return;  // it flees
        const int target = weakest_in_reach(engine, state, i, targets);
        if (target != kNone) plan.put(i, attack_order(target));
      });
    }
  }
  for_bits(plan.given, [&](int i) { offer_order(engine, state, i, plan.order[i]); });
}

}  // namespace

void act_strategy(const MiniRules& rules, State& state, int seat, ActionSet actions) {
  constexpr ActionSet kLooking =
      action_bit(kAttackInRange) | action_bit(kDefend) | action_bit(kFocusFire);
  if ((actions & kLooking) != 0) {
    carry_out(rules, state, seat, actions, Picture(rules, state, seat));
  } else {
    carry_out(rules, state, seat, actions, Picture(rules, state, seat, 0));
  }
}

ActionSet useful_actions(const MiniRules& rules, const State& state, int seat) {
  return useful_actions(rules, state, seat,
                        visible_units(rules.engine, state, sight_of(rules.engine, state, seat)));
}

ActionSet useful_actions(const MiniRules& rules, const State& state, int seat, std::uint64_t seen) {
  const EngineRules& engine = rules.engine;
  ActionSet set = action_bit(kStart);
  if (state.over || state.tick < rules.first_decision) return set;
  const Picture view(rules, state, seat, seen);
  if (view.own_count[kBase] == 0 || view.own_count[kResource] == 0) return set;
  const int money = state.money[seat];
  bool gatherer = false;
  bool idle_barracks = false;
  bool idle_troop = false;
  bool troop = false;
  bool free_hand = false;  // a unit that would follow an order to defend
  for_units(engine, state, seat, [&](int i) {
    const bool idle = state.cmd[i] == Cmd::idle;
    const int type = state.type[i];
    gatherer |= type == kWorker && state.cmd[i] == Cmd::gather;
    idle_barracks |= type == kBarracks && idle;
    troop |= type == kMelee || type == kRange;
    idle_troop |= (type == kMelee || type == kRange) && idle;
    free_hand |= engine.type[type].takes(Cmd::attack) && state.cmd[i] != Cmd::attack;
  });
  const auto can = [&](Action a, bool yes) {
    if (yes) set |= action_bit(a);
  };
  const int base = view.own_first[kBase];
  const int resource = view.own_first[kResource];
  can(kBuildWorker, state.cmd[base] == Cmd::idle && money >= engine.type[kWorker].cost);
  can(kBuildBarrack, gatherer && money >= engine.type[kBarracks].cost);
  can(kBuildMelee, idle_barracks && money >= engine.type[kMelee].cost);
  can(kBuildRange, idle_barracks && money >= engine.type[kRange].cost);
  can(kAttack, idle_troop);
  can(kAttackInRange, idle_troop && view.enemies_seen != 0);
  can(kHitAndRun, idle_troop || view.own_count[kRange] != 0);
  float close = kNearResource2;
  bool threat =
      nearest(state, view.enemies_seen, state.x[resource], state.y[resource], close) != kNone;
  close = kNearBase2;
  threat |= nearest(state, view.enemies_seen, state.x[base], state.y[base], close) != kNone;
  can(kDefend, free_hand && (threat || view.attacker != kNone));
  const std::uint64_t enemy_troops =
      of_type(engine, state, 1 - seat, kMelee) | of_type(engine, state, 1 - seat, kRange);
  can(kFocusFire, troop && (view.enemies_seen & enemy_troops) != 0);
  return set;
}

namespace {

ActionSet choose_economy(const MiniRules& rules, const State& state, int seat, const Picture& view,
                         int troop, Action train) {
  const auto affords = [&](int type) { return state.money[seat] >= rules.engine.type[type].cost; };
  ActionSet set = 0;
  const int workers = view.own_count[kWorker];
  const int barracks = view.own_count[kBarracks];
  if (workers < 3 && affords(kWorker)) set |= action_bit(kBuildWorker);
  if (workers >= 3 && barracks + view.under_construction[kBarracks] < 1 && affords(kBarracks)) {
    set |= action_bit(kBuildBarrack);
  }
  if (barracks >= 1 && affords(troop)) set |= action_bit(train);
  return set;
}

ActionSet simple_decision(const MiniRules& rules, const State& state, int seat,
                          const Picture& view) {
  ActionSet set = choose_economy(rules, state, seat, view, kMelee, kBuildMelee);
  if (view.own_count[kMelee] >= 5 && view.enemy_count[kBase] != 0) set |= action_bit(kAttack);
  if (view.threatened()) set |= action_bit(kAttackInRange) | action_bit(kDefend);
  return set;
}

ActionSet hit_and_run_decision(const MiniRules& rules, const State& state, int seat,
                               const Picture& view) {
  ActionSet set = choose_economy(rules, state, seat, view, kRange, kBuildRange);
  if (view.own_count[kRange] >= 2) {
    const bool alone = view.enemy_count[kWorker] == 0 && view.enemy_count[kMelee] == 0 &&
                       view.enemy_count[kRange] == 0;
    set |= action_bit(alone ? kAttack : kHitAndRun);
  }
  if (view.threatened()) set |= action_bit(kDefend);
  return set;
}

ActionSet without_idle_orders(const MiniRules& rules, const State& state, int seat,
                              ActionSet orders) {
  return static_cast<ActionSet>(orders &
                                (useful_actions(rules, state, seat) | action_bit(kDefend)));
}

}  // namespace

void play_simple(const MiniRules& rules, State& state, int seat) {
  const Picture view(rules, state, seat);
  carry_out(rules, state, seat, simple_decision(rules, state, seat, view), view);
}

void play_hit_and_run(const MiniRules& rules, State& state, int seat) {
  const Picture view(rules, state, seat);
  carry_out(rules, state, seat, hit_and_run_decision(rules, state, seat, view), view);
}

ActionSet simple_orders(const MiniRules& rules, const State& state, int seat) {
  const Picture view(rules, state, seat);
  return without_idle_orders(rules, state, seat, simple_decision(rules, state, seat, view));
}

ActionSet hit_and_run_orders(const MiniRules& rules, const State& state, int seat) {
  const Picture view(rules, state, seat);
  return without_idle_orders(rules, state, seat, hit_and_run_decision(rules, state, seat, view));
}

}  // namespace ludus::rts
