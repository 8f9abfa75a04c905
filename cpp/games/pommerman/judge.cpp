#include "games/pommerman/judge.hpp"

#include <bit>

namespace ludus::pommerman {
namespace {

constexpr unsigned kEven = 0b0101, kOdd = 0b1010;  // the two teams

// +1 for the agents of the mask, -1 for all others.
PerAgent won_by(unsigned winners) {
  PerAgent out{};
  for (unsigned a = 0; a < kAgents; ++a) out[a] = (winners >> a & 1U) != 0 ? 1.0F : -1.0F;
  return out;
}

PerAgent all(float value) {
  PerAgent out{};
  out.fill(value);
  return out;
}

// The one team, or the one agent, that is left; 0 where none or more than one is. A team has won
// as soon as no one else lives.
unsigned left_standing(const Rules& rules, unsigned alive) {
  if (alive == 0) return 0;
  if (!rules.teams()) return std::has_single_bit(alive) ? alive : 0;
  return (alive & kOdd) == 0 ? kEven : (alive & kEven) == 0 ? kOdd : 0;
}

}  // namespace

bool match_over(const Rules& rules, const State& s) {
  const unsigned alive = alive_mask(s);
  if (s.steps >= rules.max_steps || std::popcount(alive) <= 1) return true;
  return rules.teams() && (alive == kEven || alive == kOdd);
}

PerAgent original_rewards(const Rules& rules, const State& s) {
  const unsigned alive = alive_mask(s);
  if (const unsigned winners = left_standing(rules, alive); winners != 0) return won_by(winners);
  const bool nobody_left = rules.mode != Mode::one_vs_one && alive == 0;
  if (s.steps >= rules.max_steps || nobody_left) return all(-1.0F);
  PerAgent out{};
  if (rules.mode != Mode::ffa) return out;
  for (unsigned a = 0; a < kAgents; ++a) out[a] = (alive >> a & 1U) != 0 ? 0.0F : -1.0F;
  return out;
}

PerAgent step_rewards(const Rules& rules, const State& s, unsigned before,
                      const StepEvents& events) {
  const unsigned alive = alive_mask(s);
  PerAgent out = original_rewards(rules, s);
  if (rules.pay == Pay::result && rules.mode == Mode::ffa) {  // a dead agent was paid when it died
    for (unsigned a = 0; a < kAgents; ++a) {
      if ((before >> a & 1U) == 0) out[a] = 0.0F;
    }
  }
  const unsigned died = before & ~alive;
  for (unsigned a = 0; a < kAgents; ++a) {
    out[a] += rules.reward_pickup * static_cast<float>(events.picked_up[a]);
    out[a] += rules.reward_wood * static_cast<float>(events.wood[a]);
    if ((alive >> a & 1U) == 0) continue;
    const unsigned own = rules.teams() ? ((a & 1U) == 0 ? kEven : kOdd) : 1U << a;
    out[a] += rules.reward_kill * static_cast<float>(std::popcount(died & ~own));
  }
  return out;
}

PerAgent results(const Rules& rules, const State& s) {
  const unsigned winners = left_standing(rules, alive_mask(s));
  return winners != 0 ? won_by(winners) : PerAgent{};
}

}  // namespace ludus::pommerman
