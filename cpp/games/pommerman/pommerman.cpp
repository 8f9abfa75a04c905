#include "games/pommerman/pommerman.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "games/pommerman/judge.hpp"
#include "games/pommerman/observe.hpp"
#include "games/pommerman/simple.hpp"
#include "games/pommerman/step.hpp"

namespace ludus {

using namespace pommerman;

namespace {

enum Bot { kSimple, kRandom, kNoop, kBots };

constexpr std::uint64_t kStream = 1;

}  // namespace

Pommerman::Rules Pommerman::make_rules(const Params& params) {
  return pommerman::make_rules(params);
}

GameSpec Pommerman::spec(const Rules& rules) {
  GameSpec spec;
  spec.name = kName;
  spec.title = "Pommerman";
  spec.version = 1;
  spec.seats = rules.seats;
  if (rules.teams()) spec.teams = {0, 1, 0, 1};
  spec.max_ticks = rules.max_steps;
  spec.observation = tensors(rules);
  spec.heads = {{.name = "action",
                 .size = kActions,
                 .labels = {"stop", "up", "down", "left", "right", "bomb"},
                 .depends_on = {},
                 .meaning = "a step, or a bomb under oneself; what cannot be done is a stop",
                 .lenient = true}};
  if (rules.radio()) {
    for (const char* word : {"word_1", "word_2"}) {
      spec.heads.push_back({.name = word,
                            .size = kWords,
                            .labels = {},
                            .depends_on = {},
                            .meaning = "what the teammate reads with its next observation"});
    }
  }
  spec.params = declared();
  spec.bots = {
      {"simple",
       "the original's SimpleAgent: flees blasts, bombs what is next to it, follows "
       "enemies and power-ups"},
      {"random", "draws among all actions (and words)"},
      {"noop", "never moves"},
  };
  for (BotSpec& b : spec.bots) b.demonstrates = true;
  spec.meaning =
      "lay bombs, collect what wooden walls hide, be the last one or the last team alive";
  return spec;
}

void Pommerman::reset(const Rules& rules, State& s, MatchSeed seed) {
  s = State{};
  s.rng = Rng(seed, kStream);
  place_start(rules, s);
}

SeatMask Pommerman::to_act(const Rules&, const State& s) { return s.over != 0 ? 0 : alive_mask(s); }

SeatMask Pommerman::out(const Rules& rules, const State& s) {
  return rules.teams() ? 0 : ~static_cast<SeatMask>(alive_mask(s));
}

void Pommerman::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  const std::size_t heads = rules.radio() ? 1 + kMessageWords : 1;
  if (action.size() != heads) {
    throw GameError("pommerman: " + std::to_string(action.size()) + " choices, expected " +
                    std::to_string(heads));
  }
  for (std::size_t h = 0; h < heads; ++h) {
    const int size = h == 0 ? static_cast<int>(kActions) : kWords;
    if (action[h] >= 0 && action[h] < size) continue;
    throw GameError("pommerman: choice " + std::to_string(action[h]) + " of head " +
                    std::to_string(h) + ": expected an integer in [0, " + std::to_string(size - 1) +
                    "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
  const auto i = static_cast<std::size_t>(seat);
  s.chosen[i] = static_cast<std::uint8_t>(action[0]);
  for (std::size_t w = 1; w < heads; ++w) s.said[i][w - 1] = static_cast<std::uint8_t>(action[w]);
}

void Pommerman::bot(const Rules& rules, State& s, int seat, int bot) {
  if (bot < 0 || bot >= kBots) {
    throw GameError("pommerman: bot " + std::to_string(bot) + ": expected an integer in [0, " +
                    std::to_string(kBots - 1) + "]");
  }
  if ((to_act(rules, s) >> seat & 1U) == 0) return;
  const auto i = static_cast<std::size_t>(seat);
  switch (bot) {
    case kSimple:
      s.chosen[i] = simple_action(rules, s, seat);
      return;
    case kRandom:
      s.chosen[i] = static_cast<std::uint8_t>(s.rng.below(kActions));
      if (rules.radio()) {
        for (std::uint8_t& word : s.said[i]) word = static_cast<std::uint8_t>(s.rng.below(kWords));
      }
      return;
    default:  // noop
      return;
  }
}

void Pommerman::bot_choice(const Rules& rules, State& s, int seat, int bot,
                           std::span<std::int32_t> action) {
  Pommerman::bot(rules, s, seat, bot);
  const auto i = static_cast<std::size_t>(seat);
  action[0] = s.chosen[i];
  for (std::size_t w = 1; w < action.size(); ++w) action[w] = s.said[i][w - 1];
}

// The ring that falls after step k is seen one step later, as in the original: it falls here, when
// the next step starts.
void Pommerman::advance(const Rules& rules, State& s) {
  if (s.over != 0) return;
  const unsigned before = alive_mask(s);
  if (rules.collapse) {
    for (int ring = 0; ring < kCollapses; ++ring) {
      if (s.steps != rules.collapse_at[static_cast<std::size_t>(ring)]) continue;
      collapse_ring(s, rules.size, ring);
    }
  }
  StepEvents events;
  step_world(s, rules.max_blast, events);
  ++s.steps;
  s.over = match_over(rules, s) ? 1 : 0;
  s.reward = step_rewards(rules, s, before, events);
  for (std::size_t a = 0; a < kAgents; ++a) {
    const std::size_t mate = (a + 2) % kAgents;
    s.received[a] = s.said[mate];
  }
  s.chosen.fill(kStop);
  s.said = {};
}

Status Pommerman::status(const Rules&, const State& s) { return {.over = s.over != 0}; }

void Pommerman::rewards(const Rules& rules, const State& s, std::span<float> out) {
  std::copy_n(s.reward.begin(), rules.seats, out.begin());
}

void Pommerman::outcome(const Rules& rules, const State& s, std::span<float> out) {
  const PerAgent values = results(rules, s);
  std::copy_n(values.begin(), rules.seats, out.begin());
}

void Pommerman::observe(const Rules& rules, const State& s, int seat,
                        std::span<std::byte* const> tensors) {
  pommerman::observe(rules, s, seat, tensors);
}

void Pommerman::legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask) {
  pommerman::legal(rules, s, seat, mask);
}

std::uint64_t Pommerman::hash(const Rules&, const State& s) {
  Hash64 h;
  h.add_bytes(s.board.data(), s.board.size());
  h.add_bytes(s.hidden.data(), s.hidden.size());
  for (const CellSet& f : s.flames) {
    for (const std::uint64_t w : f.word) h.add(w);
  }
  h.add(s.bombs);
  for (int b = 0; b < s.bombs; ++b) {
    const Bomb& bomb = s.bomb[static_cast<std::size_t>(b)];
    h.add(static_cast<std::uint64_t>(bomb.cell) << 32 |
          static_cast<std::uint64_t>(bomb.owner) << 24 |
          static_cast<std::uint64_t>(bomb.life) << 16 |
          static_cast<std::uint64_t>(bomb.blast) << 8 | bomb.moving);
  }
  for (std::size_t a = 0; a < kAgents; ++a) {
    const Agent& agent = s.agent[a];
    h.add(static_cast<std::uint64_t>(agent.cell) << 32 |
          static_cast<std::uint64_t>(agent.alive) << 24 |
          static_cast<std::uint64_t>(agent.ammo) << 16 |
          static_cast<std::uint64_t>(agent.blast) << 8 | agent.can_kick);
    const SimpleMemory& m = s.memory[a];
    h.add_bytes(m.recent.data(), m.recents);
    h.add(static_cast<std::uint64_t>(m.chased) << 24 |
          static_cast<std::uint64_t>(s.chosen[a]) << 16 |
          static_cast<std::uint64_t>(s.said[a][0]) << 12 |
          static_cast<std::uint64_t>(s.said[a][1]) << 8 |
          static_cast<std::uint64_t>(s.received[a][0]) << 4 | s.received[a][1]);
  }
  h.add(static_cast<std::uint64_t>(s.steps) << 1 | s.over);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

}  // namespace ludus
