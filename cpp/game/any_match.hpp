// A type-erased match, played move by move from outside: by a front end, a test, another program.
// Every call of one object comes from one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "game/match.hpp"
#include "game/playthrough.hpp"

namespace ludus {

class AnyMatch {
 public:
  virtual ~AnyMatch() = default;
  [[nodiscard]] virtual const GameSpec& spec() const = 0;
  virtual void reset(MatchSeed seed) = 0;
  [[nodiscard]] virtual SeatMask to_act() const = 0;
  virtual void act(int seat, std::span<const std::int32_t> action) = 0;  // throws GameError
  virtual void bot(int seat, int bot) = 0;                               // throws ParamError
  virtual void advance() = 0;                                            // throws GameError
  [[nodiscard]] virtual Status status() const = 0;
  [[nodiscard]] virtual std::uint32_t tick() const = 0;
  [[nodiscard]] virtual std::vector<float> outcome() const = 0;  // zeros until the match is over
  [[nodiscard]] virtual std::uint64_t hash() const = 0;
  [[nodiscard]] virtual std::string view() const = 0;
  [[nodiscard]] virtual std::vector<std::uint8_t> legal(int seat) const = 0;
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> observe(int seat) const = 0;
  [[nodiscard]] virtual std::unique_ptr<AnyMatch> clone() const = 0;
  // The bytes of the state: for a search in the same process. Never from a file or a network.
  [[nodiscard]] virtual std::span<const std::byte> state() const = 0;
};

template <Game G>
class MatchOf final : public AnyMatch {
 public:
  explicit MatchOf(const Params& params, MatchSeed seed)
      : rules_(std::make_shared<const typename G::Rules>(G::make_rules(params))),
        spec_(std::make_shared<const GameSpec>(G::spec(*rules_))) {
    reset(seed);
  }

  [[nodiscard]] const GameSpec& spec() const override { return *spec_; }
  void reset(MatchSeed seed) override { G::reset(*rules_, state_, seed); }
  [[nodiscard]] SeatMask to_act() const override { return G::to_act(*rules_, state_); }
  void act(int seat, std::span<const std::int32_t> action) override {
    check(seat);
    if (action.size() != spec_->heads.size()) {
      throw GameError(spec_->name + ": an action of " + std::to_string(action.size()) +
                      " numbers, expected " + std::to_string(spec_->heads.size()));
    }
    G::act(*rules_, state_, seat, action);
  }
  void bot(int seat, int bot) override {
    check(seat);
    if (bot < 0 || bot >= static_cast<int>(spec_->bots.size())) {
      throw ParamError(spec_->name + ": no bot " + std::to_string(bot));
    }
    G::bot(*rules_, state_, seat, bot);
  }
  void advance() override { G::advance(*rules_, state_); }
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

  std::shared_ptr<const typename G::Rules> rules_;  // clones share them
  std::shared_ptr<const GameSpec> spec_;
  typename G::State state_{};
};

}  // namespace ludus
