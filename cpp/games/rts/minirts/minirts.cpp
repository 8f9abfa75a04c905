#include "games/rts/minirts/minirts.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "games/rts/engine/tick.hpp"
#include "games/rts/minirts/observe.hpp"
#include "games/rts/minirts/start.hpp"
#include "games/rts/minirts/strategy.hpp"

namespace ludus {

namespace {

enum Bot { kSimple, kHitAndRunBot, kRandom, kNoop, kBots };

constexpr int kFrameSkip = 50;
constexpr std::uint64_t kStream = 1;

}  // namespace

MiniRts::Rules MiniRts::make_rules(const Params& params) { return rts::make_mini_rules(params); }

GameSpec MiniRts::spec(const Rules& rules) {
  GameSpec spec;
  spec.name = kName;
  spec.title = "MiniRTS";
  spec.version = 1;
  spec.seats = rts::kMiniSeats;
  spec.default_frame_skip = kFrameSkip;
  spec.max_ticks = static_cast<int>(rules.engine.tick_limit) + 1;
  spec.observation = rts::mini_tensors(rules);
  HeadSpec head;
  head.name = "strategy";
  head.size = rts::kActions;
  head.labels.assign(rts::kActionNames.begin(), rts::kActionNames.end());
  head.meaning = "an order to the whole side; every choice also sends idle workers to gather";
  head.lenient = true;
  spec.heads = {head};
  spec.params = rts::mini_params();
  spec.bots = {
      {"simple", "the original's SIMPLE: three workers, barracks, attack with five melee troops"},
      {"hit_and_run", "the original's HIT_AND_RUN: range attackers that keep their distance"},
      {"random", "draws among all nine actions, also those that do nothing"},
      {"noop", "never decides anything"},
  };
  spec.meaning = "gather, build, train troops and destroy the other base, through the fog of war";
  return spec;
}

void MiniRts::reset(const Rules& rules, State& s, MatchSeed seed) {
  s.rng = Rng(seed, kStream);
  rts::place_start(rules, s.world, s.rng);
}

SeatMask MiniRts::to_act(const Rules& rules, const State& s) {
  return s.world.tick >= rules.first_decision && !s.world.over ? 3U : 0U;
}

void MiniRts::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  const std::int32_t choice = action[0];
  if (choice < 0 || choice >= rts::kActions) {
    throw GameError("minirts: strategy = " + std::to_string(choice) +
                    ": expected an integer in [0, " + std::to_string(rts::kActions - 1) + "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
  rts::act_strategy(rules, s.world, seat, rts::action_bit(choice));
}

void MiniRts::bot(const Rules& rules, State& s, int seat, int bot) {
  if (bot < 0 || bot >= kBots) {
    throw GameError("minirts: bot " + std::to_string(bot) + ": expected an integer in [0, " +
                    std::to_string(kBots - 1) + "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
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

void MiniRts::advance(const Rules& rules, State& s) {
  if (!s.world.over) rts::advance_tick(rules.engine, s.world);
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
  const rts::ActionSet useful = rts::useful_actions(rules, s.world, seat);
  for (int a = 0; a < rts::kActions; ++a) mask[a] = static_cast<std::uint8_t>(useful >> a & 1);
}

std::uint64_t MiniRts::hash(const Rules& rules, const State& s) {
  const rts::State& w = s.world;
  Hash64 h;
  h.add(w.tick);
  h.add(static_cast<std::uint64_t>(w.winner + 1) << 2 | (w.over ? 2U : 0U) |
        (w.congested ? 1U : 0U));
  for (const std::int32_t money : w.money) h.add(static_cast<std::uint64_t>(money));
  h.add(w.next_id);
  for (int owner = 0; owner < rts::kMaxOwners; ++owner) {
    h.add(w.units[owner]);
    rts::for_units(rules.engine, w, owner, [&](int i) {
      h.add(
          static_cast<std::uint64_t>(w.id[i]) << 48 | static_cast<std::uint64_t>(w.built[i]) << 32 |
          static_cast<std::uint64_t>(w.type[i]) << 24 |
          static_cast<std::uint64_t>(w.damaged_by[i]) << 16 | static_cast<std::uint16_t>(w.hp[i]));
      h.add_float(w.x[i]);
      h.add_float(w.y[i]);
      h.add(static_cast<std::uint64_t>(w.last[0][i]) << 48 |
            static_cast<std::uint64_t>(w.last[1][i]) << 32 |
            static_cast<std::uint64_t>(w.last[2][i]) << 16 | w.last[3][i]);
      h.add(static_cast<std::uint64_t>(w.cmd[i]));
      if (w.cmd[i] != rts::Cmd::idle) {
        h.add(static_cast<std::uint64_t>(w.start[i]) << 24 |
              static_cast<std::uint64_t>(w.target[i]) << 16 |
              static_cast<std::uint64_t>(w.source[i]) << 8 | w.phase[i]);
        h.add_float(w.px[i]);
        h.add_float(w.py[i]);
      }
    });
  }
  for (int i = 0; i < w.bullets; ++i) {
    h.add_float(w.bullet_x[i]);
    h.add_float(w.bullet_y[i]);
    h.add(static_cast<std::uint64_t>(w.bullet_shooter[i]) << 24 |
          static_cast<std::uint64_t>(w.bullet_target[i]) << 16 |
          static_cast<std::uint64_t>(w.bullet_state[i]));
  }
  for (int i = 0; i < w.counters; ++i) {
    h.add(static_cast<std::uint64_t>(w.counter[i].unit) << 8 | w.counter[i].target);
  }
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

}  // namespace ludus
