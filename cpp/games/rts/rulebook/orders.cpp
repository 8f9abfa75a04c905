#include "games/rts/rulebook/orders.hpp"

#include <algorithm>
#include <limits>

#include "games/rts/engine/fog.hpp"
#include "games/rts/engine/tactics.hpp"

namespace ludus::rts {

namespace {

constexpr float kNearResource2 = 6.0F;  // squared distances of the defence
constexpr float kNearBase2 = 4.0F;
constexpr std::array<const char*, kTactics> kTacticNames = {"attack", "attack_in_range",
                                                            "attack_best", "hit_and_run", "defend"};

bool has(std::uint16_t types, int t) { return (types >> t & 1) != 0; }
std::uint64_t bit(int slot) { return std::uint64_t{1} << slot; }

// Input of a decision, gathered once.
struct Picture {
  std::array<int, kMaxTypes> own_first, own_count{}, enemy_count{}, under_construction{};
  std::uint64_t own = 0, enemies = 0;                                   // without resources
  std::uint64_t enemies_seen = 0;                                       // without resources
  std::uint64_t gatherers = 0, troops = 0;                              // own
  std::uint64_t enemy_gatherers = 0, close_troops = 0, far_troops = 0;  // of the enemy
  std::uint64_t far_own = 0;
  int goal = kNone;      // the enemy's first base, or else its first vital unit
  int attacker = kNone;  // first living unit that hit a gatherer or a vital unit

  Picture(const Book& book, const EngineRules& engine, const State& state, int seat) {
    own_first.fill(kNone);
    const int base = engine.base_type;
    const int resource = book.numbers.start_positions.resource;
    const std::uint64_t seen = visible_units(engine, state, sight_of(engine, state, seat));
    for_units(engine, state, seat, [&](int i) {
      const int t = state.type[i];
      if (own_count[t]++ == 0) own_first[t] = i;
      if (state.cmd[i] == Cmd::build) ++under_construction[state.target[i]];
      own |= bit(i);
      if (has(book.gatherers, t)) gatherers |= bit(i);
      if (has(book.troops, t)) {
        troops |= bit(i);
        if (engine.type[t].attack_range > 1) far_own |= bit(i);
      }
      if ((has(book.gatherers, t) || engine.is_vital(t)) && attacker == kNone) {
        attacker = state.damaged_by[i];
      }
    });
    for_units(engine, state, 1 - seat, [&](int i) {
      const int t = state.type[i];
      ++enemy_count[t];
      if (t == base && (goal == kNone || state.type[goal] != base)) goal = i;
      if (goal == kNone && engine.is_vital(t)) goal = i;
      if (t == resource) return;
      enemies |= bit(i);
      enemies_seen |= seen & bit(i);
      if (has(book.gatherers, t)) enemy_gatherers |= bit(i);
      if (has(book.troops, t)) {
        (engine.type[t].attack_range > 1 ? far_troops : close_troops) |= bit(i);
      }
    });
  }

  [[nodiscard]] bool threatened() const { return enemies_seen != 0 || attacker != kNone; }
};

// The target that a hit of the unit takes the largest share of the hit points from, the nearest of
// equals; kNone if there is none.
int best_target(const EngineRules& engine, const State& state, int slot, std::uint64_t targets) {
  int best = kNone;
  float best_share = 0.0F;
  float best_d2 = 0.0F;
  for_bits(attackable(engine, state, slot, targets), [&](int i) {
    const int t = state.type[i];
    const int loss = engine.damage(state.type[slot], t) - engine.type[t].defence;
    if (loss <= 0) return;
    const float share = static_cast<float>(loss) / static_cast<float>(engine.type[t].hp);
    const float d2 = distance2(state.x[slot], state.y[slot], state.x[i], state.y[i]);
    if (best != kNone && (share < best_share || (share == best_share && d2 >= best_d2))) return;
    best = i;
    best_share = share;
    best_d2 = d2;
  });
  return best;
}

// The seat and units that one decision gives orders to.
struct Commander {
  const Book& book;
  const EngineRules& engine;
  const State& state;
  int seat;
  const Picture& view;
  OrderSet plan;
  std::int32_t money;  // what this decision has not spent yet

  Commander(const Book& b, const EngineRules& e, const State& s, int who, const Picture& v)
      : book(b), engine(e), state(s), seat(who), view(v), plan(s), money(s.money[who]) {}

  [[nodiscard]] bool affords(int type) const { return money >= engine.type[type].cost; }

  // A building that is idle trains `type`.
  void train(int type) {
    for (std::uint64_t left = view.own; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      const UnitType& u = engine.type[state.type[i]];
      if (!u.building || !has(u.builds, type) || state.cmd[i] != Cmd::idle) continue;
      if (!affords(type)) return;
      money -= engine.type[type].cost;
      plan.put(i, build_order(type));
      return;
    }
  }

  // A unit that gathers, or an idle one, puts `type` up near the base.
  void construct(int type, int base) {
    if (!affords(type)) return;
    int builder = kNone;
    for_bits(view.own, [&](int i) {
      const UnitType& u = engine.type[state.type[i]];
      if (u.building || !has(u.builds, type) || builder != kNone) return;
      const bool free =
          u.takes(Cmd::gather) ? state.cmd[i] == Cmd::gather : state.cmd[i] == Cmd::idle;
      if (free) builder = i;
    });
    Order order;
    if (builder == kNone ||
        !building_place(engine, state, type, state.x[base], state.y[base], order)) {
      return;
    }
    plan.put(builder, order);
    money -= engine.type[type].cost;
  }

  void fight(ChoiceSet chosen) {
    const auto wants = [&](Tactic t) { return (chosen >> choice_of(book, t) & 1) != 0; };
    if (wants(Tactic::attack)) plan.put_all(view.troops, attack_order(view.goal), false);
    if (wants(Tactic::hit_and_run)) {
      const auto run = [&](std::uint64_t targets) {
        for_bits(view.far_own, [&](int i) {
          hit_and_run(engine, state, plan, i, attackable(engine, state, i, targets));
        });
      };
      if ((view.close_troops | view.far_troops) == 0 && view.enemy_gatherers != 0) {
        run(view.enemy_gatherers);
      }
      if (view.close_troops != 0) run(view.close_troops);
      if (view.far_troops != 0) at_first(view.far_troops);
    }
    if (wants(Tactic::attack_in_range) && view.enemies_seen != 0) at_first(view.enemies_seen);
    if (wants(Tactic::attack_best) && view.enemies_seen != 0) {
      for_bits(view.troops, [&](int i) {
        const int target = best_target(engine, state, i, view.enemies_seen);
        if (target != kNone && state.cmd[i] == Cmd::idle) plan.put(i, attack_order(target));
      });
    }
  }

  // Every idle troop attacks the oldest of `targets` that it can attack.
  void at_first(std::uint64_t targets) {
    for_bits(view.troops, [&](int i) {
      const std::uint64_t can = attackable(engine, state, i, targets);
      if (state.cmd[i] == Cmd::idle && can != 0) {
        plan.put(i, attack_order(std::countr_zero(can)));
      }
    });
  }

  // Buildings that can attack take the nearest enemy in reach.
  void guard() {
    for_bits(view.own, [&](int i) {
      const UnitType& u = engine.type[state.type[i]];
      if (!u.building || !u.takes(Cmd::attack) || state.cmd[i] != Cmd::idle) return;
      auto close = static_cast<float>(u.attack_range * u.attack_range);
      const std::uint64_t can = attackable(engine, state, i, view.enemies_seen);
      const int target = nearest(state, can, state.x[i], state.y[i], close);
      if (target != kNone) plan.put(i, attack_order(target));
    });
  }

  void defend(int base, int resource) {
    const auto all_at = [&](int target) {
      if (target != kNone) plan.put_all(view.own, attack_order(target), true);
    };
    float close = kNearResource2;
    all_at(nearest(state, view.enemies_seen, state.x[resource], state.y[resource], close));
    close = kNearBase2;
    all_at(nearest(state, view.enemies_seen, state.x[base], state.y[base], close));
    all_at(view.attacker);
  }
};

void carry_out(const Book& book, const EngineRules& engine, State& state, int seat,
               ChoiceSet chosen, const Picture& view) {
  const int base = view.own_first[static_cast<std::size_t>(engine.base_type)];
  const int resource =
      view.own_first[static_cast<std::size_t>(book.numbers.start_positions.resource)];
  if (base == kNone || view.goal == kNone || state.type[view.goal] != engine.base_type) return;
  Commander c(book, engine, state, seat, view);
  if (resource == kNone) {
    c.plan.put_all(view.own, attack_order(view.goal), true);  // nothing left to gather
  } else {
    // Gatherers first, then what they put up, then troops: the order of MiniRTS.
    const auto each = [&](auto&& f) {
      for (std::size_t i = 0; i < book.build_menu.size(); ++i) {
        if ((chosen >> (i + 1) & 1) != 0) f(book.build_menu[i]);
      }
    };
    each([&](int t) {
      if (has(book.gatherers, t)) c.train(t);
    });
    c.plan.put_all(view.gatherers, gather_order(base, resource), false);
    each([&](int t) { c.construct(t, base); });
    each([&](int t) {
      if (!has(book.gatherers, t)) c.train(t);
    });
    c.fight(chosen);
    if ((chosen >> choice_of(book, Tactic::defend) & 1) != 0) c.defend(base, resource);
    c.guard();
  }
  for_bits(c.plan.given, [&](int i) {
    const Order& o = c.plan.order[static_cast<std::size_t>(i)];
    offer_order(engine, state, i, o);
  });
}

}  // namespace

std::vector<std::string> choice_labels(const Book& book) {
  std::vector<std::string> labels = {"wait"};
  for (const int t : book.build_menu) {
    labels.push_back("build_" + book.names[static_cast<std::size_t>(t)]);
  }
  labels.insert(labels.end(), kTacticNames.begin(), kTacticNames.end());
  return labels;
}

UnitGame unit_game(const Book& book, const EngineRules& engine) {
  return {.name = "rts",
          .engine = engine,
          .resource = book.numbers.start_positions.resource,
          .first_decision = book.first_decision,
          .attack_table = true};
}

TacticalGame tactical_game(const Book& book, const EngineRules& engine) {
  std::uint16_t far = 0;
  for_bits(book.troops, [&](int t) {
    if (engine.type[t].attack_range > 1) far = static_cast<std::uint16_t>(far | 1U << t);
  });
  return {
      .units = unit_game(book, engine),
      .purchases = static_cast<int>(book.build_menu.size()),
      .groups = {book.gatherers, static_cast<std::uint16_t>(book.troops & ~far), far, book.troops}};
}

void act_choices(const Book& book, const EngineRules& engine, State& state, int seat,
                 ChoiceSet chosen) {
  carry_out(book, engine, state, seat, chosen, Picture(book, engine, state, seat));
}

ChoiceSet useful_choices(const Book& book, const EngineRules& engine, const State& state,
                         int seat) {
  ChoiceSet set = 1;
  if (state.over || state.tick < book.first_decision) return set;
  const Picture view(book, engine, state, seat);
  const int base = view.own_first[static_cast<std::size_t>(engine.base_type)];
  const int resource =
      view.own_first[static_cast<std::size_t>(book.numbers.start_positions.resource)];
  if (base == kNone || resource == kNone) return set;
  const int money = state.money[seat];
  std::uint16_t can_build = 0;  // types for which a unit is free
  bool idle_troop = false;
  bool free_hand = false;  // a unit that would follow an order to defend
  bool any_far = false;
  for_bits(view.own, [&](int i) {
    const int t = state.type[i];
    const UnitType& u = engine.type[t];
    const bool idle = state.cmd[i] == Cmd::idle;
    const bool free = u.building || !u.takes(Cmd::gather) ? idle : state.cmd[i] == Cmd::gather;
    if (free) can_build |= u.builds;
    if (has(book.troops, t)) {
      idle_troop |= idle;
      any_far |= u.attack_range > 1;
    }
    free_hand |= u.takes(Cmd::attack) && state.cmd[i] != Cmd::attack;
  });
  const auto can = [&](int choice, bool yes) {
    if (yes) set |= 1U << choice;
  };
  for (std::size_t i = 0; i < book.build_menu.size(); ++i) {
    const int t = book.build_menu[i];
    can(static_cast<int>(i) + 1, has(can_build, t) && money >= engine.type[t].cost);
  }
  const bool sees = view.enemies_seen != 0;
  can(choice_of(book, Tactic::attack), idle_troop);
  can(choice_of(book, Tactic::attack_in_range), idle_troop && sees);
  can(choice_of(book, Tactic::attack_best), idle_troop && sees);
  can(choice_of(book, Tactic::hit_and_run), idle_troop || any_far);
  float close = kNearResource2;
  bool threat =
      nearest(state, view.enemies_seen, state.x[resource], state.y[resource], close) != kNone;
  close = kNearBase2;
  threat |= nearest(state, view.enemies_seen, state.x[base], state.y[base], close) != kNone;
  can(choice_of(book, Tactic::defend), free_hand && (threat || view.attacker != kNone));
  return set;
}

void play_bot(const Book& book, const EngineRules& engine, const BookBot& bot, State& state,
              int seat) {
  const Picture view(book, engine, state, seat);
  ChoiceSet set = 0;
  const auto want = [&](int type) {
    for (std::size_t i = 0; i < book.build_menu.size(); ++i) {
      if (book.build_menu[i] == type) set |= 1U << (i + 1);
    }
  };
  const auto affords = [&](int t) { return state.money[seat] >= engine.type[t].cost; };
  const auto count = [&](std::uint16_t types) {
    int n = 0;
    for_bits(types, [&](int t) { n += view.own_count[static_cast<std::size_t>(t)]; });
    return n;
  };
  const int gatherers = count(book.gatherers);
  if (gatherers < bot.gatherers) {
    for_bits(book.gatherers, [&](int t) {
      if (affords(t)) want(t);
    });
  } else {
    int missing = -1;  // the first building of the list that is not there yet
    for_bits(bot.builds, [&](int t) {
      const auto k = static_cast<std::size_t>(t);
      if (missing < 0 && view.own_count[k] + view.under_construction[k] < 1) missing = t;
    });
    if (missing >= 0 && affords(missing)) want(missing);
  }
  int rarest = -1;
  for_bits(bot.trains, [&](int t) {
    const auto k = static_cast<std::size_t>(t);
    bool there = false;  // a unit that builds it
    for (int b = 0; b < book.types(); ++b) {
      const auto builder = static_cast<std::size_t>(b);
      there |= has(engine.type[builder].builds, t) && view.own_count[builder] > 0;
    }
    if (!there) return;
    if (rarest < 0 || view.own_count[k] < view.own_count[static_cast<std::size_t>(rarest)]) {
      rarest = t;
    }
  });
  if (rarest >= 0 && affords(rarest)) want(rarest);
  const auto tactic = [&](Tactic t) { set |= 1U << choice_of(book, t); };
  if (count(bot.trains) >= bot.attack_at && view.goal != kNone) {
    const bool alone = (view.enemy_gatherers | view.close_troops | view.far_troops) == 0;
    tactic(bot.skirmish && !alone ? Tactic::hit_and_run : Tactic::attack);
  }
  if (view.threatened()) {
    if (!bot.skirmish) tactic(Tactic::attack_in_range);
    tactic(Tactic::defend);
  }
  carry_out(book, engine, state, seat, set, view);
}

}  // namespace ludus::rts
