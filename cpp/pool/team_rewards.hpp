// Rewards that a team shares (Berner et al. 2019, OpenAI Five, section "Team spirit" and the
// zero-sum rule of its rewards). Only what rows are paid changes; results keep the game's rewards.
//
//   zero-sum   a_s = r_s - mean of r over the seats of all other teams   (otherwise a_s = r_s)
//   spirit     p_s = (1 - spirit) * a_s + spirit * mean of a over the seats of the team of s
//
// Every seat of the match counts, including bots and the dead. With teams of equal size, the
// payments of a zero-sum match add up to 0 for any number of teams.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "game/game.hpp"

namespace ludus {

class TeamRewards {
 public:
  TeamRewards(const GameSpec& spec, bool zero_sum)
      : seats_(std::min<std::size_t>(spec.teams.size(), kMaxSeats)), zero_sum_(zero_sum) {
    for (std::size_t s = 0; s < seats_; ++s) {
      team_[s] = first_of(spec, s);
      size_[team_[s]] += 1.0;
    }
  }

  // Whether rows are paid otherwise than the game rewards their seats.
  [[nodiscard]] bool shares(double spirit) const { return zero_sum_ || spirit != 0.0; }

  // From what the seats earned to what their rows are paid.
  void share(std::array<float, kMaxSeats>& earned, double spirit) const noexcept {
    std::array<double, kMaxSeats> sum{};  // at the first seat of each team
    double all = 0.0;
    for (std::size_t s = 0; s < seats_; ++s) {
      sum[team_[s]] += static_cast<double>(earned[s]);
      all += static_cast<double>(earned[s]);
    }
    for (std::size_t s = 0; s < seats_; ++s) {
      const std::size_t t = team_[s];
      const double others =
          zero_sum_ ? (all - sum[t]) / (static_cast<double>(seats_) - size_[t]) : 0.0;
      const double own = static_cast<double>(earned[s]);
      const double team = sum[t] / size_[t];  // less `others`, as each of its seats
      earned[s] = static_cast<float>((1.0 - spirit) * own + spirit * team - others);
    }
  }

  // Why the game cannot share rewards this way; empty if it can.
  [[nodiscard]] static std::string problem(const GameSpec& spec, double spirit, bool zero_sum) {
    if (!(spirit >= 0.0 && spirit <= 1.0)) {
      return "spirit=" + std::to_string(spirit) + ", expected 0..1";
    }
    if (spirit == 0.0 && !zero_sum) return {};
    std::size_t count = 0;  // of teams
    for (std::size_t s = 0; s < spec.teams.size(); ++s) count += first_of(spec, s) == s ? 1 : 0;
    if (count == spec.teams.size()) return "rewards are shared by teams, and the game has none";
    if (zero_sum && count == 1) return "zero_sum: the game has one team, expected at least two";
    return {};
  }

 private:
  // The first seat of the team of seat s.
  static std::size_t first_of(const GameSpec& spec, std::size_t s) {
    const auto first = std::find(spec.teams.begin(), spec.teams.end(), spec.teams[s]);
    return static_cast<std::size_t>(first - spec.teams.begin());
  }

  std::size_t seats_ = 0;
  bool zero_sum_ = false;
  std::array<std::size_t, kMaxSeats> team_{};  // [seat] first seat of its team
  std::array<double, kMaxSeats> size_{};       // [first seat] seats of the team
};

}  // namespace ludus
