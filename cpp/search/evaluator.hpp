// Leaf evaluators: policy and value of a position. A search calls an Evaluator and knows nothing of
// networks.
//
// The search writes the leaf's observation into the evaluator's frame and asks. An evaluator
// answers at once (uniform, random rollouts, a cache that knows the position), or puts the leaf in
// a batch whose answers come through Search::deliver. Caches are decorators: an Evaluator around
// another.
//
// All of it belongs to one thread: the one that searches.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "game/game.hpp"
#include "game/mask.hpp"
#include "game/state.hpp"
#include "search/options.hpp"

namespace ludus {

inline constexpr std::size_t kMaxSearchTensors = 16;

// `policy`: one number a move of the head, of any positive scale; empty = all moves equal.
// `value`: for the seat that decides, in [-1, 1].
struct Answer {
  std::span<const float> policy;
  float value = 0.0F;
};

using Frame = std::span<std::byte* const>;  // one pointer a tensor of the spec

template <Game G>
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Where the next observation goes; empty if none is needed.
  virtual Frame frame() = 0;
  // True: `answer` is set, and valid until the next call. False: the leaf waits in row `row()`.
  virtual bool ask(const typename G::Rules& rules, const typename G::State& state, int seat,
                   Answer& answer) = 0;
  // Rows that wait.
  [[nodiscard]] virtual int waiting() const { return 0; }
  // An answer to a waiting row, as it is handed to the tree.
  virtual void answered(int /*row*/, const Answer& /*answer*/) {}
  virtual void begin_batch() {}  // all rows were answered; the frame is at row 0 again
  virtual void forget() {}       // the network has changed: drops cached answers
  // Lookups and hits of caches, since they were made.
  [[nodiscard]] virtual std::array<std::uint64_t, 2> cache_counts() const { return {0, 0}; }
  // Whether answers come at once, always: there is no batch to fill.
  [[nodiscard]] virtual bool instant() const { return true; }
};

// Value 0, all moves equal. With `observe` (kind "null") the observation is still written, as for a
// network: for benchmarks of the search without its network.
template <Game G>
class UniformEvaluator final : public Evaluator<G> {
 public:
  UniformEvaluator(const GameSpec& spec, bool observe) {
    if (!observe) return;
    for (const TensorSpec& t : spec.observation) memory_.emplace_back(t.bytes());
    for (auto& m : memory_) pointers_.push_back(m.data());
  }
  Frame frame() override { return pointers_; }
  bool ask(const typename G::Rules&, const typename G::State&, int, Answer& answer) override {
    answer = {};
    return true;
  }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::byte*> pointers_;
};

// The outcome of random legal moves to the end of the match; all moves equal.
template <Game G>
class RolloutEvaluator final : public Evaluator<G> {
 public:
  RolloutEvaluator(const GameSpec& spec, std::uint64_t seed, int rollouts)
      : mask_(spec.mask_bytes()), rng_({seed, 0}, 0x726f6c6c), rollouts_(rollouts) {}
  Frame frame() override { return {}; }
  bool ask(const typename G::Rules& rules, const typename G::State& state, int seat,
           Answer& answer) override {
    float sum = 0.0F;
    for (int i = 0; i < rollouts_; ++i) sum += play_out(rules, state, seat);
    answer = {{}, sum / static_cast<float>(rollouts_)};
    return true;
  }

 private:
  float play_out(const typename G::Rules& rules, const typename G::State& state, int seat) {
    std::array<float, kMaxSeats> out{};
    if constexpr (HasRollout<G>) {
      G::rollout(rules, state, rng_, std::span(out).first(2));
      return out[static_cast<std::size_t>(seat)];
    }
    typename G::State& s = match_;
    copy_state<G>(rules, s, state);
    while (!G::status(rules, s).over) {
      const SeatMask seats = G::to_act(rules, s);
      if (seats != 0) {
        const int mover = std::countr_zero(seats);
        G::legal(rules, s, mover, mask_.data());
        const std::int32_t move = draw_move(mask_, rng_);
        G::act(rules, s, mover, std::span(&move, 1));
      }
      G::advance(rules, s);
    }
    G::outcome(rules, s, std::span(out).first(2));
    return out[static_cast<std::size_t>(seat)];
  }
  typename G::State match_{};
  std::vector<std::uint8_t> mask_;
  Rng rng_;
  int rollouts_;
};

// Leaves gathered in memory that the caller owns: tensor i of row r at base[i] + r * bytes[i].
template <Game G>
class BatchEvaluator final : public Evaluator<G> {
 public:
  explicit BatchEvaluator(const GameSpec& spec) {
    for (const TensorSpec& t : spec.observation) bytes_.push_back(t.bytes());
    if (bytes_.size() > kMaxSearchTensors)
      throw SearchError("search: too many observation tensors");
    base_.resize(bytes_.size());
    pointers_.resize(bytes_.size());
  }
  void attach(std::span<std::byte* const> base, int rows) {
    std::copy(base.begin(), base.end(), base_.begin());
    rows_ = rows;
    begin_batch();
  }
  Frame frame() override {
    if (next_ >= rows_) throw SearchError("search: more leaves than the batch has rows");
    return pointers_;
  }
  bool ask(const typename G::Rules&, const typename G::State&, int, Answer&) override {
    ++next_;
    point();
    return false;
  }
  [[nodiscard]] int waiting() const override { return next_; }
  void begin_batch() override {
    next_ = 0;
    point();
  }
  [[nodiscard]] bool instant() const override { return false; }

 private:
  void point() {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      pointers_[i] = base_[i] + static_cast<std::size_t>(next_) * bytes_[i];
    }
  }

  std::vector<std::size_t> bytes_;
  std::vector<std::byte*> base_, pointers_;
  int rows_ = 0, next_ = 0;
};

}  // namespace ludus
