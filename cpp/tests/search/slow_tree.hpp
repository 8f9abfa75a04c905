// The search again, node by node on the heap, from the text of the AlphaGo Zero paper with ELF
// OpenGo's constant. Every position is evaluated by HashEvaluator's rule.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "tests/doctest.hpp"
#include "tests/search/searching.hpp"

namespace ludus::tests {

class SlowTree {
 public:
  struct Child;
  struct Position {
    T::State state;
    bool over = false, open = false;
    int seat = 0;
    double value = 0.0;  // for `seat`; at an end for the seat that decided last
    int visits = 0, under_way = 0;
    double sum = 0.0;
    std::map<int, Child> children;
  };
  struct Child {
    float prior = 0.0F;
    std::unique_ptr<Position> position;
  };

  SlowTree(const T::Rules& rules, const T::State& state, const SearchOptions& options)
      : rules_(rules), o_(options), root_(make(state)) {}

  void simulate() {
    descend();
    answer();
  }
  // Up to `leaves` descents before their answers come, as long as the root wants visits.
  void simulate_batch(int leaves, int visits) {
    while (static_cast<int>(waiting_.size()) < leaves) {
      if (root_->visits > 0 && root_->visits + static_cast<int>(waiting_.size()) >= visits) break;
      if (!descend()) break;
    }
    answer();
  }
  [[nodiscard]] const Position& root() const { return *root_; }

 private:
  using Path = std::vector<Position*>;

  std::unique_ptr<Position> make(const T::State& state) {
    auto p = std::make_unique<Position>();
    p->state = state;
    p->over = T::status(rules_, state).over;
    if (p->over) return p;
    p->seat = state.to_move;
    std::array<std::byte, 3> packed{};
    std::byte* frame = packed.data();
    T::observe(rules_, state, p->seat, std::span(&frame, 1));
    WideHash h;
    h.add(packed.data(), packed.size());
    std::vector<float> policy(9);
    const Answer a =
        HashEvaluator<T>::answer_to(h.value()[0] + static_cast<std::uint64_t>(p->seat), policy);
    p->value = static_cast<double>(a.value);
    std::array<std::uint8_t, 9> mask{};
    T::legal(rules_, state, p->seat, mask.data());
    float total = 0.0F;
    for (std::size_t m = 0; m < 9; ++m) total += mask[m] != 0 ? policy[m] : 0.0F;
    const float scale = 1.0F / total;
    for (int m = 0; m < 9; ++m) {
      if (mask[static_cast<std::size_t>(m)] == 0) continue;
      const float exact = policy[static_cast<std::size_t>(m)] * scale;
      p->children[m].prior = key_prior(move_key(exact, m));
    }
    return p;
  }

  // False: the way leads to a leaf that waits already.
  bool descend() {
    Path path = {root_.get()};
    while (true) {
      Position& p = *path.back();
      if (p.over) {
        count(path);
        return true;
      }
      if (!p.open) {
        if (p.under_way > 0) return false;
        for (Position* q : path) ++q->under_way;
        waiting_.push_back(path);
        return true;
      }
      path.push_back(&child_of(p));
    }
  }
  void answer() {
    for (const Path& path : waiting_) {
      for (Position* p : path) --p->under_way;
      path.back()->open = true;
      count(path);
    }
    waiting_.clear();
  }
  static void count(const Path& path) {
    const Position& leaf = *path.back();
    for (Position* p : path) {
      ++p->visits;
      p->sum += p->seat == leaf.seat ? leaf.value : -leaf.value;
    }
  }

  Position& child_of(Position& p) {
    int best = -1;
    double best_score = -1e30;
    const double visits = p.visits;
    double c = static_cast<double>(o_.c_puct);
    if (o_.c_base > 0.0F) {
      const auto base = static_cast<double>(o_.c_base);
      c += std::log((1.0 + visits + base) / base);
    }
    for (auto& [move, child] : p.children) {
      const int n = child.position ? child.position->visits : 0;
      const double u = c * static_cast<double>(child.prior) * std::sqrt(visits) / (1.0 + n);
      const double score = (child.position ? mean_of(p, *child.position) : first_play(p)) + u;
      if (score > best_score + 1e-9) {
        best_score = score;
        best = move;
      }
    }
    Child& chosen = p.children.at(best);
    if (chosen.position) return *chosen.position;
    T::State next = p.state;
    const std::int32_t action = best;
    T::act(rules_, next, p.seat, std::span(&action, 1));
    T::advance(rules_, next);
    chosen.position = make(next);
    if (chosen.position->over) {
      std::array<float, 2> out{};
      T::outcome(rules_, next, out);
      chosen.position->seat = p.seat;
      chosen.position->value = static_cast<double>(out[static_cast<std::size_t>(p.seat)]);
    }
    return *chosen.position;
  }
  // Every descent under way counts as `virtual_loss` visits that lost.
  [[nodiscard]] double mean_of(const Position& p, const Position& child) const {
    const double sum = child.seat == p.seat ? child.sum : -child.sum;
    const double lost = static_cast<double>(o_.virtual_loss) * child.under_way;
    return (sum - lost) / std::max(child.visits + lost, 1.0);
  }
  [[nodiscard]] double first_play(const Position& p) const {
    if (o_.fpu == Fpu::zero) return 0.0;
    if (o_.fpu == Fpu::loss) return -1.0;
    return p.sum / p.visits - static_cast<double>(o_.fpu_reduction);
  }

  const T::Rules& rules_;
  SearchOptions o_;
  std::unique_ptr<Position> root_;
  std::vector<Path> waiting_;
};

// The same positions with the same visits below a node of the tree.
inline void check_same(const Tree& tree, NodeId id, const SlowTree::Position& p) {
  const Node& n = tree.node(id);
  if (p.over) {
    CHECK(n.state == Node::terminal);
    return;
  }
  const Columns c = tree.columns(n);
  int found = 0;
  for (int i = 0; i < n.tried; ++i) {
    const auto& child = p.children.at(key_move(tree.keys(n)[static_cast<std::size_t>(i)]));
    REQUIRE(child.position);
    REQUIRE(c.visits[i] == child.position->visits);
    check_same(tree, c.child[i], *child.position);
    ++found;
  }
  int expected = 0;
  for (const auto& [move, child] : p.children) expected += child.position != nullptr;
  REQUIRE(found == expected);
}

}  // namespace ludus::tests
