#include "games/rts/capture_the_flag/strategy.hpp"

#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/tactics.hpp"

namespace ludus::rts {

namespace {

OrderSet make_plan(const CtfRules& rules, const State& state, int seat, FlagActionSet actions) {
  const EngineRules& engine = rules.engine;
  const auto wants = [&](FlagAction a) { return (actions & flag_action_bit(a)) != 0; };
  const FlagPlace flag = find_flag(rules, state);
  const int own_carrier = flag.owner == seat ? flag.carrier : kNone;
  OrderSet plan(state);
  const auto all = [&](const Order& o, int but) {
    for_units(engine, state, seat, [&](int i) {
      if (i != but && CtfRules::athlete(state.type[i])) plan.put(i, o);
    });
  };
  if (wants(kGetFlag) && flag.free != kNone) all(get_flag_order(flag.free), kNone);
  if (wants(kAttackFlag) && flag.owner == 1 - seat) all(attack_order(flag.carrier), kNone);
  if (own_carrier != kNone) {
    if (wants(kEscortFlag)) plan.put(own_carrier, escort_flag_order());
    const int attacker = state.damaged_by[own_carrier];
    if (wants(kProtectFlag) && attacker != kNone) all(attack_order(attacker), own_carrier);
  }
  return plan;
}

}  // namespace

FlagPlace find_flag(const CtfRules& rules, const State& state) {
  FlagPlace place;
  if (state.carrying != 0) {
    place.carrier = std::countr_zero(state.carrying);
    place.owner = rules.engine.owner_of(place.carrier);
  }
  for_units(rules.engine, state, kFlagOwner, [&](int i) {
    if (place.free == kNone && state.type[i] == kFlag) place.free = i;
  });
  return place;
}

std::uint64_t known_units(const CtfRules& rules, const State& state, int seat,
                          const FlagPlace& flag) {
  std::uint64_t seen = visible_units(rules.engine, state, sight_of(rules.engine, state, seat));
  for (const int slot : {flag.free, flag.carrier}) {
    if (slot != kNone) seen |= slot_bit(slot);
  }
  return seen;
}

void act_flag(const CtfRules& rules, State& state, int seat, FlagActionSet actions) {
  const OrderSet plan = make_plan(rules, state, seat, actions);
  for_bits(plan.given, [&](int i) { offer_order(rules.engine, state, i, plan.order[i]); });
}

FlagActionSet useful_flag_actions(const CtfRules& rules, const State& state, int seat) {
  FlagActionSet set = flag_action_bit(kFlagStart);
  if (state.over || state.tick < rules.first_decision) return set;
  for (int a = kGetFlag; a < kFlagActions; ++a) {
    if (make_plan(rules, state, seat, flag_action_bit(a)).given != 0) set |= flag_action_bit(a);
  }
  return set;
}

FlagActionSet flag_simple_decision(const CtfRules& rules, const State& state, int seat) {
  const FlagPlace flag = find_flag(rules, state);
  if (flag.free != kNone) return flag_action_bit(kGetFlag);
  if (flag.owner != seat) return flag_action_bit(kAttackFlag);
  return flag_action_bit(kEscortFlag) | flag_action_bit(kProtectFlag);
}

void play_flag_simple(const CtfRules& rules, State& state, int seat) {
  act_flag(rules, state, seat, flag_simple_decision(rules, state, seat));
}

}  // namespace ludus::rts
