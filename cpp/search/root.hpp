// The root of a search: Dirichlet noise, Gumbel's sequential halving, forced playouts; and its
// results: visits of each move, the policy target, the move to play.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "search/tree.hpp"

namespace ludus {

// Gamma(shape, 1) by Marsaglia and Tsang (2000), with their boost below 1.
inline double draw_gamma(Rng& rng, double shape) {
  const double boosted = shape < 1.0 ? shape + 1.0 : shape;
  const double d = boosted - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  double result = 0.0;
  while (true) {
    const double u1 = 1.0 - rng.uniform();
    const double u2 = rng.uniform();
    const double x = std::sqrt(-2.0 * std::log(u1)) * std::cos(6.283185307179586 * u2);
    const double v = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
    if (v <= 0.0) continue;
    if (std::log(1.0 - rng.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      result = d * v;
      break;
    }
  }
  if (shape < 1.0) result *= std::pow(1.0 - rng.uniform(), 1.0 / shape);
  return result;
}

// Visits that the considered moves must have had before simulation t: sequential halving as in
// mctx.
class HalvingSchedule {
 public:
  void plan(int considered, int simulations) {
    sequence_.clear();
    const int rounds = std::max(1, static_cast<int>(std::ceil(std::log2(std::max(considered, 1)))));
    std::vector<int> visits(static_cast<std::size_t>(std::max(considered, 1)), 0);
    int left = std::max(considered, 1);
    while (static_cast<int>(sequence_.size()) < simulations) {
      const int each = std::max(1, simulations / (rounds * left));
      for (int r = 0; r < each; ++r) {
        for (int i = 0; i < left; ++i) sequence_.push_back(visits[static_cast<std::size_t>(i)]++);
      }
      left = considered > 1 ? std::max(2, left / 2) : 1;
    }
    sequence_.resize(static_cast<std::size_t>(simulations));
  }
  [[nodiscard]] int visits_at(int simulation) const {
    const auto i = static_cast<std::size_t>(simulation);
    return i < sequence_.size() ? sequence_[i] : sequence_.empty() ? 0 : sequence_.back() + 1;
  }

 private:
  std::vector<int> sequence_;
};

// The root of one tree while it is searched. Made once a slot; `prepare` for every search.
class Root {
 public:
  // After the root was evaluated, or kept from the search before.
  void prepare(Tree& tree, const SearchOptions& o, Rng& rng, int visits, bool noise) {
    forces_ = noise && o.forced_playouts > 0.0F;
    const Node& n = tree.node(tree.root());
    if (o.gumbel_moves > 0) {
      prepare_gumbel(tree, n, o, rng, visits, noise);
    } else if (noise && o.noise_share > 0.0F && n.moves > 1) {
      add_noise(tree, o, rng);
    }
  }

  // The place to go to from the root; as Tree::select.
  int select(Tree& tree, const SearchOptions& o) {
    const Node& n = tree.node(tree.root());
    if (o.gumbel_moves > 0) return select_gumbel(tree, n, o);
    if (forces_) {
      const int forced = select_forced(tree, n, o);
      if (forced >= 0) return forced;
    }
    return tree.select(n, tree.visits(), tree.value(), o);
  }

  // Writes the policy target: one probability per action of the head.
  void target(const Tree& tree, const SearchOptions& o, std::span<float> out) const {
    std::fill(out.begin(), out.end(), 0.0F);
    const Node& n = tree.node(tree.root());
    if (o.gumbel_moves > 0) {
      improved_policy(tree, n, o, out);
      return;
    }
    const Columns c = tree.columns(n);
    const std::span<const MoveKey> keys = tree.keys(n);
    const int best = most_visited(tree, n, c);
    double total = 0.0;
    for (int i = 0; i < n.tried; ++i) {
      if (!tree.worth(n, c, i)) continue;
      const double kept = earned(tree, n, o, i, best);
      out[static_cast<std::size_t>(key_move(keys[static_cast<std::size_t>(i)]))] =
          static_cast<float>(kept);
      total += kept;
    }
    if (total > 0.0) {
      for (float& x : out) x = static_cast<float>(x / total);
    } else {  // no visit beyond the root's own: the network alone
      for (int i = 0; i < n.moves; ++i) {
        if (!tree.worth(n, c, i)) continue;
        const MoveKey k = keys[static_cast<std::size_t>(i)];
        out[static_cast<std::size_t>(key_move(k))] = key_prior(k);
      }
      const float sum = std::accumulate(out.begin(), out.end(), 0.0F);
      for (float& x : out) x /= std::max(sum, 1e-30F);
    }
  }

  // Value of the root for its seat if play follows the target: the mean over the visited
  // moves, each as often as the target names it. The tree's own mean is lower: it counts what noise
  // and forced playouts looked at, moves that no one would play among them.
  static float value(const Tree& tree, std::span<const float> target) {
    const Node& n = tree.node(tree.root());
    if (tree.proven()) return static_cast<float>(n.low);
    const Columns c = tree.columns(n);
    const std::span<const MoveKey> keys = tree.keys(n);
    double sum = 0.0;
    double total = 0.0;
    for (int i = 0; i < n.tried; ++i) {
      const auto share = static_cast<double>(
          target[static_cast<std::size_t>(key_move(keys[static_cast<std::size_t>(i)]))]);
      if (c.visits[i] == 0 || share <= 0.0) continue;
      const Bounds b = tree.bounds(n, c, i);
      sum += share * static_cast<double>(b.proven() ? static_cast<float>(b.low) : mean(c, i));
      total += share;
    }
    return total > 0.0 ? static_cast<float>(sum / total) : tree.value();
  }

  // The move: by visits to the power of 1 / temperature, those left out that a move was forced to
  // have, as in the target; 0 = the most visited (of equals the one with the higher mean). Gumbel:
  // the winner of the halving at temperature 0. A move that visits speak for, but whose mean is
  // below what another is proven to give, is not played.
  int choose(const Tree& tree, const SearchOptions& o, float temperature, Rng& rng) const {
    const Node& n = tree.node(tree.root());
    const std::span<const MoveKey> keys = tree.keys(n);
    if (o.gumbel_moves > 0 && temperature <= 0.0F) return gumbel_winner(tree, n, o);
    const Columns c = tree.columns(n);
    const int top = most_visited(tree, n, c);
    if (top < 0) return key_move(keys[n.tried]);  // the unvisited move with the highest prior
    if (temperature <= 0.0F) return key_move(keys[static_cast<std::size_t>(top)]);
    double total = 0.0;
    const double most = c.visits[top];
    const auto weight = [&](int i) {
      if (!playable(tree, n, c, i)) return 0.0;
      return std::pow(earned(tree, n, o, i, top) / std::max(most, 1.0),
                      1.0 / static_cast<double>(temperature));
    };
    for (int i = 0; i < n.tried; ++i) total += weight(i);
    double x = rng.uniform() * total;
    int pick = top;
    for (int i = 0; i < n.tried; ++i) {
      const double w = weight(i);
      if (w <= 0.0) continue;
      pick = i;
      x -= w;
      if (x < 0.0) break;
    }
    return key_move(keys[static_cast<std::size_t>(pick)]);
  }

 private:
  static float mean(const Columns& c, int i) {
    return c.visits[i] > 0 ? c.sum[i] / static_cast<float>(c.visits[i]) : 0.0F;
  }
  // A visited move with no proof must promise at least what the proven one gives: the many visits
  // of a draw or better that turned out to lose are older than the proof.
  static bool playable(const Tree& tree, const Node& n, const Columns& c, int i) {
    if (!tree.worth(n, c, i)) return false;
    return tree.bounds(n, c, i).low >= n.low || mean(c, i) >= static_cast<float>(n.low);
  }
  // The best of the tried moves (of equals the one with the higher mean); -1 if none.
  static int most_visited(const Tree& tree, const Node& n, const Columns& c) {
    int best = -1;
    for (int i = 0; i < n.tried; ++i) {
      if (!playable(tree, n, c, i)) continue;
      if (best < 0 || c.visits[i] > c.visits[best] ||
          (c.visits[i] == c.visits[best] && mean(c, i) > mean(c, best))) {
        best = i;
      }
    }
    return best;
  }

  void add_noise(Tree& tree, const SearchOptions& o, Rng& rng) {
    const Node& n = tree.node(tree.root());
    const std::span<MoveKey> keys = tree.keys(n);
    const double alpha = o.noise_alpha > 0.0F ? static_cast<double>(o.noise_alpha)
                                              : 10.83 / static_cast<double>(n.moves);
    prior_.resize(keys.size());
    gamma_.resize(keys.size());
    double total = 0.0;
    // Drawn in the order of the moves, so that the order of the keys does not matter.
    order_.resize(keys.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) {
      return key_move(keys[static_cast<std::size_t>(a)]) <
             key_move(keys[static_cast<std::size_t>(b)]);
    });
    for (const int i : order_)
      total += gamma_[static_cast<std::size_t>(i)] = draw_gamma(rng, alpha);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const double share = total > 0.0 ? gamma_[i] / total : 0.0;
      prior_[i] =
          (1.0F - o.noise_share) * key_prior(keys[i]) + o.noise_share * static_cast<float>(share);
    }
    tree.reprior(tree.root(), prior_);
  }

  // ---- forced playouts (Wu 2019, section 3.2) ---------------------------------------------------

  static double forced_visits(const Tree& tree, const SearchOptions& o, float prior) {
    return std::sqrt(static_cast<double>(o.forced_playouts) * static_cast<double>(prior) *
                     static_cast<double>(std::max(tree.visits() - 1, 0)));
  }
  static int select_forced(const Tree& tree, const Node& n, const SearchOptions& o) {
    const Columns c = tree.columns(n);
    const std::span<const MoveKey> keys = tree.keys(n);
    for (int i = 0; i < n.tried; ++i) {
      const int visits = c.visits[i] + c.under_way[i];
      const float prior = key_prior(keys[static_cast<std::size_t>(i)]);
      if (c.visits[i] > 0 && visits < forced_visits(tree, o, prior) && tree.worth(n, c, i))
        return i;
    }
    return -1;
  }
  static double puct(const Tree& tree, const Node& n, const SearchOptions& o, int i,
                     double visits) {
    const Columns c = tree.columns(n);
    const float prior = key_prior(tree.keys(n)[static_cast<std::size_t>(i)]);
    return static_cast<double>(mean(c, i)) +
           static_cast<double>(o.c_puct) * static_cast<double>(prior) *
               std::sqrt(static_cast<double>(tree.visits())) / (1.0 + visits);
  }
  // Visits of child i, `best` being the one with the most, as far as nothing forced them.
  [[nodiscard]] double earned(const Tree& tree, const Node& n, const SearchOptions& o, int i,
                              int best) const {
    return forces_ && i != best ? pruned(tree, n, o, i, best) : tree.columns(n).visits[i];
  }
  // Visits of child i without those that it was forced to have and would not have earned.
  static double pruned(const Tree& tree, const Node& n, const SearchOptions& o, int i, int best) {
    const Columns c = tree.columns(n);
    const double visits = c.visits[i];
    const double bar = puct(tree, n, o, best, c.visits[best]);
    const double forced =
        std::ceil(forced_visits(tree, o, key_prior(tree.keys(n)[static_cast<std::size_t>(i)])));
    double kept = visits;
    while (kept > 0.0 && visits - kept < forced && puct(tree, n, o, i, kept - 1.0) < bar)
      kept -= 1.0;
    return kept <= 1.0 && visits - kept > 0.0 ? 0.0 : kept;
  }

  // ---- Gumbel (Danihelka et al. 2022) -----------------------------------------------------------

  void prepare_gumbel(Tree& tree, const Node& n, const SearchOptions& o, Rng& rng, int visits,
                      bool noise) {
    const std::span<const MoveKey> keys = tree.keys(n);
    std::size_t top = 0;
    for (const MoveKey k : keys) top = std::max(top, static_cast<std::size_t>(key_move(k)));
    gumbel_.assign(top + 1, 0.0F);
    considered_.clear();
    if (noise && o.gumbel_scale > 0.0F) {
      for (float& g : gumbel_) {
        const double u = std::max(rng.uniform(), 1e-300);
        g = o.gumbel_scale * static_cast<float>(-std::log(-std::log(u)));
      }
    }
    for (const MoveKey k : keys) considered_.push_back(key_move(k));
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(o.gumbel_moves), keys.size());
    logit_.assign(top + 1, 0.0F);
    for (const MoveKey k : keys) logit_[static_cast<std::size_t>(key_move(k))] = log_prior(k);
    std::partial_sort(considered_.begin(), considered_.begin() + static_cast<std::ptrdiff_t>(count),
                      considered_.end(), [&](int a, int b) {
                        const float x = gumbel_[static_cast<std::size_t>(a)] +
                                        logit_[static_cast<std::size_t>(a)];
                        const float y = gumbel_[static_cast<std::size_t>(b)] +
                                        logit_[static_cast<std::size_t>(b)];
                        return x != y ? x > y : a < b;
                      });
    considered_.resize(count);
    simulation_ = 0;
    schedule_.plan(static_cast<int>(count), std::max(1, visits - 1));
  }
  static float log_prior(MoveKey k) { return std::log(std::max(key_prior(k), 1e-9F)); }

  int select_gumbel(Tree& tree, const Node& n, const SearchOptions& o) {
    const int wanted = schedule_.visits_at(simulation_++);
    int best = -1;
    float best_score = -std::numeric_limits<float>::infinity();
    for (const int move : considered_) {
      const int slot = find(tree, n, move);
      const Columns c = tree.columns(n);
      const int visits = slot < n.tried ? c.visits[slot] : 0;
      if (visits != wanted) continue;
      const float score = gumbel_score(tree, n, o, move, slot);
      if (score > best_score) {
        best_score = score;
        best = move;
      }
    }
    if (best < 0) best = considered_.front();
    const int slot = tree.slot_of(tree.root(), best);
    return slot < 0 ? 0 : slot;
  }
  static int find(const Tree& tree, const Node& n, int move) {
    const std::span<const MoveKey> keys = tree.keys(n);
    for (int i = 0; i < n.moves; ++i) {
      if (key_move(keys[static_cast<std::size_t>(i)]) == move) return i;
    }
    return n.moves;
  }
  static float sigma(const Tree& tree, const Node& n, const SearchOptions& o, float q) {
    const Columns c = tree.columns(n);
    const int most = n.tried > 0 ? *std::max_element(c.visits, c.visits + n.tried) : 0;
    return (o.gumbel_visit + static_cast<float>(most)) * o.gumbel_value * 0.5F * (q + 1.0F);
  }
  [[nodiscard]] float gumbel_score(const Tree& tree, const Node& n, const SearchOptions& o,
                                   int move, int slot) const {
    const Columns c = tree.columns(n);
    const float q = slot < n.tried && c.visits[slot] > 0 ? mean(c, slot) : mixed_value(tree, n);
    return gumbel_[static_cast<std::size_t>(move)] + logit_[static_cast<std::size_t>(move)] +
           sigma(tree, n, o, q);
  }
  // The value of moves that were not visited: v_mix of the paper's appendix D.
  static float mixed_value(const Tree& tree, const Node& n) {
    const Columns c = tree.columns(n);
    const std::span<const MoveKey> keys = tree.keys(n);
    double prior = 0.0, weighted = 0.0, visits = 0.0;
    for (int i = 0; i < n.tried; ++i) {
      if (c.visits[i] == 0) continue;
      const auto p = static_cast<double>(key_prior(keys[static_cast<std::size_t>(i)]));
      prior += p;
      weighted += p * static_cast<double>(mean(c, i));
      visits += c.visits[i];
    }
    if (prior <= 0.0) return n.value;
    return static_cast<float>((static_cast<double>(n.value) + visits * weighted / prior) /
                              (1.0 + visits));
  }
  void improved_policy(const Tree& tree, const Node& n, const SearchOptions& o,
                       std::span<float> out) const {
    const Columns c = tree.columns(n);
    const std::span<const MoveKey> keys = tree.keys(n);
    const float mixed = mixed_value(tree, n);
    float top = -std::numeric_limits<float>::infinity();
    for (int i = 0; i < n.moves; ++i) {
      const auto k = keys[static_cast<std::size_t>(i)];
      const float q = i < n.tried && c.visits[i] > 0 ? mean(c, i) : mixed;
      const float x = log_prior(k) + sigma(tree, n, o, q);
      out[static_cast<std::size_t>(key_move(k))] = x;
      top = std::max(top, x);
    }
    float total = 0.0F;
    for (const MoveKey k : keys) {
      float& x = out[static_cast<std::size_t>(key_move(k))];
      total += x = std::exp(x - top);
    }
    for (const MoveKey k : keys) out[static_cast<std::size_t>(key_move(k))] /= total;
  }
  [[nodiscard]] int gumbel_winner(const Tree& tree, const Node& n, const SearchOptions& o) const {
    const Columns c = tree.columns(n);
    int best = considered_.front();
    int best_visits = -1;
    float best_score = -std::numeric_limits<float>::infinity();
    for (const int move : considered_) {
      const int slot = find(tree, n, move);
      const int visits = slot < n.tried ? c.visits[slot] : 0;
      const float score = gumbel_score(tree, n, o, move, slot);
      if (visits > best_visits || (visits == best_visits && score > best_score)) {
        best_visits = visits;
        best_score = score;
        best = move;
      }
    }
    return best;
  }

  std::vector<float> prior_, gumbel_, logit_;
  std::vector<double> gamma_;
  std::vector<int> order_, considered_;
  HalvingSchedule schedule_;
  int simulation_ = 0;
  bool forces_ = false;  // this search has forced playouts
};

}  // namespace ludus
