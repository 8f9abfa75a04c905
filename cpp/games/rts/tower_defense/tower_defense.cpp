#include "games/rts/tower_defense/tower_defense.hpp"

#include "games/rts/engine/hash.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/engine/view.hpp"
#include "games/rts/tower_defense/observe.hpp"
#include "games/rts/tower_defense/strategy.hpp"
#include "games/rts/tower_defense/tower_orders.hpp"

namespace ludus {

namespace {

enum Bot { kSimple, kRandom, kNoop, kBots };

constexpr int kFrameSkip = 50;
constexpr std::uint64_t kStream = 1;

float base_hp(const rts::TdRules& rules, const rts::State& w) {
  if (w.bases[rts::kDefender] == 0) return 0.0F;
  return static_cast<float>(w.hp[0]) / static_cast<float>(rules.engine.type[rts::kTowerBase].hp);
}

std::vector<HeadSpec> heads_of(const rts::TdRules& rules) {
  if (rules.commands == rts::Commands::units) return rts::tower_unit_heads();
  if (rules.commands == rts::Commands::tactical) return rts::tower_tactical_heads();
  HeadSpec head = rts::cell_head(
      "tower",
      "a tower in the cell x = choice div 20, y = choice mod 20, if there is money; 0, where the "
      "base stands, waits. Every choice also gives the towers their targets");
  head.lenient = true;
  return {head};
}

}  // namespace

TowerDefense::Rules TowerDefense::make_rules(const Params& params) {
  return rts::make_td_rules(params);
}

GameSpec TowerDefense::spec(const Rules& rules) {
  GameSpec spec;
  spec.name = kName;
  spec.title = "Tower Defense";
  spec.version = 1;
  spec.seats = 1;
  spec.perfect_information = true;
  spec.default_frame_skip = kFrameSkip;
  spec.max_ticks = static_cast<int>(rules.engine.tick_limit) + 1;
  spec.observation = rts::td_tensors(rules);
  spec.heads = heads_of(rules);
  spec.params = rts::td_params();
  spec.bots = {
      {"simple", "the original's TD_SIMPLE: builds on the first free wall around the middle"},
      {"random", "draws among all 400 cells, also those where nothing can be built"},
      {"noop", "never decides anything"},
  };
  spec.meaning = "build towers on the walls of a maze and outlast the waves";
  return spec;
}

void TowerDefense::reset(const Rules& rules, State& s, MatchSeed seed) {
  s.rng = Rng(seed, kStream);
  rts::place_td_start(rules, s.world, s.rng);
  s.earned = 0.0F;
  s.path_cache = {};
  s.tables.clear();
}

void TowerDefense::copy(const Rules&, State& to, const State& from) {
  rts::copy_world(to.world, from.world);
  to.rng = from.rng;
  to.earned = from.earned;
  to.path_cache.clear();
  to.tables.clear();
}

SeatMask TowerDefense::to_act(const Rules& rules, const State& s) {
  return s.world.tick >= rules.first_decision && !s.world.over ? 1U : 0U;
}

void TowerDefense::act(const Rules& rules, State& s, int seat,
                       std::span<const std::int32_t> action) {
  const bool acts = (to_act(rules, s) >> seat & 1U) != 0;
  if (rules.commands == rts::Commands::units) {
    if (acts) rts::order_tower(rules, s.world, action);
    return;
  }
  if (rules.commands == rts::Commands::tactical) {
    if (acts) rts::order_towers(rules, s.world, action);
    return;
  }
  const std::int32_t choice = action[0];
  if (choice < 0 || choice >= rts::kTowerActions) {
    throw GameError("tower_defense: tower = " + std::to_string(choice) +
                    ": expected an integer in [0, " + std::to_string(rts::kTowerActions - 1) + "]");
  }
  if (acts) rts::act_tower(rules, s.world, choice);
}

void TowerDefense::bot(const Rules& rules, State& s, int seat, int bot) {
  if (bot < 0 || bot >= kBots) {
    throw GameError("tower_defense: bot " + std::to_string(bot) + ": expected an integer in [0, " +
                    std::to_string(kBots - 1) + "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
  if (bot == kSimple) rts::play_tower_simple(rules, s.world);
  if (bot == kRandom) {
    rts::act_tower(rules, s.world, static_cast<int>(s.rng.below(rts::kTowerActions)));
  }
}

void TowerDefense::advance(const Rules& rules, State& s) {
  if (s.world.over) return;
  if (s.world.tick % static_cast<unsigned>(rules.wave_think) == 0) {
    rts::play_waves(rules, s.world);
  }
  const float before = base_hp(rules, s.world);
  rts::HeuristicStore store = rts::own_store(s.world, s.tables);
  store.path_cache = &s.path_cache;
  rts::advance_tick(rules.engine, s.world, store);
  s.earned = rules.hp_reward * (base_hp(rules, s.world) - before);
}

Status TowerDefense::status(const Rules&, const State& s) { return {.over = s.world.over}; }

void TowerDefense::rewards(const Rules& rules, const State& s, std::span<float> out) {
  out[0] = s.earned;
  if (s.world.over && s.world.winner >= 0) outcome(rules, s, out);
}

void TowerDefense::outcome(const Rules&, const State& s, std::span<float> out) {
  const int winner = s.world.over ? s.world.winner : -1;
  out[0] = winner < 0 ? 0.0F : (winner == rts::kDefender ? 1.0F : -1.0F);
}

void TowerDefense::observe(const Rules& rules, const State& s, int,
                           std::span<std::byte* const> tensors) {
  rts::observe_td(rules, s.world, tensors);
}

void TowerDefense::legal(const Rules& rules, const State& s, int, std::uint8_t* mask) {
  if (rules.commands == rts::Commands::units) {
    rts::legal_tower_orders(rules, s.world, mask);
    return;
  }
  if (rules.commands == rts::Commands::tactical) {
    rts::legal_tower_tactics(rules, s.world, mask);
    return;
  }
  for (int a = 0; a < rts::kTowerActions; ++a) {
    mask[a] = a == rts::kTowerWait || rts::can_build_tower(rules, s.world, a) ? 1 : 0;
  }
}

std::uint64_t TowerDefense::hash(const Rules& rules, const State& s) {
  Hash64 h;
  rts::hash_world(rules.engine, s.world, h);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string TowerDefense::view(const Rules& rules, const State& s) {
  static constexpr std::array<const char*, rts::kTowerTypes> kRoles = {"base", "troop", "tower"};
  return rts::view_world(
      rules.engine, s.world,
      {.game = kName, .types = rts::kTowerTypeNames, .roles = kRoles, .seats = 1, .fog = false});
}

}  // namespace ludus
