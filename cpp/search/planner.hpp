// Planner: MCTS for one seat of a simultaneous-move game whose other seats are played by a known
// scripted bot. Root-parallel trees with random matches to the end (ELF, section 5 and table
// 7: MiniRTS with complete information). It plays on the state itself, fog or not.
//
// Trees share nothing; their roots' visits are added up and the most visited choice is played. The
// result depends on the seed and the number of trees, never on how many threads grow them; only a
// limit in seconds makes it depend on the machine.
//
// With `keep_wins` the first rollout that wins is followed to its end. Every other seat is a bot,
// and the state holds every draw that is still to come, so this is a game of one player without
// chance, whose best line is worth more than a mean (Schadd et al. 2008, Single-Player Monte-Carlo
// Tree Search; Cazenave 2009, Nested Monte-Carlo Search).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
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
      t.weights.resize(spec_.mask_bytes());
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
    if (const auto kept = wins_.find(key(state, seat)); kept != wins_.end()) {
      PlanReport r = sum(0);
      r.choice = kept->second;
      r.mean[static_cast<std::size_t>(r.choice)] = 1.0F;
      return r;
    }
    std::atomic<int> next{0}, first_win{options_.trees};
    const Clock::time_point begin = Clock::now();
    const auto work = [&] {
      for (int i = next++; i < options_.trees; i = next++) {
        grow(i, state, seat, Rng({seed, static_cast<std::uint64_t>(i)}, 0x706c616e), first_win,
             end_of(i, begin));
      }
    };
    std::vector<std::thread> helpers;
    for (int i = 1; i < std::min(options_.threads, options_.trees); ++i) helpers.emplace_back(work);
    work();
    for (std::thread& t : helpers) t.join();
    const int won = first_win;
    if (won == options_.trees) return sum(options_.trees);
    // Trees behind the first that won were broken off wherever they were.
    PlanReport r = sum(won + 1);
    PlanTree& t = trees_[static_cast<std::size_t>(won)];
    r.choice = t.line.front();
    keep(t, state, seat);
    return r;
  }

 private:
  using Clock = std::chrono::steady_clock;

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
    std::vector<float> weights;  // of the choices, in this rollout
    std::vector<std::int32_t> path;
    std::vector<std::int32_t> line;  // every choice of the rollout, those after the tree too
    std::uint64_t ticks = 0;
  };
  static constexpr std::size_t kMostWins = 1 << 20;  // decisions that are kept, some 40 MB

  // For the first `trees` trees.
  PlanReport sum(int trees) const {
    PlanReport r;
    std::vector<double> won(spec_.mask_bytes()), visits(spec_.mask_bytes());
    for (const PlanTree& t : std::span(trees_).first(static_cast<std::size_t>(trees))) {
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

  std::uint64_t key(const typename G::State& s, int seat) const {
    Hash64 h;
    h.add(G::hash(rules_, s));
    h.add(static_cast<std::uint64_t>(seat));
    return h.value();
  }

  // Plays the tree's last rollout again, and keeps what the seat chose at each of its decisions.
  void keep(PlanTree& t, typename G::State s, int seat) {
    if (wins_.size() > kMostWins) wins_.clear();
    for (const std::int32_t choice : t.line) {
      wins_[key(s, seat)] = choice;
      decide(t, s, seat, choice);
    }
  }

  // When a tree is to be done, so that those that start after it have as much time. What one leaves
  // is the next one's.
  Clock::time_point end_of(int number, Clock::time_point begin) const {
    if (options_.seconds == 0.0) return Clock::time_point::max();
    const int waves = (options_.trees + options_.threads - 1) / options_.threads;
    const double share = static_cast<double>(number / options_.threads + 1) / waves;
    return begin + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(options_.seconds * share));
  }

  // Ends early once a tree before it has won, or with its own first win, if wins are kept, or when
  // time is up.
  void grow(int number, const typename G::State& root, int seat, Rng rng,
            std::atomic<int>& first_win, Clock::time_point end) {
    PlanTree& t = trees_[static_cast<std::size_t>(number)];
    t.nodes.clear();
    t.edges.clear();
    t.ticks = 0;
    add_node(t, root, seat);
    for (int i = 0; i < options_.rollouts && first_win > number; ++i) {
      if (i > 0 && Clock::now() >= end) return;
      typename G::State s = root;
      t.path.clear();
      t.line.clear();
      std::int32_t node = 0;
      while (true) {
        const std::int32_t edge = select(t, t.nodes[static_cast<std::size_t>(node)], rng);
        t.path.push_back(edge);
        const std::int32_t choice = t.edges[static_cast<std::size_t>(edge)].choice;
        t.line.push_back(choice);
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
      const float outcome = play_out(t, s, seat, rng);
      back_up(t, outcome == 0.0F ? options_.draw : 0.5F + 0.5F * outcome);
      if (!options_.keep_wins || outcome < 1.0F) continue;
      int before = first_win;
      while (number < before && !first_win.compare_exchange_weak(before, number)) {
      }
      return;
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
    for (float& w : t.weights) {
      if (options_.bias == 0.0F) {
        w = 1.0F;
      } else {
        w = static_cast<float>(std::pow(-std::log1p(-rng.uniform()), options_.bias));
      }
    }
    while (!G::status(rules_, s).over) {
      const bool guided =
          options_.guide >= 0 && rng.uniform() < static_cast<double>(options_.guide_share);
      const std::int32_t choice = guided ? kGuide : chance(t, s, seat, rng);
      t.line.push_back(choice);
      decide(t, s, seat, choice);
    }
    std::array<float, kMaxSeats> out{};
    G::outcome(rules_, s, std::span(out).first(static_cast<std::size_t>(spec_.seats)));
    return out[static_cast<std::size_t>(seat)];
  }

  std::int32_t chance(PlanTree& t, const typename G::State& s, int seat, Rng& rng) const {
    G::legal(rules_, s, seat, t.mask.data());
    float legal = 0.0F;
    for (std::size_t a = 0; a < t.mask.size(); ++a) legal += t.mask[a] != 0 ? t.weights[a] : 0.0F;
    float at = static_cast<float>(rng.uniform()) * legal;
    std::int32_t last = 0;
    for (std::size_t a = 0; a < t.mask.size(); ++a) {
      if (t.mask[a] == 0) continue;
      last = static_cast<std::int32_t>(a);
      at -= t.weights[a];
      if (at < 0.0F) break;
    }
    return last;
  }

  PlannerOptions options_;
  typename G::Rules rules_;
  GameSpec spec_;
  std::vector<PlanTree> trees_;
  std::unordered_map<std::uint64_t, std::int32_t> wins_;  // the seat's choice at a hashed state
};

}  // namespace ludus
