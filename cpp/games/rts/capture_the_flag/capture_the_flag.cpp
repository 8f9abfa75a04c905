#include "games/rts/capture_the_flag/capture_the_flag.hpp"

#include "games/rts/capture_the_flag/observe.hpp"
#include "games/rts/capture_the_flag/strategy.hpp"
#include "games/rts/capture_the_flag/tactical_orders.hpp"
#include "games/rts/capture_the_flag/unit_orders.hpp"
#include "games/rts/engine/hash.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/tie_breaks.hpp"
#include "games/rts/engine/view.hpp"

namespace ludus {

namespace {

enum Bot { kSimple, kRandom, kNoop, kBots };

constexpr int kFrameSkip = 50;
constexpr std::uint64_t kStream = 1;

// The column in which the flag is: as the original knows it, the whole cell of who carries it or
// last did; cleanly, where it is, carried or not.
float flag_column(const rts::CtfRules& rules, const rts::State& w, float last) {
  const rts::FlagPlace flag = rts::find_flag(rules, w);
  if (flag.carrier != rts::kNone) {
    const float x = w.x[flag.carrier];
    return rules.clean ? x : static_cast<float>(static_cast<int>(x));
  }
  return rules.clean && flag.free != rts::kNone ? w.x[flag.free] : last;
}

std::vector<HeadSpec> heads_of(const rts::CtfRules& rules) {
  if (rules.commands == rts::Commands::units) return rts::athlete_heads();
  if (rules.commands == rts::Commands::tactical) return rts::flag_tactical_heads();
  if (rules.commands == rts::Commands::combined) {
    return rts::combined_heads(rts::kFlagActionNames);
  }
  HeadSpec head;
  head.name = "strategy";
  head.size = rts::kFlagActions;
  head.labels.assign(rts::kFlagActionNames.begin(), rts::kFlagActionNames.end());
  head.meaning = "an order to all athletes, or to the one that carries the flag";
  head.lenient = true;
  return {head};
}

// With combined commands a player can order all that the bots order; a single order is what the
// random one gives.
bool demonstrates(const rts::CtfRules& rules, int bot) {
  return rules.commands == rts::Commands::combined ||
         (rules.commands == rts::Commands::strategic && bot != kSimple);
}

}  // namespace

CaptureTheFlag::Rules CaptureTheFlag::make_rules(const Params& params) {
  return rts::make_ctf_rules(params);
}

GameSpec CaptureTheFlag::spec(const Rules& rules) {
  GameSpec spec;
  spec.name = kName;
  spec.title = "Capture the Flag";
  spec.version = rts::rules_version(rules.engine);
  spec.seats = rts::kFlagSeats;
  spec.default_frame_skip = kFrameSkip;
  spec.max_ticks = static_cast<int>(rules.engine.tick_limit) + 1;
  spec.observation = rts::ctf_tensors(rules);
  spec.heads = heads_of(rules);
  spec.params = rts::ctf_params();
  spec.bots = {
      {"simple", "the original's FLAG_SIMPLE: fetch the flag, bring it home, hunt who has it"},
      {"random", "draws among all five actions, also those that do nothing"},
      {"noop", "never decides anything"},
  };
  for (int b = 0; b < kBots; ++b) {
    spec.bots[static_cast<std::size_t>(b)].demonstrates = demonstrates(rules, b);
  }
  spec.meaning = "five athletes a side: fetch the flag and carry it home, five times";
  return spec;
}

void CaptureTheFlag::reset(const Rules& rules, State& s, MatchSeed seed) {
  s.rng = Rng(seed, kStream);
  rts::place_ctf_start(rules, s.world, s.rng);
  s.earned = 0.0F;
  s.heuristic = {};
  s.flag_x = s.world.x[rules.engine.first_slot[rts::kFlagOwner]];
  if (!rules.clean) s.flag_x = static_cast<float>(static_cast<int>(s.flag_x));
}

void CaptureTheFlag::copy(const Rules&, State& to, const State& from) {
  rts::copy_world(to.world, from.world);
  to.rng = from.rng;
  to.earned = from.earned;
  to.flag_x = from.flag_x;
  to.heuristic.copy(from.heuristic);
}

SeatMask CaptureTheFlag::to_act(const Rules& rules, const State& s) {
  return s.world.tick >= rules.first_decision && !s.world.over ? 3U : 0U;
}

void CaptureTheFlag::act(const Rules& rules, State& s, int seat,
                         std::span<const std::int32_t> action) {
  const bool acts = (to_act(rules, s) >> seat & 1U) != 0;
  if (rules.commands == rts::Commands::units) {
    if (acts) rts::order_athlete(rules, s.world, seat, action);
    return;
  }
  if (rules.commands == rts::Commands::tactical) {
    if (acts) rts::order_athletes(rules, s.world, seat, action);
    return;
  }
  if (rules.commands == rts::Commands::combined) {
    const auto set =
        static_cast<rts::FlagActionSet>(rts::read_combined(kName, rts::kFlagActionNames, action));
    if (acts) rts::act_flag(rules, s.world, seat, set);
    return;
  }
  const std::int32_t choice = action[0];
  if (choice < 0 || choice >= rts::kFlagActions) {
    throw GameError("capture_the_flag: strategy = " + std::to_string(choice) +
                    ": expected an integer in [0, " + std::to_string(rts::kFlagActions - 1) + "]");
  }
  if (acts) rts::act_flag(rules, s.world, seat, rts::flag_action_bit(choice));
}

void CaptureTheFlag::bot(const Rules& rules, State& s, int seat, int bot) {
  if (bot < 0 || bot >= kBots) {
    throw GameError("capture_the_flag: bot " + std::to_string(bot) +
                    ": expected an integer in [0, " + std::to_string(kBots - 1) + "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
  if (bot == kSimple) rts::play_flag_simple(rules, s.world, seat);
  if (bot == kRandom) {
    const auto choice = static_cast<int>(s.rng.below(rts::kFlagActions));
    rts::act_flag(rules, s.world, seat, rts::flag_action_bit(choice));
  }
}

void CaptureTheFlag::bot_choice(const Rules& rules, State& s, int seat, int bot,
                                std::span<std::int32_t> action) {
  const int drawn = bot == kRandom ? static_cast<int>(s.rng.below(rts::kFlagActions)) : 0;
  if (rules.commands == rts::Commands::combined) {
    // Only orders that would do anything: the others change nothing.
    const auto set = bot == kSimple ? rts::flag_simple_decision(rules, s.world, seat) &
                                          rts::useful_flag_actions(rules, s.world, seat)
                                    : rts::flag_action_bit(drawn);
    rts::write_combined(static_cast<std::uint32_t>(set), action);
  } else {
    action[0] = drawn;
  }
}

void CaptureTheFlag::advance(const Rules& rules, State& s) {
  if (s.world.over) return;
  const int before = s.world.money[0] - s.world.money[1];
  rts::draw_tie_breaks(rules.engine, s.world, s.rng);
  rts::advance_tick(rules.engine, s.world, s.heuristic.store());
  rts::deal_flag_rows(rules, s.world, s.rng);
  const int points = s.world.money[0] - s.world.money[1] - before;
  const float x = flag_column(rules, s.world, s.flag_x);
  s.earned = points != 0 ? rules.point_reward * static_cast<float>(points)
                         : rules.carry_reward * (s.world.turned ? x - s.flag_x : s.flag_x - x);
  s.flag_x = x;
}

Status CaptureTheFlag::status(const Rules&, const State& s) { return {.over = s.world.over}; }

void CaptureTheFlag::rewards(const Rules& rules, const State& s, std::span<float> out) {
  // The original pays seat 1 what seat 0 has earned, except at the end.
  out[0] = s.earned;
  out[1] = rules.clean ? -s.earned : s.earned;
  if (!s.world.over || s.world.winner < 0) return;
  outcome(rules, s, out);
}

void CaptureTheFlag::outcome(const Rules&, const State& s, std::span<float> out) {
  for (int seat = 0; seat < rts::kFlagSeats; ++seat) {
    const int winner = s.world.over ? s.world.winner : -1;
    out[static_cast<std::size_t>(seat)] = winner < 0 ? 0.0F : (winner == seat ? 1.0F : -1.0F);
  }
}

void CaptureTheFlag::observe(const Rules& rules, const State& s, int seat,
                             std::span<std::byte* const> tensors) {
  rts::observe_ctf(rules, s.world, seat, tensors);
}

void CaptureTheFlag::legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask) {
  if (rules.commands == rts::Commands::units) {
    rts::legal_athlete_orders(rules, s.world, seat, mask);
    return;
  }
  if (rules.commands == rts::Commands::tactical) {
    rts::legal_flag_tactics(rules, s.world, seat, mask);
    return;
  }
  const rts::FlagActionSet useful = rts::useful_flag_actions(rules, s.world, seat);
  if (rules.commands == rts::Commands::combined) {
    rts::legal_combined(useful, rts::kFlagActions, mask);
    return;
  }
  for (int a = 0; a < rts::kFlagActions; ++a) mask[a] = static_cast<std::uint8_t>(useful >> a & 1);
}

std::uint64_t CaptureTheFlag::hash(const Rules& rules, const State& s) {
  Hash64 h;
  rts::hash_world(rules.engine, s.world, h);
  h.add_float(s.flag_x);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string CaptureTheFlag::view(const Rules& rules, const State& s) {
  static constexpr std::array<const char*, rts::kFlagTypes> kRoles = {"base", "troop", "flag",
                                                                      "troop"};
  return rts::view_world(rules.engine, s.world,
                         {.game = kName,
                          .types = rts::kFlagTypeNames,
                          .roles = kRoles,
                          .owners = rts::kMaxOwners,
                          .money = "score"});
}

}  // namespace ludus
