// The decisions of a recorded match as rows to learn from: what the pool would have written for
// them, one row a decision.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "game/mask.hpp"
#include "game/replay_run.hpp"

namespace ludus {

// D decisions of one seat, in order.
struct SeatRows {
  int seat = 0;
  std::vector<std::vector<std::uint8_t>> obs;  // [tensor][D * bytes of the tensor]
  std::vector<std::uint8_t> mask;              // [D * mask bytes]
  std::vector<std::int32_t> actions;           // [D * heads]
  std::vector<std::int32_t> tick;              // [D] before whose advance it was made
  std::vector<float> reward;  // [D] of the seat, until its next decision or the end
  // [D] 1 = the decision is known and the mask allows it. 0 = a bot's that the game cannot show as
  // an action, or one that lenient heads take although the mask rules it out; choices that no head
  // has are 0 then.
  std::vector<std::uint8_t> shown;
};

inline constexpr std::size_t kMaxRowBytes = std::size_t{1} << 30;  // of all rows of a match

// Rows of `seats`, rising, or of all seats if there are none. `changed` replaces parameters that
// change nothing but what is observed. Throws ReplayError where the match does not come out as it
// was recorded, ParamError for a bad parameter of `changed` or a seat that is not there.
template <Game G>
class ReplayRows {
 public:
  ReplayRows(const Replay& r, const std::map<std::string, std::string>& changed,
             std::span<const int> seats)
      : r_(r), rules_(replay_rules<G>(r, changed)), spec_(G::spec(rules_)), masks_(spec_) {
    const auto count = static_cast<std::size_t>(spec_.seats);
    for (const int seat : seats) {
      if (seat >= 0 && seat < spec_.seats) continue;
      throw ParamError(spec_.name + ": no seat " + std::to_string(seat) + ", expected 0 to " +
                       std::to_string(spec_.seats - 1));
    }
    for (std::size_t s = 0; s < count; ++s) {
      const bool wanted =
          seats.empty() || std::ranges::find(seats, static_cast<int>(s)) != seats.end();
      if (!wanted) continue;
      row_of_[s] = static_cast<int>(rows_.size());
      rows_.push_back({.seat = static_cast<int>(s),
                       .obs = {},
                       .mask = {},
                       .actions = {},
                       .tick = {},
                       .reward = {},
                       .shown = {}});
    }
    reserve();
  }

  [[nodiscard]] std::vector<SeatRows> read() && {
    ReplayComparison<G> same(r_);
    replay_run<G>(
        rules_, r_,
        [&](const auto& rules, const auto& state) {
          if (!same(rules, state)) throw ReplayError("replay: " + same.check().difference);
          if (same.check().ticks > 0) earn(state);
          return true;
        },
        *this);
    for (SeatRows& seat : rows_) pay(seat);
    return std::move(rows_);
  }

  // As AsRecorded; what is observed was there before any seat of the tick has decided.
  void due(const typename G::State& state, std::span<const Decision> decisions) {
    std::uint32_t seen = 0;
    for (const Decision& d : decisions) {
      SeatRows* rows = of(d.seat);
      if (rows == nullptr || (seen >> d.seat & 1U) != 0) continue;
      seen |= 1U << d.seat;
      observe(state, *rows, d.tick);
    }
  }

  void decide(const typename G::Rules& rules, typename G::State& state, const Decision& d,
              std::span<const std::int32_t> action) {
    SeatRows* rows = of(d.seat);
    if (rows == nullptr) return AsRecorded<G>{}.decide(rules, state, d, action);
    // A second decision of a seat in one tick takes the place of the first.
    std::int32_t* mine = &*(rows->actions.end() - static_cast<std::ptrdiff_t>(spec_.heads.size()));
    const std::span<std::int32_t> choices(mine, spec_.heads.size());
    std::ranges::fill(choices, 0);
    rows->shown.back() = 0;
    if (d.bot < 0) {
      std::ranges::copy(action, choices.begin());
      G::act(rules, state, d.seat, action);
    } else if (!choose(rules, state, d, choices)) {
      return G::bot(rules, state, d.seat, d.bot);
    }
    const std::uint8_t* mask = &*(rows->mask.end() - static_cast<std::ptrdiff_t>(mask_bytes()));
    rows->shown.back() = allowed(mask, choices) ? 1 : 0;
  }

 private:
  [[nodiscard]] std::size_t mask_bytes() const { return spec_.mask_bytes(); }

  [[nodiscard]] SeatRows* of(int seat) {
    const int at = row_of_[static_cast<std::size_t>(seat)];
    return at < 0 ? nullptr : &rows_[static_cast<std::size_t>(at)];
  }

  // Room for every decision of the wanted seats.
  void reserve() {
    std::array<std::size_t, kMaxSeats> decisions{};
    std::size_t total = 0;
    for (const Decision& d : r_.decisions) {
      if (of(d.seat) == nullptr) continue;
      ++decisions[d.seat];
      ++total;
    }
    std::size_t bytes = mask_bytes() + 4 * spec_.heads.size() + 9;  // and tick, reward, shown
    for (const TensorSpec& t : spec_.observation) bytes += t.bytes();
    if (total > kMaxRowBytes / bytes) {
      throw ReplayError("replay: " + std::to_string(total) + " decisions of " +
                        std::to_string(bytes) + " bytes are more than " +
                        std::to_string(kMaxRowBytes) + " bytes; read fewer seats at once");
    }
    for (SeatRows& seat : rows_) {
      const std::size_t n = decisions[static_cast<std::size_t>(seat.seat)];
      for (const TensorSpec& t : spec_.observation) seat.obs.emplace_back().reserve(n * t.bytes());
      seat.mask.reserve(n * mask_bytes());
      seat.actions.reserve(n * spec_.heads.size());
      seat.tick.reserve(n);
      seat.reward.reserve(n);
      seat.shown.reserve(n);
    }
    tensors_.resize(spec_.observation.size());
  }

  void observe(const typename G::State& state, SeatRows& rows, std::uint32_t tick) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      auto& to = rows.obs[i];
      const std::size_t at = to.size();
      to.resize(at + spec_.observation[i].bytes());
      tensors_[i] = std::as_writable_bytes(std::span(to)).data() + at;
    }
    G::observe(rules_, state, rows.seat, tensors_);
    const std::size_t at = rows.mask.size();
    rows.mask.resize(at + mask_bytes());
    G::legal(rules_, state, rows.seat, rows.mask.data() + at);
    pay(rows);
    rows.actions.resize(rows.actions.size() + spec_.heads.size());
    rows.tick.push_back(static_cast<std::int32_t>(tick));
    rows.reward.push_back(0.0F);
    rows.shown.push_back(0);
  }

  // The last decision gets what its seat has earned since; earnings before the first are lost.
  void pay(SeatRows& rows) {
    double& earned = earned_[static_cast<std::size_t>(rows.seat)];
    if (!rows.reward.empty()) rows.reward.back() = static_cast<float>(earned);
    earned = 0.0;
  }

  // Lets a bot decide by an action; false, changing nothing, if it cannot.
  bool choose(const typename G::Rules& rules, typename G::State& state, const Decision& d,
              std::span<std::int32_t> choices) const {
    if constexpr (Demonstrates<G>) {
      if (spec_.bots[static_cast<std::size_t>(d.bot)].demonstrates) {
        G::bot_choice(rules, state, d.seat, d.bot, choices);
        G::act(rules, state, d.seat, choices);
        return true;
      }
    }
    return false;
  }

  // Whether the mask allows every choice that matters. Zeroes choices that no head has.
  [[nodiscard]] bool allowed(const std::uint8_t* mask, std::span<std::int32_t> choices) const {
    for (int h = 0; h < masks_.heads(); ++h) {
      const std::int32_t choice = choices[static_cast<std::size_t>(h)];
      if (choice >= 0 && choice < masks_.size(h)) continue;
      std::ranges::fill(choices, 0);
      return false;
    }
    for (int h = 0; h < masks_.heads(); ++h) {
      if (masks_.legal(mask, choices, h, choices[static_cast<std::size_t>(h)])) continue;
      if (masks_.count(mask, choices, h) > 0) return false;
    }
    return true;
  }

  void earn(const typename G::State& state) {
    std::array<float, kMaxSeats> rewards{};
    const auto seats = static_cast<std::size_t>(spec_.seats);
    G::rewards(rules_, state, std::span(rewards).first(seats));
    for (std::size_t s = 0; s < seats; ++s) earned_[s] += static_cast<double>(rewards[s]);
  }

  const Replay& r_;
  const typename G::Rules rules_;
  const GameSpec spec_;
  const MaskLayout masks_;
  std::vector<SeatRows> rows_;
  std::array<int, kMaxSeats> row_of_ = filled();  // [seat] index of rows_, -1 = not wanted
  std::array<double, kMaxSeats> earned_{};        // [seat] since its last decision
  std::vector<std::byte*> tensors_;

  static constexpr std::array<int, kMaxSeats> filled() {
    std::array<int, kMaxSeats> out{};
    out.fill(-1);
    return out;
  }
};

template <Game G>
std::vector<SeatRows> replay_rows(const Replay& r,
                                  const std::map<std::string, std::string>& changed,
                                  std::span<const int> seats) {
  return ReplayRows<G>(r, changed, seats).read();
}

}  // namespace ludus
