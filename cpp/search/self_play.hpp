// Self-play: a search plays matches against itself and records training targets: moves, policy
// targets and values. Positions are not recorded: seed and moves reproduce them (positions.hpp).
//
// Every slot plays match after match; a match's numbers depend only on (seed, number) and the
// evaluator's answers. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "search/search_of.hpp"

namespace ludus {

template <Game G>
class SelfPlayOf final : public AnySelfPlay {
 public:
  SelfPlayOf(const Params& params, const SearchOptions& search, const SelfPlayOptions& options,
             const EvaluatorOptions& evaluator)
      : SelfPlayOf(G::make_rules(params), search, options, evaluator) {}
  SelfPlayOf(typename G::Rules rules, const SearchOptions& search, const SelfPlayOptions& options,
             const EvaluatorOptions& evaluator)
      : options_(options),
        search_(std::move(rules), search, options.slots,
                std::max(search.visits, options.cheap_visits)),
        slots_(static_cast<std::size_t>(options.slots)) {
    validate(options);
    if (options.full_share < 1.0F && options.cheap_visits < 1) {
      throw SearchError("self-play: full_share below 1 needs cheap_visits of at least 1");
    }
    if (search.leaves != 1) throw SearchError("self-play: leaves, expected 1: one tree, one leaf");
    search_.set_evaluator(make_evaluator<G>(search_.spec(), evaluator, &batch_));
    target_.resize(static_cast<std::size_t>(search_.choices()));
    next_match_ = options.first;
    for (int i = 0; i < options.slots; ++i) start_match(i);
  }

  [[nodiscard]] const GameSpec& spec() const override { return search_.spec(); }
  [[nodiscard]] int slots() const override { return search_.slots(); }
  void attach(std::span<std::byte* const> base, int rows) override {
    if (batch_ == nullptr) throw SearchError("self-play: this evaluator takes no batch");
    if (rows < search_.slots()) {
      throw SearchError("self-play: a batch of " + std::to_string(rows) + " rows, expected " +
                        std::to_string(search_.slots()));
    }
    if (search_.waiting() > 0) throw SearchError("self-play: attach while leaves wait");
    batch_->attach(base, rows);
    attached_ = true;
  }
  int collect(int rounds) override {
    if (batch_ != nullptr && !attached_) throw SearchError("self-play: attach a batch first");
    if (search_.waiting() > 0) throw SearchError("self-play: deliver the last batch first");
    const bool instant = batch_ == nullptr;
    for (int round = 0; round < (instant ? rounds : 1); ++round) {
      for (int slot = 0; slot < search_.slots(); ++slot) {
        while (true) {
          const Simulated r = search_.simulate(slot);
          if (r == Simulated::queued || r == Simulated::blocked) break;
          if (search_.done(slot)) move_on(slot);
          if (instant) break;
        }
      }
    }
    return search_.waiting();
  }
  void deliver(const float* policy, const float* value) override {
    search_.deliver(policy, value);
    for (int slot = 0; slot < search_.slots(); ++slot) {
      if (search_.done(slot)) move_on(slot);
    }
  }
  void set_version(std::int32_t version) override {
    version_ = version;
    search_.evaluator().forget();
  }
  void set_resign(float below) override {
    SelfPlayOptions o = options_;
    o.resign_below = below;
    validate(o);
    options_ = o;
  }
  MatchColumns take_matches() override { return std::exchange(finished_, {}); }
  [[nodiscard]] std::uint64_t simulations() const override { return search_.simulations(); }
  [[nodiscard]] std::uint64_t moves() const override { return moves_; }
  [[nodiscard]] std::array<std::uint64_t, 2> cache_counts() override {
    return search_.evaluator().cache_counts();
  }

 private:
  static constexpr int kOpenings = 32;  // random beginnings that a match is tried with

  struct Slot {
    std::uint64_t match = 0;
    Rng rng;
    bool never_resign = false, full = true, ends_proven = false;
    std::array<float, 2> lowest{1.0F, 1.0F};
    MatchColumns game;
  };

  void start_match(int slot) {
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    do {  // a match that starts at its end teaches nothing
      s.match = next_match_;
      next_match_ += options_.stride;
      search_.reset(slot, {options_.seed, s.match});
      s.rng = Rng({options_.seed, s.match}, 0x73656c66);
      s.never_resign = s.rng.uniform() < static_cast<double>(options_.never_resign_share);
      s.ends_proven = options_.proven_share > 0.0F &&
                      s.rng.uniform() < static_cast<double>(options_.proven_share);
      s.lowest = {1.0F, 1.0F};
      s.game.clear_plies();
      open(slot, s);
    } while (search_.status(slot).over);
    begin(slot, s);
  }

  // The random moves of a match's beginning. Those that end it are drawn again, as many: otherwise
  // matches would seldom start late, where few random ones get to.
  void open(int slot, Slot& s) {
    if (options_.random_plies == 0 || options_.random_share == 0.0F) return;
    if (s.rng.uniform() >= static_cast<double>(options_.random_share)) return;
    s.full = false;
    const auto plies = 1 + s.rng.below(static_cast<std::uint32_t>(options_.random_plies));
    for (int tries = 0; tries < kOpenings; ++tries) {
      if (tries > 0) {
        search_.reset(slot, {options_.seed, s.match});
        s.game.clear_plies();
      }
      play_randomly(slot, s, plies);
      if (!search_.status(slot).over) return;
    }
  }
  void play_randomly(int slot, Slot& s, std::uint32_t plies) {
    for (auto left = plies; left > 0 && !search_.status(slot).over; --left) {
      const std::span<const std::uint8_t> legal = search_.legal(slot);
      std::uint32_t count = 0;
      for (const std::uint8_t m : legal) count += m != 0;
      if (count == 0) return;
      std::uint32_t nth = s.rng.below(count);
      int move = 0;
      while (legal[static_cast<std::size_t>(move)] == 0 || nth-- > 0) ++move;
      record(s, search_.seat(slot), move, 0.0F);
      search_.play(slot, move);
    }
  }

  void begin(int slot, Slot& s) {
    s.full =
        options_.full_share >= 1.0F || s.rng.uniform() < static_cast<double>(options_.full_share);
    const int visits = s.full ? search_.options().visits : options_.cheap_visits;
    search_.begin(slot, visits, s.full, s.rng);
  }

  void move_on(int slot) {
    Slot& s = slots_[static_cast<std::size_t>(slot)];
    const int seat = search_.seat(slot);
    search_.target(slot, target_);
    const float value = search_.value(slot, target_);
    const int ply = static_cast<int>(s.game.action.size());
    s.lowest[static_cast<std::size_t>(seat)] =
        std::min(s.lowest[static_cast<std::size_t>(seat)], value);
    if (value < options_.resign_below && !s.never_resign && ply >= options_.resign_plies) {
      finish(slot, s, seat == 0 ? -1.0F : 1.0F, true);
      return;
    }
    const float temperature =
        ply < options_.temperature_plies ? options_.temperature : options_.temperature_end;
    const int move = search_.choose(slot, temperature, s.rng);
    record(s, seat, move, value);
    ++moves_;
    if (s.ends_proven && search_.tree(slot).proven()) {
      finish(slot, s, seat == 0 ? value : -value, false);
      return;
    }
    search_.play(slot, move);
    if (search_.status(slot).over || ply + 1 >= options_.max_plies) {
      std::array<float, kMaxSeats> out{};
      if (search_.status(slot).over) {
        G::outcome(search_.rules(), search_.state(slot), std::span(out).first(2));
      }
      finish(slot, s, out[0], false);
    } else {
      begin(slot, s);
    }
  }

  // For a full search: with `target_`, which move_on has just written.
  void record(Slot& s, int seat, int move, float value) {
    MatchColumns& g = s.game;
    g.action.push_back(static_cast<std::uint16_t>(move));
    g.seat.push_back(static_cast<std::uint8_t>(seat));
    g.full.push_back(s.full ? 1 : 0);
    g.value.push_back(value);
    g.version.push_back(version_);
    std::uint16_t named = 0;
    if (s.full) {
      for (std::size_t i = 0; i < target_.size(); ++i) {
        const auto share = static_cast<std::uint16_t>(target_[i] * 65535.0F + 0.5F);
        if (share == 0) continue;
        g.target_move.push_back(static_cast<std::uint16_t>(i));
        g.target_share.push_back(share);
        ++named;
      }
    }
    g.targets.push_back(named);
  }

  void finish(int slot, Slot& s, float outcome, bool resigned) {
    MatchColumns& g = s.game;
    if (!g.action.empty()) {
      g.match = {s.match};
      g.plies = {static_cast<std::int32_t>(g.action.size())};
      g.outcome = {outcome};
      g.resigned = {static_cast<std::uint8_t>(resigned)};
      g.never_resign = {static_cast<std::uint8_t>(s.never_resign)};
      g.lowest_winner = {outcome == 0.0F ? 1.0F : s.lowest[outcome > 0.0F ? 0 : 1]};
      finished_.append(g);
    }
    start_match(slot);
  }

  SelfPlayOptions options_;
  Search<G> search_;
  BatchEvaluator<G>* batch_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<float> target_;
  MatchColumns finished_;
  std::uint64_t next_match_ = 0, moves_ = 0;
  std::int32_t version_ = 0;
  bool attached_ = false;
};

}  // namespace ludus
