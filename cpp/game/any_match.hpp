// A type-erased match, played move by move from outside: by a front end, a test, another program.
// Every call of one object comes from one thread at a time. A match that records itself can give
// the replay of what was played so far at any time; its clones carry the record along, so that a
// move is taken back by playing on with a clone from before it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "game/match.hpp"
#include "game/playthrough.hpp"
#include "game/replay.hpp"

namespace ludus {

class AnyMatch {
 public:
  virtual ~AnyMatch() = default;
  [[nodiscard]] virtual const GameSpec& spec() const = 0;
  virtual void reset(MatchSeed seed) = 0;
  [[nodiscard]] virtual SeatMask to_act() const = 0;
  // They throw GameError where the rules refuse, and ParamError for a seat or bot that is not
  // there. Nothing is changed or recorded then.
  virtual void act(int seat, std::span<const std::int32_t> action) = 0;
  virtual void bot(int seat, int bot) = 0;
  virtual void advance() = 0;
  [[nodiscard]] virtual Status status() const = 0;
  [[nodiscard]] virtual std::uint32_t tick() const = 0;
  [[nodiscard]] virtual std::vector<float> outcome() const = 0;  // zeros until the match is over
  [[nodiscard]] virtual std::uint64_t hash() const = 0;
  [[nodiscard]] virtual std::string view() const = 0;
  [[nodiscard]] virtual std::vector<std::uint8_t> legal(int seat) const = 0;
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> observe(int seat) const = 0;
  [[nodiscard]] virtual std::unique_ptr<AnyMatch> clone() const = 0;
  [[nodiscard]] virtual bool records() const = 0;
  // Ends at the current tick if the match is not over. `players` has one name a seat; an empty
  // list leaves the names empty. Throws ParamError for other counts and for names that
  // check_players refuses.
  [[nodiscard]] virtual Replay replay(std::vector<std::string> players) const = 0;
  // The bytes of the state: for a search in the same process. Never from a file or a network.
  [[nodiscard]] virtual std::span<const std::byte> state() const = 0;
};

template <Game G>
class MatchOf final : public AnyMatch {
 public:
  // Ticks between two hashes of a record.
  static constexpr std::uint32_t kHashEvery = 100;

  explicit MatchOf(const Params& params, MatchSeed seed, bool record = false)
      : rules_(std::make_shared<const typename G::Rules>(G::make_rules(params))),
        spec_(std::make_shared<const GameSpec>(G::spec(*rules_))) {
    if (record) recorder_.emplace().prepare(*spec_, params, kHashEvery, 64, 0);
    reset(seed);
  }

  [[nodiscard]] const GameSpec& spec() const override { return *spec_; }
  void reset(MatchSeed seed) override {
    G::reset(*rules_, state_, seed);
    tick_hash_.reset();
    if (recorder_) recorder_->start(seed, hash());
  }
  [[nodiscard]] SeatMask to_act() const override { return G::to_act(*rules_, state_); }
  void act(int seat, std::span<const std::int32_t> action) override {
    check_may_decide(seat);
    if (action.size() != spec_->heads.size()) {
      throw GameError(spec_->name + ": an action of " + std::to_string(action.size()) +
                      " numbers, expected " + std::to_string(spec_->heads.size()));
    }
    keep_hash();
    G::act(*rules_, state_, seat, action);
    if (recorder_) recorder_->action(tick(), seat, action);
  }
  void bot(int seat, int bot) override {
    check_may_decide(seat);
    if (bot < 0 || bot >= static_cast<int>(spec_->bots.size())) {
      throw ParamError(spec_->name + ": no bot " + std::to_string(bot));
    }
    keep_hash();
    G::bot(*rules_, state_, seat, bot);
    if (recorder_) recorder_->bot(tick(), seat, bot);
  }
  void advance() override {
    if (status().over) throw GameError(spec_->name + ": the match is over");
    G::advance(*rules_, state_);
    tick_hash_.reset();
    if (recorder_) recorder_->advanced(tick(), [&] { return hash(); });
  }
  [[nodiscard]] Status status() const override { return G::status(*rules_, state_); }
  [[nodiscard]] std::uint32_t tick() const override { return G::tick(state_); }
  [[nodiscard]] std::vector<float> outcome() const override {
    std::vector<float> out(static_cast<std::size_t>(spec_->seats), 0.0F);
    if (status().over) G::outcome(*rules_, state_, out);
    return out;
  }
  [[nodiscard]] std::uint64_t hash() const override { return G::hash(*rules_, state_); }
  [[nodiscard]] std::string view() const override { return G::view(*rules_, state_); }
  [[nodiscard]] std::vector<std::uint8_t> legal(int seat) const override {
    check(seat);
    std::vector<std::uint8_t> mask(spec_->mask_bytes());
    G::legal(*rules_, state_, seat, mask.data());
    return mask;
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> observe(int seat) const override {
    check(seat);
    ObservationBuffer buffer(*spec_);
    G::observe(*rules_, state_, seat, buffer.pointers());
    std::vector<std::vector<std::byte>> out;
    for (std::size_t i = 0; i < spec_->observation.size(); ++i) out.push_back(buffer.tensor(i));
    return out;
  }
  [[nodiscard]] std::unique_ptr<AnyMatch> clone() const override {
    return std::make_unique<MatchOf>(*this);
  }
  [[nodiscard]] bool records() const override { return recorder_.has_value(); }
  [[nodiscard]] Replay replay(std::vector<std::string> players) const override {
    if (!recorder_) throw ParamError(spec_->name + ": the match was not made to be recorded");
    const auto seats = static_cast<std::size_t>(spec_->seats);
    if (players.empty()) players.resize(seats);
    if (players.size() != seats) {
      throw ParamError(spec_->name + ": " + std::to_string(players.size()) + " players for " +
                       std::to_string(seats) + " seats");
    }
    check_players(players);
    ReplayRecorder copy = *recorder_;  // decisions of the tick under way are cut off from it alone
    return copy.finish(tick(), tick_hash_ ? *tick_hash_ : hash(), status().over, outcome(),
                       std::move(players));
  }
  [[nodiscard]] std::span<const std::byte> state() const override {
    return std::as_bytes(std::span(&state_, 1));
  }

  [[nodiscard]] const typename G::Rules& rules() const { return *rules_; }
  [[nodiscard]] typename G::State& raw() { return state_; }
  [[nodiscard]] const typename G::State& raw() const { return state_; }

 private:
  void check(int seat) const {
    if (seat < 0 || seat >= spec_->seats) {
      throw ParamError(spec_->name + ": no seat " + std::to_string(seat));
    }
  }
  void check_may_decide(int seat) const {
    check(seat);
    if ((to_act() >> seat & 1U) == 0) {
      throw GameError(spec_->name + ": seat " + std::to_string(seat) + " is not to move");
    }
  }
  // A decision may change the hash, and a replay ends with the last tick that was played.
  void keep_hash() {
    if (recorder_ && !tick_hash_) tick_hash_ = hash();
  }

  std::shared_ptr<const typename G::Rules> rules_;  // clones share them
  std::shared_ptr<const GameSpec> spec_;
  typename G::State state_{};
  std::optional<ReplayRecorder> recorder_;
  std::optional<std::uint64_t> tick_hash_;  // of a recorded match: before the decisions of its tick
};

}  // namespace ludus
