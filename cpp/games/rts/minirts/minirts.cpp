#include "games/rts/minirts/minirts.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "games/rts/engine/hash.hpp"
#include "games/rts/engine/tactical_commands.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/engine/view.hpp"
#include "games/rts/minirts/observe.hpp"
#include "games/rts/minirts/start.hpp"
#include "games/rts/minirts/strategy.hpp"

namespace ludus {

namespace {

enum Bot { kSimple, kHitAndRunBot, kRandom, kNoop, kBots };

constexpr int kFrameSkip = 50;
constexpr std::uint64_t kStream = 1;

rts::UnitGame unit_game(const rts::MiniRules& rules) {
  return {.name = MiniRts::kName,
          .engine = rules.engine,
          .resource = rts::kResource,
          .first_decision = rules.first_decision,
          .fog = rules.fog};
}

// Orders 1 to 4 are the strategic ones of the same number.
rts::TacticalGame tactical_game(const rts::MiniRules& rules) {
  constexpr auto kBit = [](rts::MiniType t) { return static_cast<std::uint16_t>(1U << t); };
  return {.units = unit_game(rules),
          .purchases = rts::kBuildRange,
          .groups = {kBit(rts::kWorker), kBit(rts::kMelee), kBit(rts::kRange),
                     static_cast<std::uint16_t>(kBit(rts::kMelee) | kBit(rts::kRange))}};
}

std::vector<HeadSpec> heads_of(const rts::MiniRules& rules) {
  const std::vector<std::string> types(rts::kMiniTypeNames.begin(), rts::kMiniTypeNames.end());
  if (rules.commands == rts::Commands::units) return rts::unit_heads(unit_game(rules), types);
  if (rules.commands == rts::Commands::tactical) {
    const std::vector<std::string> bought = {types[rts::kWorker], types[rts::kBarracks],
                                             types[rts::kMelee], types[rts::kRange]};
    return rts::tactical_heads(tactical_game(rules), bought,
                               {"workers", "melee_attackers", "range_attackers", "troops"});
  }
  if (rules.commands == rts::Commands::combined) return rts::combined_heads(rts::kAllActionNames);
  HeadSpec head;
  head.name = "strategy";
  head.size = rts::kActions;
  head.labels.assign(rts::kActionNames.begin(), rts::kActionNames.end());
  head.meaning = "an order to the whole side; every choice also sends idle workers to gather";
  head.lenient = true;
  return {head};
}

// With combined commands a player can order all that the bots order, if nothing is repeated; a
// single order is what the random one gives.
bool demonstrates(const rts::MiniRules& rules, int bot) {
  if (rules.commands == rts::Commands::combined) return rules.repeat_orders == 0;
  return rules.commands == rts::Commands::strategic && bot == kRandom;
}

}  // namespace

MiniRts::Rules MiniRts::make_rules(const Params& params) { return rts::make_mini_rules(params); }

GameSpec MiniRts::spec(const Rules& rules) {
  GameSpec spec;
  spec.name = kName;
  spec.title = "MiniRTS";
  spec.version = rts::rules_version(rules.engine);
  spec.seats = rts::kMiniSeats;
  spec.default_frame_skip = kFrameSkip;
  spec.max_ticks = static_cast<int>(rules.engine.tick_limit) + 1;
  spec.observation = rts::mini_tensors(rules);
  spec.heads = heads_of(rules);
  spec.params = rts::mini_params();
  spec.bots = {
      {"simple", "the original's SIMPLE: three workers, barracks, attack with five melee troops"},
      {"hit_and_run", "the original's HIT_AND_RUN: range attackers that keep their distance"},
      {"random", "draws among all nine actions, also those that do nothing"},
      {"noop", "never decides anything"},
  };
  for (int b = kSimple; b <= kRandom; ++b) {
    spec.bots[static_cast<std::size_t>(b)].demonstrates = demonstrates(rules, b);
  }
  spec.meaning = "gather, build, train troops and destroy the other base, through the fog of war";
  return spec;
}

void MiniRts::reset(const Rules& rules, State& s, MatchSeed seed) {
  s.rng = Rng(seed, kStream);
  rts::place_start(rules, s.world, s.rng);
  rts::draw_turn(rules.engine, s.world, s.rng);
  s.standing = {};
  s.tables.clear();
}

void MiniRts::copy(const Rules&, State& to, const State& from) {
  rts::copy_world(to.world, from.world);
  to.rng = from.rng;
  to.standing = from.standing;
  to.tables.clear();
}

SeatMask MiniRts::to_act(const Rules& rules, const State& s) {
  return s.world.tick >= rules.first_decision && !s.world.over ? 3U : 0U;
}

void MiniRts::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  const bool acts = (to_act(rules, s) >> seat & 1U) != 0;
  if (rules.commands == rts::Commands::units) {
    if (acts) rts::order_unit(unit_game(rules), s.world, seat, action);
    return;
  }
  if (rules.commands == rts::Commands::tactical) {
    if (!acts) return;
    const rts::TacticalGame game = tactical_game(rules);
    const rts::TacticalOrder order = rts::read_tactical_order(
        game, s.world, seat, rts::useful_actions(rules, s.world, seat), action);
    rts::act_strategy(rules, s.world, seat, rts::action_bit(order.purchase));
    rts::give_tactical_order(game, s.world, order);
    return;
  }
  if (rules.commands == rts::Commands::combined) {
    const auto set =
        static_cast<rts::ActionSet>(rts::read_combined(kName, rts::kAllActionNames, action));
    if (!acts) return;
    rts::act_strategy(rules, s.world, seat, set);
    s.standing[static_cast<std::size_t>(seat)] = {
        .orders = static_cast<rts::ActionSet>(set & rts::kManoeuvres), .since = s.world.tick};
    return;
  }
  const std::int32_t choice = action[0];
  if (choice < 0 || choice >= rts::kActions) {
    throw GameError("minirts: strategy = " + std::to_string(choice) +
                    ": expected an integer in [0, " + std::to_string(rts::kActions - 1) + "]");
  }
  if (acts) rts::act_strategy(rules, s.world, seat, rts::action_bit(choice));
}

void MiniRts::bot(const Rules& rules, State& s, int seat, int bot) {
  if (bot < 0 || bot >= kBots) {
    throw GameError("minirts: bot " + std::to_string(bot) + ": expected an integer in [0, " +
                    std::to_string(kBots - 1) + "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
  s.standing[static_cast<std::size_t>(seat)] = {};
  switch (bot) {
    case kSimple:
      rts::play_simple(rules, s.world, seat);
      return;
    case kHitAndRunBot:
      rts::play_hit_and_run(rules, s.world, seat);
      return;
    case kRandom:
      rts::act_strategy(rules, s.world, seat,
                        rts::action_bit(static_cast<int>(s.rng.below(rts::kActions))));
      return;
    default:  // noop
      return;
  }
}

void MiniRts::bot_choice(const Rules& rules, State& s, int seat, int bot,
                         std::span<std::int32_t> action) {
  const int drawn = bot == kRandom ? static_cast<int>(s.rng.below(rts::kActions)) : 0;
  if (rules.commands == rts::Commands::combined) {
    rts::write_combined(bot == kSimple         ? rts::simple_orders(rules, s.world, seat)
                        : bot == kHitAndRunBot ? rts::hit_and_run_orders(rules, s.world, seat)
                                               : rts::action_bit(drawn),
                        action);
  } else {
    action[0] = drawn;
  }
}

void MiniRts::advance(const Rules& rules, State& s) {
  if (s.world.over) return;
  if (rules.repeat_orders > 0) {
    for (int seat = 0; seat < rts::kMiniSeats; ++seat) {
      const Standing& last = s.standing[static_cast<std::size_t>(seat)];
      const std::uint32_t age = s.world.tick - last.since;
      if (last.orders == 0 || age == 0 || age % rules.repeat_orders != 0) continue;
      rts::act_strategy(rules, s.world, seat, last.orders);
    }
  }
  rts::draw_tie_breaks(rules.engine, s.world, s.rng);
  rts::advance_tick(rules.engine, s.world, rts::own_store(s.world, s.tables));
}

Status MiniRts::status(const Rules&, const State& s) { return {.over = s.world.over}; }

void MiniRts::rewards(const Rules& rules, const State& s, std::span<float> out) {
  outcome(rules, s, out);
}

void MiniRts::outcome(const Rules&, const State& s, std::span<float> out) {
  for (int seat = 0; seat < rts::kMiniSeats; ++seat) {
    const int winner = s.world.over ? s.world.winner : -1;
    out[static_cast<std::size_t>(seat)] = winner < 0 ? 0.0F : (winner == seat ? 1.0F : -1.0F);
  }
}

void MiniRts::observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors) {
  rts::observe_mini(rules, s.world, seat, tensors);
}

void MiniRts::legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask) {
  if (rules.commands == rts::Commands::units) {
    rts::legal_unit_orders(unit_game(rules), s.world, seat, mask);
    return;
  }
  if (rules.commands == rts::Commands::tactical) {
    rts::legal_tactical_orders(tactical_game(rules), s.world, seat,
                               rts::useful_actions(rules, s.world, seat), mask);
    return;
  }
  const rts::ActionSet useful = rts::useful_actions(rules, s.world, seat);
  if (rules.commands == rts::Commands::combined) {
    rts::legal_combined(useful, rts::kAllActions, mask);
    return;
  }
  for (int a = 0; a < rts::kActions; ++a) mask[a] = static_cast<std::uint8_t>(useful >> a & 1);
}

std::uint64_t MiniRts::hash(const Rules& rules, const State& s) {
  Hash64 h;
  rts::hash_world(rules.engine, s.world, h);
  Rng rng = s.rng;
  h.add(rng.next());
  if (rules.repeat_orders > 0) {
    for (const Standing& last : s.standing) {
      h.add(last.orders);
      h.add(last.since);
    }
  }
  return h.value();
}

std::string MiniRts::view(const Rules& rules, const State& s) {
  static constexpr std::array<const char*, rts::kMiniTypes> kRoles = {
      "resource", "worker", "troop", "troop", "building", "base"};
  return rts::view_world(
      rules.engine, s.world,
      {.game = kName, .types = rts::kMiniTypeNames, .roles = kRoles, .fog = rules.fog});
}

}  // namespace ludus
