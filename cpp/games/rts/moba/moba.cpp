#include "games/rts/moba/moba.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "games/rts/engine/hash.hpp"
#include "games/rts/moba/bots.hpp"
#include "games/rts/moba/observe.hpp"
#include "games/rts/moba/orders.hpp"
#include "games/rts/moba/view.hpp"

namespace ludus {

namespace {

enum Bot { kSimple, kPush, kRandom, kNoop, kBots };

constexpr int kFrameSkip = 10;

void check_bot(int bot) {
  if (bot < 0 || bot >= kBots) {
    throw GameError("moba: bot " + std::to_string(bot) + ": expected an integer in [0, " +
                    std::to_string(kBots - 1) + "]");
  }
}

rts::Decision decide(const rts::Choices& c, Rng& rng, int bot) {
  if (bot == kSimple) return rts::simple_hero(c);
  if (bot == kPush) return rts::pushing_hero(c);
  return rts::random_hero(c, rng);
}

// Scripts ask for single places; who draws needs them all.
rts::Choices::Moves moves_of(int bot) {
  return bot == kRandom ? rts::Choices::Moves::now : rts::Choices::Moves::later;
}

void add_hero(Hash64& h, const rts::Hero& hero) {
  for (const std::int32_t v : {hero.gold, hero.spent, hero.xp}) {
    h.add(static_cast<std::uint64_t>(v));
  }
  for (const float v : {hero.goal_x, hero.goal_y, hero.cast_x, hero.cast_y}) h.add_float(v);
  for (const std::uint16_t v :
       {hero.id, hero.back_at, hero.goal_id, hero.cast_id, hero.stunned_until, hero.slowed_until,
        hero.hit_hero_until, static_cast<std::uint16_t>(hero.mana), hero.kills, hero.deaths,
        hero.helps, hero.last_hits}) {
    h.add(v);
  }
  for (const std::uint16_t v : hero.ready) h.add(v);
  for (const std::uint16_t v : hero.hurt_by_until) h.add(v);
  for (const std::uint8_t v : {static_cast<std::uint8_t>(hero.goal), hero.hero_class, hero.level,
                               hero.tier, hero.cast, hero.slow, hero.slot}) {
    h.add(v);
  }
}

}  // namespace

Moba::Rules Moba::make_rules(const Params& params) { return rts::make_moba_rules(params); }

GameSpec Moba::spec(const Rules& rules) {
  GameSpec spec;
  spec.name = kName;
  spec.title = "MOBA";
  spec.version = 2;
  spec.seats = rules.seats();
  if (rules.heroes > 1) {
    for (int seat = 0; seat < spec.seats; ++seat) spec.teams.push_back(rules.team_of(seat));
  }
  spec.default_frame_skip = kFrameSkip;
  spec.max_ticks = static_cast<int>(rules.engine.tick_limit) + 1;
  spec.observation = rts::moba_tensors();
  spec.heads = rts::hero_heads();
  spec.params = rts::moba_params();
  spec.bots = {
      {"simple",
       "forward: hits the weakest enemy hero in reach, else the weakest creep, else what is "
       "nearest; "
       "heals, defends its base, and flees home where a death would cost more"},
      {"push", "always forward: hits the nearest enemy that it sees"},
      {"random", "draws among all that is legal"},
      {"noop", "never decides anything"},
  };
  for (BotSpec& b : spec.bots) b.demonstrates = true;
  spec.meaning = "one lane, two teams of heroes: take the enemy's ancient";
  return spec;
}

void Moba::reset(const Rules& rules, State& s, MatchSeed seed) {
  rts::place_moba_start(rules, s, seed);
}

void Moba::copy(const Rules&, State& to, const State& from) {
  rts::copy_world(to.world, from.world);
  to.rng = from.rng;
  to.hero = from.hero;
  to.earned = from.earned;
}

SeatMask Moba::to_act(const Rules& rules, const State& s) {
  return s.world.over ? 0U : (1U << rules.seats()) - 1U;
}

void Moba::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  rts::order_hero(rules, s, seat, action);
}

void Moba::bot(const Rules& rules, State& s, int seat, int bot) {
  check_bot(bot);
  if (bot == kNoop || s.world.over) return;
  const rts::Choices c(rules, s, seat, moves_of(bot));
  rts::obey(c, s, decide(c, s.rng, bot));
}

void Moba::bot_choice(const Rules& rules, State& s, int seat, int bot,
                      std::span<std::int32_t> action) {
  check_bot(bot);
  rts::Decision d;
  if (bot != kNoop && !s.world.over)
    d = decide(rts::Choices(rules, s, seat, moves_of(bot)), s.rng, bot);
  action[rts::kOrderHead] = d.order;
  action[rts::kTargetHead] = d.target;
  action[rts::kPlaceHead] = d.place;
}

void Moba::advance(const Rules& rules, State& s) { rts::advance_moba(rules, s); }

Status Moba::status(const Rules&, const State& s) { return {.over = s.world.over}; }

void Moba::rewards(const Rules& rules, const State& s, std::span<float> out) {
  std::copy_n(s.earned.begin(), rules.seats(), out.begin());
}

void Moba::outcome(const Rules& rules, const State& s, std::span<float> out) {
  const int winner = s.world.over ? s.world.winner : -1;
  for (int seat = 0; seat < rules.seats(); ++seat) {
    out[static_cast<std::size_t>(seat)] =
        winner < 0 ? 0.0F : (rules.team_of(seat) == winner ? 1.0F : -1.0F);
  }
}

void Moba::observe(const Rules& rules, const State& s, int seat,
                   std::span<std::byte* const> tensors) {
  rts::observe_moba(rules, s, seat, tensors);
}

void Moba::legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask) {
  rts::legal_hero_orders(rules, s, seat, mask);
}

std::uint64_t Moba::hash(const Rules& rules, const State& s) {
  Hash64 h;
  rts::hash_world(rules.engine, s.world, h);
  for (int seat = 0; seat < rules.seats(); ++seat) {
    add_hero(h, s.hero[static_cast<std::size_t>(seat)]);
  }
  for (int team = 0; team < rts::kTeams; ++team) {
    rts::for_units(rules.engine, s.world, team, [&](int i) { h.add_float(s.world.speed[i]); });
  }
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string Moba::view(const Rules& rules, const State& s) { return rts::view_moba(rules, s); }

}  // namespace ludus
