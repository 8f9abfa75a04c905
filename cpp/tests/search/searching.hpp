// What the tests of the search share: an evaluator whose answers are never equal, and tic-tac-toe.
#pragma once

#include <memory>
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

}  // namespace ludus::tests
