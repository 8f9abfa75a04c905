// Shared by the tests of the search: an evaluator whose answers are never equal, and tic-tac-toe.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "games/tic_tac_toe/tic_tac_toe.hpp"
#include "search/search.hpp"

namespace ludus::tests {

using T = TicTacToe;

// Answers that depend on the observation alone and are never equal, so that every choice is
// decided.
template <class G>
class HashEvaluator final : public Evaluator<G> {
 public:
  explicit HashEvaluator(const GameSpec& spec) : policy_(spec.mask_bytes()) {
    for (const TensorSpec& t : spec.observation) memory_.emplace_back(t.bytes());
    for (auto& m : memory_) pointers_.push_back(m.data());
  }
  Frame frame() override { return pointers_; }
  bool ask(const typename G::Rules&, const typename G::State&, int seat, Answer& answer) override {
    WideHash h;
    for (const auto& m : memory_) h.add(m.data(), m.size());
    answer = answer_to(h.value()[0] + static_cast<std::uint64_t>(seat), policy_);
    return true;
  }
  static Answer answer_to(std::uint64_t key, std::vector<float>& policy) {
    Rng rng({key, 0}, 1);
    for (float& p : policy) p = 0.05F + static_cast<float>(rng.uniform());
    return {policy, static_cast<float>(2.0 * rng.uniform() - 1.0)};
  }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::byte*> pointers_;
  std::vector<float> policy_;
};

template <class G>
void run(Search<G>& search, int slot, int visits, Rng& rng, bool noise = false) {
  search.begin(slot, visits, noise, rng);
  while (search.simulate(slot) != Simulated::done) {
  }
}

inline Search<T> search_of(const SearchOptions& o, int slots = 1) {
  Search<T> s(Params(), o, slots, o.visits);
  s.set_evaluator(std::make_unique<HashEvaluator<T>>(s.spec()));
  for (int i = 0; i < slots; ++i) s.reset(i, {1, static_cast<std::uint64_t>(i)});
  return s;
}

// The value of a position of tic-tac-toe for the seat to move, by full search.
inline int exact_value(const T::Rules& rules, const T::State& state) {
  std::array<std::uint8_t, 9> mask{};
  T::legal(rules, state, state.to_move, mask.data());
  int best = -1;
  for (std::int32_t move = 0; move < 9 && best < 1; ++move) {
    if (mask[static_cast<std::size_t>(move)] == 0) continue;
    T::State next = state;
    T::act(rules, next, state.to_move, std::span(&move, 1));
    T::advance(rules, next);
    std::array<float, 2> out{};
    if (T::status(rules, next).over) T::outcome(rules, next, out);
    const int value = T::status(rules, next).over
                          ? static_cast<int>(out[static_cast<std::size_t>(state.to_move)])
                          : -exact_value(rules, next);
    best = std::max(best, value);
  }
  return best;
}

}  // namespace ludus::tests
