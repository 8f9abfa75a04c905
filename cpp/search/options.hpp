// Options of a search. Every number is checked once, by `validate`, before anything is built.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ludus {

// A setting or a game that cannot be searched with; the message names it and what is expected.
struct SearchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Assumed value of an untried move (first-play urgency).
enum class Fpu : std::uint8_t {
  parent,  // the mean value of the node, less `fpu_reduction` (ELF OpenGo: no reduction)
  zero,    // a draw
  loss,
};

struct SearchOptions {
  // Visits of the root at which a search ends; visits kept from the previous move count. 1 = no
  // search, only the network.
  int visits = 400;
  float c_puct = 1.5F;  // ELF OpenGo, table S1
  // AlphaZero's growing constant: c_puct + log((1 + N + c_base) / c_base). 0 = c_puct stays as it
  // is.
  float c_base = 0.0F;
  Fpu fpu = Fpu::parent;
  float fpu_reduction = 0.0F;
  // Virtual loss: subtracted on a descent's path while its leaf is being evaluated.
  float virtual_loss = 1.0F;
  // Leaves that one tree may have in a batch. More than 1 weakens a search of few visits.
  int leaves = 1;
  bool reuse_tree = true;  // the subtree below the move that was played is kept

  // Noise at the root: prior = (1 - share) * prior + share * Dirichlet(alpha).
  float noise_share = 0.0F;
  float noise_alpha = 0.0F;  // 0 = 10.83 / number of legal moves (KataGo)

  // Gumbel root (Danihelka et al. 2022): this many moves considered, sequential halving. 0 = off.
  int gumbel_moves = 0;
  float gumbel_scale = 1.0F;                        // 0 plays without noise
  float gumbel_visit = 50.0F, gumbel_value = 0.1F;  // sigma(q) = (visit + max N) * value * q

  // Forced playouts at the root: at least sqrt(k * P * N) visits for every child that has any,
  // taken out of the policy target and of the drawn move again (Wu 2019, section 3.2). Only in
  // searches with noise: others have nothing to judge. 0 = off; KataGo: 2.
  float forced_playouts = 0.0F;

  // Ends of matches are proofs: a node whose moves prove its outcome is worth exactly that, moves
  // that are proven worse than another are left alone, and a search whose root is proven ends
  // (Winands et al. 2008, MCTS-Solver; bounds as in Cazenave and Saffidine 2010).
  bool solver = false;
  // Leaves with at most so many plies to the game's limit are searched to the end by alpha-beta, in
  // at most so many positions; what is found counts as an end of the match. 0 = off.
  int endgame_plies = 0;
  int endgame_nodes = 500;
  int endgame_root_nodes = 0;  // for each move of the root; 0 = as for other leaves

  // For a match that the game counts at its end, this share of what the end is worth is the margin
  // instead of who won (as with KataGo's score utility): a seat that cannot win any more still has
  // better and worse moves.
  float score_share = 0.0F;
};

// The settings by name, each with its limits: visit(name, value, low, high). The one list that is
// read, checked and shown to Python.
template <class Options, class Visit>
void each_setting(Options& o, Visit&& visit) {
  visit("visits", o.visits, 1, 1 << 24);
  visit("c_puct", o.c_puct, 0, 1000);
  visit("c_base", o.c_base, 0, 1e9);
  visit("fpu", o.fpu, 0, 2);
  visit("fpu_reduction", o.fpu_reduction, 0, 2);
  visit("virtual_loss", o.virtual_loss, 0, 1000);
  visit("leaves", o.leaves, 1, 4096);
  visit("endgame_plies", o.endgame_plies, 0, 64);
  visit("endgame_nodes", o.endgame_nodes, 1, 1 << 24);
  visit("endgame_root_nodes", o.endgame_root_nodes, 0, 1 << 24);
  visit("reuse_tree", o.reuse_tree, 0, 1);
  visit("noise_share", o.noise_share, 0, 1);
  visit("noise_alpha", o.noise_alpha, 0, 1000);
  visit("gumbel_moves", o.gumbel_moves, 0, 4096);
  visit("gumbel_scale", o.gumbel_scale, 0, 100);
  visit("gumbel_visit", o.gumbel_visit, 0, 1e6);
  visit("gumbel_value", o.gumbel_value, 0, 1e6);
  visit("forced_playouts", o.forced_playouts, 0, 100);
  visit("solver", o.solver, 0, 1);
  visit("score_share", o.score_share, 0, 1);
}

inline void validate(const SearchOptions& o) {
  each_setting(o, [](const char* name, auto value, double low, double high) {
    const auto v = static_cast<double>(value);
    if (v >= low && v <= high) return;  // NaN falls through
    throw SearchError(std::string("search: ") + name + " = " + std::to_string(v) + ", expected " +
                      std::to_string(low) + " to " + std::to_string(high));
  });
  if (o.endgame_plies > 0 && (!o.solver || o.score_share > 0)) {
    throw SearchError("search: endgame_plies wants solver, and no score_share");
  }
  if (o.score_share > 0 && o.solver) {
    throw SearchError("search: score_share goes without solver, which proves who wins");
  }
  if (o.gumbel_moves > 0 && (o.forced_playouts > 0 || o.leaves > 1)) {
    throw SearchError("search: gumbel_moves goes with neither forced_playouts nor leaves > 1");
  }
}

}  // namespace ludus
