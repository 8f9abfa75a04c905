// Evaluation cache. The key is a hash of the packed observation, not of the game's state: positions
// with the same observation share an answer, and positions with different observations (another
// history, another ko) never do, transposed or not.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "search/evaluator.hpp"

namespace ludus {

// Two independent 64-bit mixes of some bytes: 128 bits, so that no two positions of a run collide.
class WideHash {
 public:
  void add(const std::byte* data, std::size_t size) {
    for (; size >= 8; data += 8, size -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, data, 8);
      mix(word);
    }
    std::uint64_t word = size + 1;
    if (size > 0) std::memcpy(&word, data, size);
    mix(word ^ (size << 56));
  }
  [[nodiscard]] std::array<std::uint64_t, 2> value() const { return {mix64(a_), mix64(b_ ^ a_)}; }

 private:
  void mix(std::uint64_t word) {
    a_ = (std::rotl(a_, 29) ^ word) * 0x9e3779b97f4a7c15ULL;
    b_ = (std::rotl(b_, 37) + word) * 0xd6e8feb86659fd93ULL ^ (b_ >> 31);
  }
  std::uint64_t a_ = 0x243f6a8885a308d3ULL, b_ = 0x13198a2e03707344ULL;
};

template <Game G>
class CachedEvaluator final : public Evaluator<G> {
 public:
  // `entries` is rounded down to a power of two; the newer of two positions of one place stays.
  CachedEvaluator(std::unique_ptr<Evaluator<G>> inner, const GameSpec& spec, std::size_t entries)
      : inner_(std::move(inner)), choices_(spec.mask_bytes()) {
    for (const TensorSpec& t : spec.observation) bytes_.push_back(t.bytes());
    const std::size_t count = std::bit_floor(std::max<std::size_t>(entries, 2));
    keys_.resize(count);
    values_.resize(count);
    policies_.resize(count * choices_);
    scratch_.resize(choices_);
  }
  Frame frame() override { return current_ = inner_->frame(); }
  bool ask(const typename G::Rules& rules, const typename G::State& state, int seat,
           Answer& answer) override {
    const std::array<std::uint64_t, 2> key = hash(seat);
    const std::size_t place = key[0] & (keys_.size() - 1);
    ++lookups_;
    if (keys_[place] == key) {
      ++hits_;
      const std::uint16_t* packed = policies_.data() + place * choices_;
      for (std::size_t i = 0; i < choices_; ++i) {
        scratch_[i] = std::bit_cast<float>(static_cast<std::uint32_t>(packed[i]) << 15);
      }
      answer = {scratch_, values_[place]};
      return true;
    }
    const int row = inner_->waiting();
    if (inner_->ask(rules, state, seat, answer)) {
      store(key, answer);
      return true;
    }
    if (static_cast<std::size_t>(row) >= waiting_.size()) waiting_.resize(2 * waiting_.size() + 64);
    waiting_[static_cast<std::size_t>(row)] = key;
    return false;
  }
  [[nodiscard]] int waiting() const override { return inner_->waiting(); }
  void answered(int row, const Answer& answer) override {
    store(waiting_[static_cast<std::size_t>(row)], answer);
    inner_->answered(row, answer);
  }
  void begin_batch() override { inner_->begin_batch(); }
  void forget() override {
    std::fill(keys_.begin(), keys_.end(), std::array<std::uint64_t, 2>{});
    inner_->forget();
  }
  [[nodiscard]] std::array<std::uint64_t, 2> cache_counts() const override {
    return {lookups_, hits_};
  }
  [[nodiscard]] bool instant() const override { return inner_->instant(); }

 private:
  [[nodiscard]] std::array<std::uint64_t, 2> hash(int seat) const {
    WideHash h;
    for (std::size_t i = 0; i < bytes_.size(); ++i) h.add(current_[i], bytes_[i]);
    const auto who = static_cast<std::byte>(seat);
    h.add(&who, 1);
    return h.value();
  }
  // Half the bits of a float that is never negative: as exact as a tree keeps its priors.
  void store(const std::array<std::uint64_t, 2>& key, const Answer& answer) {
    if (answer.policy.size() != choices_) return;
    const std::size_t place = key[0] & (keys_.size() - 1);
    keys_[place] = key;
    values_[place] = answer.value;
    std::uint16_t* packed = policies_.data() + place * choices_;
    for (std::size_t i = 0; i < choices_; ++i) {
      const float p = answer.policy[i] > 0.0F ? answer.policy[i] : 0.0F;
      packed[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(p) >> 15);
    }
  }

  std::unique_ptr<Evaluator<G>> inner_;
  std::size_t choices_;
  std::vector<std::size_t> bytes_;
  Frame current_;
  std::vector<std::array<std::uint64_t, 2>> keys_, waiting_;
  std::vector<float> values_;
  std::vector<std::uint16_t> policies_;
  std::vector<float> scratch_;
  std::uint64_t lookups_ = 0, hits_ = 0;
};

}  // namespace ludus
