// Search for one seat of a game whose seats decide at the same time, where the others are played by
// a bot that is known: root-parallel trees with random matches to the end (ELF, section 5 and table
// 7: MiniRTS with complete information). It plays on the state itself, fog or not.
//
// Trees share nothing; their roots' visits are added up and the most visited choice is played. The
// result depends on the seed and the number of trees, never on how many threads grow them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "game/game.hpp"
#include "search/any_search.hpp"

namespace ludus {

template <Game G>
class PlannerOf final : public AnyPlanner {
 public:
  PlannerOf(const Params& params, const PlannerOptions& options)
      : options_(options), rules_(G::make_rules(params)), spec_(G::spec(rules_)) {
    validate(options, spec_);
    trees_.resize(static_cast<std::size_t>(options.trees));
    for (PlanTree& t : trees_) {
      t.mask.resize(spec_.mask_bytes());
      t.nodes.reserve(static_cast<std::size_t>(options.rollouts) + 1);
      t.edges.reserve((static_cast<std::size_t>(options.rollouts) + 1) * spec_.mask_bytes());
    }
  }
  [[nodiscard]] const GameSpec& spec() const override { return spec_; }

  PlanReport plan(std::span<const std::byte> bytes, int seat, std::uint64_t seed) override {
    if (bytes.size() != sizeof(typename G::State)) {
      throw SearchError("planner: a state of " + std::to_string(bytes.size()) +
                        " bytes, expected " + std::to_string(sizeof(typename G::State)));
    }
    if (seat < 0 || seat >= spec_.seats)
      throw SearchError("planner: no seat " + std::to_string(seat));
    typename G::State state;
    std::memcpy(&state, bytes.data(), sizeof state);
    if (G::status(rules_, state).over) throw SearchError("planner: the match is over");
    std::atomic<int> next{0};
    const auto work = [&] {
      for (int i = next++; i < options_.trees; i = next++) {
        grow(trees_[static_cast<std::size_t>(i)], state, seat,
             Rng({seed, static_cast<std::uint64_t>(i)}, 0x706c616e));
      }
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < std::min(options_.threads, options_.trees); ++i) helpers.emplace_back(work);
    work();
    for (std::thread& t : helpers) t.join();
    return sum();
  }

 private:
  struct Edge {
    std::int32_t choice = 0, child = -1, visits = 0;
    float won = 0.0F;
  };
  struct PlanNode {
    std::int32_t first = 0, edges = 0, visits = 0;
  };
  struct PlanTree {
    std::vector<PlanNode> nodes;
    std::vector<Edge> edges;
    std::vector<std::uint8_t> mask;
    std::vector<std::int32_t> path;
    std::uint64_t ticks = 0;
  };

  PlanReport sum() const {
    PlanReport r;
    std::vector<double> won(spec_.mask_bytes()), visits(spec_.mask_bytes());
    for (const PlanTree& t : trees_) {
      const PlanNode& root = t.nodes[0];
      for (std::int32_t i = 0; i < root.edges; ++i) {
        const Edge& e = t.edges[static_cast<std::size_t>(root.first + i)];
        visits[static_cast<std::size_t>(e.choice)] += e.visits;
        won[static_cast<std::size_t>(e.choice)] += static_cast<double>(e.won);
      }
      r.ticks += t.ticks;
    }
    double best = -1.0;
    for (std::size_t a = 0; a < visits.size(); ++a) {
      r.visits.push_back(static_cast<std::int32_t>(visits[a]));
      r.mean.push_back(visits[a] > 0 ? static_cast<float>(won[a] / visits[a]) : 0.0F);
      // Of equally often visited choices the one that won more.
      const double score = visits[a] + static_cast<double>(r.mean.back()) * 0.5;
      if (visits[a] > 0 && score > best) {
        best = score;
        r.choice = static_cast<int>(a);
      }
    }
    return r;
  }

  void grow(PlanTree& t, const typename G::State& root, int seat, Rng rng) const {
    t.nodes.clear();
    t.edges.clear();
    t.ticks = 0;
    add_node(t, root, seat);
    for (int i = 0; i < options_.rollouts; ++i) {
      typename G::State s = root;
      t.path.clear();
      std::int32_t node = 0;
      while (true) {
        const std::int32_t edge = select(t, t.nodes[static_cast<std::size_t>(node)], rng);
        t.path.push_back(edge);
        const std::int32_t choice = t.edges[static_cast<std::size_t>(edge)].choice;
        decide(t, s, seat, choice);
        if (G::status(rules_, s).over) break;
        const std::int32_t child = t.edges[static_cast<std::size_t>(edge)].child;
        if (child < 0) {
          const auto fresh = static_cast<std::int32_t>(t.nodes.size());
          add_node(t, s, seat);
          t.edges[static_cast<std::size_t>(edge)].child = fresh;
          break;
        }
        node = child;
      }
      back_up(t, play_out(t, s, seat, rng));
    }
  }

  void add_node(PlanTree& t, const typename G::State& s, int seat) const {
    PlanNode n;
    n.first = static_cast<std::int32_t>(t.edges.size());
    G::legal(rules_, s, seat, t.mask.data());
    for (std::size_t a = 0; a < t.mask.size(); ++a) {
      if (t.mask[a] != 0) t.edges.push_back({static_cast<std::int32_t>(a)});
    }
    n.edges = static_cast<std::int32_t>(t.edges.size()) - n.first;
    t.nodes.push_back(n);
  }

  // ELF's score: (won + 1/2) / (visits + 1), and UCB's term if asked for; equals are drawn.
  std::int32_t select(PlanTree& t, const PlanNode& n, Rng& rng) const {
    std::int32_t best = n.first;
    float best_score = -1.0F;
    std::uint32_t equals = 0;
    const float root = std::sqrt(static_cast<float>(n.visits) + 1.0F);
    for (std::int32_t e = n.first; e < n.first + n.edges; ++e) {
      const Edge& edge = t.edges[static_cast<std::size_t>(e)];
      const auto visits = static_cast<float>(edge.visits);
      const float score = (edge.won + 0.5F) / (visits + 1.0F) +
                          options_.explore * root / static_cast<float>(n.edges) / (1.0F + visits);
      if (score > best_score) {
        best_score = score;
        equals = 1;
        best = e;
      } else if (score == best_score && rng.below(++equals) == 0) {
        best = e;
      }
    }
    return best;
  }

  void back_up(PlanTree& t, float won) const {
    std::int32_t node = 0;
    for (const std::int32_t e : t.path) {
      t.nodes[static_cast<std::size_t>(node)].visits += 1;
      Edge& edge = t.edges[static_cast<std::size_t>(e)];
      edge.visits += 1;
      edge.won += won;
      node = edge.child;
      if (node < 0) break;
    }
  }

  static constexpr std::int32_t kGuide = -1;  // in place of a choice: the guide decides

  // The seat decides, and everyone plays until its next decision is due.
  void decide(PlanTree& t, typename G::State& s, int seat, std::int32_t choice) const {
    const auto skip = static_cast<std::uint32_t>(options_.frame_skip);
    bool decided = false;
    do {
      const std::uint32_t tick = G::tick(s);
      const SeatMask seats = G::to_act(rules_, s);
      for (int other = 0; other < spec_.seats; ++other) {
        if ((seats >> other & 1U) == 0) continue;
        if (other != seat) {
          if (tick % static_cast<std::uint32_t>(options_.opponent_skip) == 0) {
            G::bot(rules_, s, other, options_.opponent);
          }
        } else if (!decided && choice == kGuide) {
          G::bot(rules_, s, seat, options_.guide);
        } else if (!decided) {
          G::act(rules_, s, seat, std::span(&choice, 1));
        }
      }
      decided = true;
      G::advance(rules_, s);
      ++t.ticks;
    } while (!G::status(rules_, s).over && G::tick(s) % skip != 0);
  }

  float play_out(PlanTree& t, typename G::State& s, int seat, Rng& rng) const {
    while (!G::status(rules_, s).over) {
      const bool guided =
          options_.guide >= 0 && rng.uniform() < static_cast<double>(options_.guide_share);
      decide(t, s, seat, guided ? kGuide : chance(t, s, seat, rng));
    }
    std::array<float, kMaxSeats> out{};
    G::outcome(rules_, s, std::span(out).first(static_cast<std::size_t>(spec_.seats)));
    return 0.5F + 0.5F * out[static_cast<std::size_t>(seat)];
  }

  std::int32_t chance(PlanTree& t, const typename G::State& s, int seat, Rng& rng) const {
    G::legal(rules_, s, seat, t.mask.data());
    std::uint32_t legal = 0;
    for (const std::uint8_t m : t.mask) legal += m != 0;
    std::uint32_t nth = rng.below(std::max(legal, 1U));
    for (std::size_t a = 0; a < t.mask.size(); ++a) {
      if (t.mask[a] != 0 && nth-- == 0) return static_cast<std::int32_t>(a);
    }
    return 0;
  }

  PlannerOptions options_;
  typename G::Rules rules_;
  GameSpec spec_;
  std::vector<PlanTree> trees_;
};

}  // namespace ludus
