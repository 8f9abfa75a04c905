// AnySearch for one game, and its evaluators by name.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "search/any_search.hpp"
#include "search/search.hpp"

namespace ludus {

template <Game G>
std::unique_ptr<Evaluator<G>> make_evaluator(const GameSpec& spec, const EvaluatorOptions& o,
                                             BatchEvaluator<G>** batch = nullptr) {
  std::unique_ptr<Evaluator<G>> made;
  if (o.kind == "batch") {
    auto own = std::make_unique<BatchEvaluator<G>>(spec);
    if (batch != nullptr) *batch = own.get();
    made = std::move(own);
  } else if (o.kind == "uniform" || o.kind == "null") {
    made = std::make_unique<UniformEvaluator<G>>(spec, o.kind == "null");
  } else if (o.kind == "rollout") {
    if (o.rollouts < 1 || o.rollouts > 1'000'000) {
      throw SearchError("search: rollouts = " + std::to_string(o.rollouts) +
                        ", expected 1 to 1000000");
    }
    return std::make_unique<RolloutEvaluator<G>>(spec, o.seed, o.rollouts);
  } else {
    throw SearchError("search: evaluator '" + o.kind.substr(0, 80) +
                      "', expected batch, uniform, null or rollout");
  }
  if (o.cache > 0) {
    if (o.cache > std::size_t{1} << 28) throw SearchError("search: cache, expected at most 2^28");
    made = std::make_unique<CachedEvaluator<G>>(std::move(made), spec, o.cache);
  }
  return made;
}

template <Game G>
class SearchOf final : public AnySearch {
 public:
  SearchOf(const Params& params, const SearchOptions& options, const EvaluatorOptions& evaluator,
           int slots)
      : SearchOf(G::make_rules(params), options, evaluator, slots) {}
  SearchOf(typename G::Rules rules, const SearchOptions& options, const EvaluatorOptions& evaluator,
           int slots)
      : search_(std::move(rules), options, slots, options.visits),
        rng_(static_cast<std::size_t>(slots)),
        active_(static_cast<std::size_t>(slots), 0) {
    search_.set_evaluator(make_evaluator<G>(search_.spec(), evaluator, &batch_));
    for (int i = 0; i < slots; ++i)
      search_.reset(i, {evaluator.seed, static_cast<std::uint64_t>(i)});
  }

  [[nodiscard]] const GameSpec& spec() const override { return search_.spec(); }
  [[nodiscard]] int slots() const override { return search_.slots(); }
  [[nodiscard]] bool instant() const override { return batch_ == nullptr; }
  void attach(std::span<std::byte* const> base, int rows) override {
    if (batch_ == nullptr) throw SearchError("search: this evaluator takes no batch");
    if (rows < search_.slots() * search_.options().leaves) {
      throw SearchError("search: a batch of " + std::to_string(rows) + " rows, expected at least " +
                        std::to_string(search_.slots() * search_.options().leaves));
    }
    if (search_.waiting() > 0) throw SearchError("search: attach while leaves wait");
    batch_->attach(base, rows);
    attached_ = true;
  }
  void reset(int slot, MatchSeed seed) override {
    idle(slot);
    search_.reset(slot, seed);
  }
  bool set_state(int slot, std::span<const std::byte> state) override {
    idle(slot);
    typename G::State copy{};
    if constexpr (HasLoad<G>) {
      G::load(search_.rules(), copy, state);
    } else {
      if (state.size() != sizeof(typename G::State)) {
        throw SearchError("search: a state of " + std::to_string(state.size()) +
                          " bytes, expected " + std::to_string(sizeof(typename G::State)));
      }
      std::memcpy(&copy, state.data(), sizeof copy);
    }
    return search_.set_state(slot, copy);
  }
  [[nodiscard]] std::span<const std::byte> state(int slot) const override {
    check(slot);
    if constexpr (HasLoad<G>) {
      return G::stored(search_.state(slot));
    } else {
      return std::as_bytes(std::span(&search_.state(slot), 1));
    }
  }
  void begin(int slot, int visits, bool noise, std::uint64_t seed) override {
    idle(slot);
    if (search_.status(slot).over) throw SearchError("search: the match of this slot is over");
    if (visits < 1 || visits > search_.options().visits) {
      throw SearchError("search: visits = " + std::to_string(visits) + ", expected 1 to " +
                        std::to_string(search_.options().visits));
    }
    Rng& rng = rng_[static_cast<std::size_t>(slot)];
    rng = Rng({seed, static_cast<std::uint64_t>(slot)}, 0x726f6f74);
    search_.begin(slot, visits, noise, rng);
    active_[static_cast<std::size_t>(slot)] = 1;
  }
  void stop(int slot) override {
    check(slot);
    search_.stop(slot);
  }
  void restrict(int slot, int seat, std::span<const std::uint8_t> barred, int depth) override {
    idle(slot);
    if (seat < 0 || seat > 1 || depth < 0) {
      throw SearchError("search: seat " + std::to_string(seat) + " and depth " +
                        std::to_string(depth) + ", expected seat 0 or 1 and a depth of at least 0");
    }
    if (depth > 0 && barred.size() != search_.spec().mask_bytes()) {
      throw SearchError("search: " + std::to_string(barred.size()) +
                        " bytes of barred moves, expected " +
                        std::to_string(search_.spec().mask_bytes()));
    }
    active_[static_cast<std::size_t>(slot)] = 0;
    search_.restrict(slot, seat, barred, depth);
  }
  [[nodiscard]] bool done(int slot) const override {
    check(slot);
    return search_.done(slot);
  }
  int collect(int rounds) override {
    if (batch_ != nullptr && !attached_) throw SearchError("search: attach a batch first");
    if (search_.waiting() > 0) throw SearchError("search: deliver the last batch first");
    for (int round = 0; round < std::max(rounds, 1); ++round) {
      bool any = false;
      for (int slot = 0; slot < search_.slots(); ++slot) {
        if (active_[static_cast<std::size_t>(slot)] == 0) continue;
        if (batch_ == nullptr) {
          any = step(slot) != Simulated::done || any;
        } else {
          fill(slot);
        }
      }
      if (batch_ != nullptr || !any) break;
    }
    return search_.waiting();
  }
  void deliver(const float* policy, const float* value) override { search_.deliver(policy, value); }
  void play(int slot, int move) override {
    idle(slot);
    if (search_.status(slot).over) throw SearchError("search: the match of this slot is over");
    active_[static_cast<std::size_t>(slot)] = 0;
    search_.play(slot, move);
  }
  [[nodiscard]] int choose(int slot, float temperature) override {
    rooted(slot);
    return search_.choose(slot, temperature, rng_[static_cast<std::size_t>(slot)]);
  }
  [[nodiscard]] RootReport report(int slot) const override {
    check(slot);
    RootReport r;
    const Tree& tree = search_.tree(slot);
    if (tree.root() == 0) return r;
    const Node& n = tree.node(tree.root());
    r.seat = n.seat;
    r.visits = tree.visits();
    r.value = tree.value();
    std::vector<float> target(static_cast<std::size_t>(search_.choices()));
    if (n.state == Node::open) search_.target(slot, target);
    std::vector<int> order(n.moves);
    for (int i = 0; i < n.moves; ++i) order[static_cast<std::size_t>(i)] = i;
    const auto keys = tree.keys(n);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return key_move(keys[static_cast<std::size_t>(a)]) <
             key_move(keys[static_cast<std::size_t>(b)]);
    });
    const Columns c = tree.columns(n);
    for (const int i : order) {
      const MoveKey key = keys[static_cast<std::size_t>(i)];
      const int visits = i < n.tried ? c.visits[i] : 0;
      r.move.push_back(key_move(key));
      r.move_visits.push_back(visits);
      r.prior.push_back(key_prior(key));
      const Bounds b = i < n.tried ? tree.bounds(n, c, i) : Bounds{};
      r.mean.push_back(b.proven()   ? static_cast<float>(b.low)
                       : visits > 0 ? c.sum[i] / static_cast<float>(visits)
                                    : 0.0F);
      r.policy.push_back(target[static_cast<std::size_t>(key_move(key))]);
    }
    return r;
  }
  [[nodiscard]] std::vector<LineMove> line(int slot, int move, int most) const override {
    check(slot);
    std::vector<LineMove> out;
    const Tree& tree = search_.tree(slot);
    NodeId id = tree.root();
    while (id != 0 && static_cast<int>(out.size()) < most && tree.node(id).state == Node::open) {
      const Node& n = tree.node(id);
      const Columns c = tree.columns(n);
      int best = -1;
      for (int i = 0; i < n.tried; ++i) {
        const bool first = out.empty() && move >= 0;
        if (first) {
          if (key_move(tree.keys(n)[static_cast<std::size_t>(i)]) == move) best = i;
        } else if (c.visits[i] > 0 && (best < 0 || c.visits[i] > c.visits[best])) {
          best = i;
        }
      }
      if (best < 0) break;
      out.push_back({key_move(tree.keys(n)[static_cast<std::size_t>(best)]), c.visits[best]});
      id = c.child[best];
    }
    return out;
  }
  [[nodiscard]] bool over(int slot) const override {
    check(slot);
    return search_.status(slot).over;
  }
  [[nodiscard]] std::vector<float> outcome(int slot) const override {
    std::vector<float> out(static_cast<std::size_t>(search_.spec().seats));
    if (over(slot)) G::outcome(search_.rules(), search_.state(slot), out);
    return out;
  }
  [[nodiscard]] bool consistent(int slot) const override {
    check(slot);
    return search_.tree(slot).consistent();
  }
  [[nodiscard]] std::uint64_t simulations() const override { return search_.simulations(); }
  [[nodiscard]] std::array<std::uint64_t, 2> cache_counts() override {
    return search_.evaluator().cache_counts();
  }
  void forget() override { search_.evaluator().forget(); }

 private:
  void check(int slot) const {
    if (slot < 0 || slot >= search_.slots()) {
      throw SearchError("search: slot " + std::to_string(slot) + ", expected 0 to " +
                        std::to_string(search_.slots() - 1));
    }
  }
  void idle(int slot) const {
    check(slot);
    if (search_.waiting() > 0) throw SearchError("search: deliver the last batch first");
  }
  void rooted(int slot) const {
    check(slot);
    if (search_.tree(slot).visits() == 0) throw SearchError("search: nothing was searched yet");
  }
  Simulated step(int slot) {
    const Simulated r = search_.simulate(slot);
    if (r == Simulated::done) active_[static_cast<std::size_t>(slot)] = 0;
    return r;
  }
  void fill(int slot) {
    for (int leaves = 0; leaves < search_.options().leaves;) {
      const Simulated r = step(slot);
      if (r == Simulated::done || r == Simulated::blocked) return;
      leaves += r == Simulated::queued;
    }
  }

  Search<G> search_;
  BatchEvaluator<G>* batch_ = nullptr;
  std::vector<Rng> rng_;
  std::vector<std::uint8_t> active_;
  bool attached_ = false;
};

}  // namespace ludus
