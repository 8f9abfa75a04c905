// Batched MCTS: searches of many matches of one game, a tree each. They share one evaluator, whose
// batch is filled by the leaves of all trees. A slot holds a match's present state and its tree;
// nodes hold no boards, a descent plays from the slot's state. Nothing allocates once the slots
// have been made.
//
//   search.begin(slot, visits, noise)
//   while (...) { search.simulate(slot); ... evaluate rows ...; search.deliver(policy, value) }
//   search.play(slot, move)                       // continues below that move
//
// One thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "game/state.hpp"
#include "search/cache.hpp"
#include "search/endgame.hpp"
#include "search/evaluator.hpp"
#include "search/root.hpp"
#include "search/tree.hpp"

namespace ludus {

// Throws SearchError for a game that a tree over moves cannot search.
inline void check_searchable(const GameSpec& spec) {
  const auto refuse = [&](const std::string& why) {
    throw SearchError(spec.name + " cannot be searched: " + why);
  };
  if (spec.seats != 2) refuse("it has " + std::to_string(spec.seats) + " seats, expected 2");
  if (!spec.turn_based) refuse("its seats decide at the same time, expected one after the other");
  if (!spec.perfect_information) refuse("seats do not see everything (hidden information)");
  if (!spec.deterministic) {
    refuse("its spec does not say that the same moves always lead to the same position (chance)");
  }
  if (spec.heads.size() != 1) {
    refuse("a decision has " + std::to_string(spec.heads.size()) + " heads, expected 1");
  }
  if (spec.heads[0].size > 0xffff) refuse("more than 65535 moves");
}

enum class Simulated : std::uint8_t {
  queued,    // a leaf waits for its evaluation
  answered,  // a leaf was evaluated at once, by a cache or an instant evaluator
  terminal,  // the descent ended at the end of a match
  blocked,   // every way leads to a leaf that waits already; deliver first
  done,      // the search has its visits, or its memory is full
};

template <Game G>
class Search {
 public:
  using Rules = typename G::Rules;
  using State = typename G::State;

  Search(const Params& params, const SearchOptions& options, int slots, int most_visits)
      : Search(G::make_rules(params), options, slots, most_visits) {}
  Search(Rules rules, const SearchOptions& options, int slots, int most_visits)
      : rules_(std::move(rules)),
        spec_(G::spec(rules_)),
        options_(options),
        endgame_(spec_, options.endgame_plies,
                 std::max(options.endgame_nodes, options.endgame_root_nodes)) {
    check_searchable(spec_);
    validate(options);
    if (options.score_share > 0 && spec_.counted_cells == 0) {
      throw SearchError("search: score_share needs a game that is counted at its end, which " +
                        spec_.name + " is not");
    }
    owner_.resize(static_cast<std::size_t>(spec_.counted_cells));
    if (slots < 1 || slots > 1 << 16) {
      throw SearchError("search: " + std::to_string(slots) + " slots, expected 1 to 65536");
    }
    const std::size_t bytes = Tree::arena_bytes(most_visits, options.leaves, spec_.heads[0].size);
    if (bytes / Arena::kUnit >= 0xffffffffULL) {
      throw SearchError("search: visits = " + std::to_string(most_visits) + " need " +
                        std::to_string(bytes >> 20) + " MiB a tree, expected less than 64 GiB");
    }
    slots_.reserve(static_cast<std::size_t>(slots));
    for (int i = 0; i < slots; ++i) slots_.emplace_back(bytes);
    spare_ = Arena(bytes);
    mask_.resize(spec_.mask_bytes());
    tickets_.reserve(static_cast<std::size_t>(slots) * static_cast<std::size_t>(options.leaves));
  }

  [[nodiscard]] const GameSpec& spec() const { return spec_; }
  [[nodiscard]] const Rules& rules() const { return rules_; }
  [[nodiscard]] const SearchOptions& options() const { return options_; }
  [[nodiscard]] int slots() const { return static_cast<int>(slots_.size()); }
  [[nodiscard]] int choices() const { return spec_.heads[0].size; }
  [[nodiscard]] const State& state(int slot) const { return at(slot).state; }
  [[nodiscard]] const Tree& tree(int slot) const { return at(slot).tree; }
  [[nodiscard]] Status status(int slot) const { return G::status(rules_, at(slot).state); }
  [[nodiscard]] std::uint64_t simulations() const { return simulations_; }
  [[nodiscard]] Evaluator<G>& evaluator() { return *evaluator_; }
  void set_evaluator(std::unique_ptr<Evaluator<G>> evaluator) { evaluator_ = std::move(evaluator); }

  // The seat that decides at the slot's state; -1 after its end.
  [[nodiscard]] int seat(int slot) const {
    const SeatMask seats = G::to_act(rules_, at(slot).state);
    return seats == 0 ? -1 : std::countr_zero(seats);
  }

  void reset(int slot, MatchSeed seed) {
    Slot& s = at(slot);
    G::reset(rules_, s.state, seed);
    to_decision(s.state);
    s.tree.clear();
  }

  // Another state. Its tree is kept where the state is at most two moves below the slot's, so that
  // a search continues after an opponent's move. True: something was kept.
  bool set_state(int slot, const State& state) {
    Slot& s = at(slot);
    copy_state<G>(rules_, work_, state);
    to_decision(work_);
    const std::uint64_t hash = G::hash(rules_, work_);
    std::array<int, 2> moves{};
    const int depth = options_.reuse_tree ? moves_to(s, hash, moves) : -1;
    if (depth < 0) {
      s.tree.clear();
    } else {
      for (int i = 0; i < depth; ++i) follow(s, moves[static_cast<std::size_t>(i)]);
    }
    copy_state<G>(rules_, s.state, work_);
    return s.tree.root() != 0;
  }

  // Starts a search of the slot's state: until its root has `visits`.
  void begin(int slot, int visits, bool noise, Rng& rng) {
    Slot& s = at(slot);
    s.visits = visits;
    s.noise = noise;
    s.rng = &rng;
    s.prepared = false;
    s.full = false;
    if (options_.gumbel_moves > 0) s.tree.clear();  // the halving counts from nothing
    if (s.tree.root() != 0) prepare(s);
  }
  void stop(int slot) { at(slot).visits = 0; }

  // Moves that searches of the slot leave out: `seat` plays no move of `barred` (a byte a move) at
  // a depth below `depth`; the root's own moves are at depth 0. Where nothing else is legal, moves
  // stay. Depth 0 lifts the restriction. A change empties the tree.
  void restrict(int slot, int seat, std::span<const std::uint8_t> barred, int depth) {
    Slot& s = at(slot);
    Restriction& r = s.restricted[static_cast<std::size_t>(seat)];
    if (depth == 0 && r.depth == 0) return;
    if (depth == r.depth && std::ranges::equal(r.barred, barred)) return;
    r.depth = depth;
    r.barred.assign(barred.begin(), barred.end());
    s.tree.clear();
  }

  [[nodiscard]] bool done(int slot) const {
    const Slot& s = at(slot);
    return s.tree.under_way() == 0 && !s.waiting &&
           (s.full || solved(s) || (s.tree.visits() > 0 && s.tree.visits() >= s.visits));
  }

  // One descent. The slot's match must not be over.
  Simulated simulate(int slot) {
    Slot& s = at(slot);
    if (s.waiting) return Simulated::blocked;
    if (s.full || solved(s) ||
        (s.tree.visits() > 0 && s.tree.visits() + s.tree.under_way() >= s.visits)) {
      return Simulated::done;
    }
    copy_state<G>(rules_, work_, s.state);
    if (s.tree.root() == 0) return plant(slot, s);
    return descend(slot, s);
  }

  // Answers to all waiting rows: `policy[row * choices]`, `value[row]`.
  void deliver(const float* policy, const float* value) {
    const auto moves = static_cast<std::size_t>(choices());
    for (std::size_t row = 0; row < tickets_.size(); ++row) {
      const auto [slot, node] = tickets_[row];
      const float v = std::isfinite(value[row]) ? std::clamp(value[row], -1.0F, 1.0F) : 0.0F;
      const Answer answer{{policy + row * moves, moves}, v};
      evaluator_->answered(static_cast<int>(row), answer);
      Slot& s = at(slot);
      if (node != s.tree.root()) s.tree.mark(node, -1);
      s.waiting = false;
      grow(s, node, answer);
    }
    tickets_.clear();
    evaluator_->begin_batch();
  }
  [[nodiscard]] int waiting() const { return static_cast<int>(tickets_.size()); }

  // Plays a legal move on the slot's match; the tree below it is kept if the options say so.
  void play(int slot, int move) {
    Slot& s = at(slot);
    const int who = seat(slot);
    if (s.waiting || s.tree.under_way() != 0) throw SearchError("search: play while leaves wait");
    const auto action = static_cast<std::int32_t>(move);
    G::act(rules_, s.state, who, std::span(&action, 1));  // throws GameError when illegal
    advance(s.state);
    if (options_.reuse_tree && options_.gumbel_moves == 0) {
      follow(s, move);
    } else {
      s.tree.clear();
    }
  }

  // A byte a move: whether it may be played. Valid until the search continues.
  std::span<const std::uint8_t> legal(int slot) {
    G::legal(rules_, at(slot).state, seat(slot), mask_.data());
    return mask_;
  }

  [[nodiscard]] int choose(int slot, float temperature, Rng& rng) const {
    const Slot& s = at(slot);
    return s.root.choose(s.tree, options_, temperature, rng);
  }
  void target(int slot, std::span<float> out) const {
    const Slot& s = at(slot);
    s.root.target(s.tree, options_, out);
  }
  // Value of the root for its seat under that target.
  [[nodiscard]] float value(int slot, std::span<const float> target) const {
    return Root::value(at(slot).tree, target);
  }

 private:
  struct Restriction {
    std::vector<std::uint8_t> barred;  // a byte a move
    int depth = 0;
  };
  struct Slot {
    explicit Slot(std::size_t bytes) : tree(bytes) {}
    State state{};
    Tree tree;
    Root root;
    std::array<Restriction, 2> restricted;  // a seat
    Rng* rng = nullptr;
    int visits = 0;
    bool noise = false, prepared = false, waiting = false, full = false;
  };

  Slot& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] const Slot& at(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }

  // Gumbel's halving wants all its simulations.
  [[nodiscard]] bool solved(const Slot& s) const {
    return options_.solver && options_.gumbel_moves == 0 && s.tree.visits() > 0 && s.tree.proven();
  }

  void prepare(Slot& s) {
    s.root.prepare(s.tree, options_, *s.rng, s.visits, s.noise);
    s.prepared = true;
  }

  // To the next state in which a seat decides, or to the end.
  void to_decision(State& state) const {
    while (!G::status(rules_, state).over && G::to_act(rules_, state) == 0) {
      G::advance(rules_, state);
    }
  }
  void advance(State& state) const {
    G::advance(rules_, state);
    to_decision(state);
  }

  Simulated plant(int slot, Slot& s) {
    const int who = std::countr_zero(G::to_act(rules_, work_));
    legal_at(s, who, 0);
    const NodeId id = s.tree.add(0, 0, who, mask_);
    if (id == 0) throw SearchError("search: no memory for a root");
    const Simulated done = evaluate(slot, s, id, who);
    s.waiting = done == Simulated::queued;
    return done;
  }

  // Legal moves of `who` at `work_`, `depth` moves below the root, into `mask_`.
  void legal_at(const Slot& s, int who, int depth) {
    G::legal(rules_, work_, who, mask_.data());
    const Restriction& r = s.restricted[static_cast<std::size_t>(who)];
    if (depth >= r.depth) return;
    bool any = false;
    for (std::size_t i = 0; i < mask_.size() && !any; ++i) any = mask_[i] != 0 && r.barred[i] == 0;
    if (!any) return;
    for (std::size_t i = 0; i < mask_.size(); ++i) {
      if (r.barred[i] != 0) mask_[i] = 0;
    }
  }

  Simulated descend(int slot, Slot& s) {
    Tree& tree = s.tree;
    int depth = 0;
    NodeId id = tree.root();
    std::int32_t visits = tree.visits();
    float mean = tree.value();
    while (true) {
      int place = id == tree.root() ? s.root.select(tree, options_)
                                    : tree.select(tree.node(id), visits, mean, options_);
      const Node& n = tree.node(id);
      if (place == n.tried) place = tree.begin_try(id);
      if (place < 0) {
        s.full = true;
        return Simulated::done;
      }
      const Columns c = tree.columns(n);
      const std::int32_t move = key_move(tree.keys(n)[static_cast<std::size_t>(place)]);
      G::act(rules_, work_, n.seat, std::span(&move, 1));
      advance(work_);
      const NodeId child = c.child[place];
      ++depth;
      if (child == 0) return reach(slot, s, id, place, depth);
      const Node& below = tree.node(child);
      if (below.state == Node::terminal) {
        tree.back_up(child, below.value);
        ++simulations_;
        return Simulated::terminal;
      }
      if (below.state == Node::pending) return Simulated::blocked;
      visits = c.visits[place];
      mean = c.sum[place] / static_cast<float>(visits);
      if (below.seat != n.seat) mean = -mean;
      id = child;
    }
  }

  // Value for `seat` of the match in `work_`, which is over.
  float end_value(int seat) {
    std::array<float, kMaxSeats> out{};
    G::outcome(rules_, work_, std::span(out).first(static_cast<std::size_t>(spec_.seats)));
    float value = out[static_cast<std::size_t>(seat)];
    if constexpr (HasFinalScore<G>) {
      if (options_.score_share > 0) {
        if (const std::optional<float> margin = G::final_score(rules_, work_, owner_)) {
          const float own = seat == 0 ? *margin : -*margin;
          const float score = std::clamp(own / static_cast<float>(owner_.size()), -1.0F, 1.0F);
          value += options_.score_share * (score - value);
        }
      }
    }
    return value;
  }

  // The exact value of `work_` to `seat`, if known: at the end of the match, and close to it if the
  // endgame solver finds it within `nodes` positions.
  std::optional<float> known_value(int seat, int nodes) {
    if (G::status(rules_, work_).over) return end_value(seat);
    const std::optional<int> found = endgame_.solve(rules_, work_, nodes);
    if (!found) return std::nullopt;
    const int who = std::countr_zero(G::to_act(rules_, work_));
    return static_cast<float>(who == seat ? *found : -*found);
  }

  // A position that the tree does not have yet.
  Simulated reach(int slot, Slot& s, NodeId parent, int place, int depth) {
    const int mover = s.tree.node(parent).seat;
    NodeId id = 0;
    const bool of_root = parent == s.tree.root() && options_.endgame_root_nodes > 0;
    const int nodes = of_root ? options_.endgame_root_nodes : options_.endgame_nodes;
    if (const std::optional<float> known = known_value(mover, nodes)) {
      const float value = *known;
      id = s.tree.add_terminal(parent, place, mover, value);
      if (id != 0) {
        s.tree.back_up(id, value);
        if (options_.solver) s.tree.prove(id);
        ++simulations_;
        return Simulated::terminal;
      }
    } else {
      const int who = std::countr_zero(G::to_act(rules_, work_));
      legal_at(s, who, depth);
      id = s.tree.add(parent, place, who, mask_);
      if (id != 0) return evaluate(slot, s, id, who);
    }
    s.tree.cancel_try(parent);
    s.full = true;
    return Simulated::done;
  }

  Simulated evaluate(int slot, Slot& s, NodeId id, int who) {
    const Frame frame = evaluator_->frame();
    if (!frame.empty()) G::observe(rules_, work_, who, frame);
    Answer answer;
    if (evaluator_->ask(rules_, work_, who, answer)) {
      grow(s, id, answer);
      return Simulated::answered;
    }
    if (s.tree.node(id).parent != 0) s.tree.mark(id, 1);
    tickets_.emplace_back(slot, id);
    return Simulated::queued;
  }

  void grow(Slot& s, NodeId id, const Answer& answer) {
    s.tree.expand(id, answer.policy, answer.value);
    ++simulations_;
    if (id == s.tree.root() && !s.prepared) prepare(s);
  }

  // Makes the child of `move` the root; the tree is empty if there is none to keep.
  void follow(Slot& s, int move) {
    if (s.tree.root() == 0) return;
    const Node& n = s.tree.node(s.tree.root());
    const Columns c = s.tree.columns(n);
    const std::span<const MoveKey> keys = std::as_const(s.tree).keys(n);
    for (int i = 0; i < n.tried; ++i) {
      if (key_move(keys[static_cast<std::size_t>(i)]) != move) continue;
      if (c.child[i] != 0 && s.tree.node(c.child[i]).state == Node::open) {
        s.tree.advance_to(i, spare_);
        return;
      }
      break;
    }
    s.tree.clear();
  }

  // How many moves (0 to 2) lead from the slot's state to one with `hash`; -1 if none found.
  int moves_to(const Slot& s, std::uint64_t hash, std::array<int, 2>& moves) {
    if (s.tree.root() == 0) return -1;
    if (G::hash(rules_, s.state) == hash) return 0;
    const Node& n = s.tree.node(s.tree.root());
    const Columns c = s.tree.columns(n);
    for (int i = 0; i < n.tried; ++i) {
      State& first = tried_[0];
      copy_state<G>(rules_, first, s.state);
      moves[0] = key_move(s.tree.keys(n)[static_cast<std::size_t>(i)]);
      try_move(first, moves[0]);
      if (G::hash(rules_, first) == hash) return 1;
      if (c.child[i] == 0 || G::status(rules_, first).over) continue;
      const Node& below = s.tree.node(c.child[i]);
      for (int k = 0; k < below.tried; ++k) {
        State& second = tried_[1];
        copy_state<G>(rules_, second, first);
        moves[1] = key_move(s.tree.keys(below)[static_cast<std::size_t>(k)]);
        try_move(second, moves[1]);
        if (G::hash(rules_, second) == hash) return 2;
      }
    }
    return -1;
  }
  void try_move(State& state, int move) const {
    const int who = std::countr_zero(G::to_act(rules_, state));
    const auto action = static_cast<std::int32_t>(move);
    G::act(rules_, state, who, std::span(&action, 1));
    advance(state);
  }

  Rules rules_;
  GameSpec spec_;
  SearchOptions options_;
  std::vector<Slot> slots_;
  std::unique_ptr<Evaluator<G>> evaluator_;
  Arena spare_;
  Endgame<G> endgame_;
  State work_{};
  std::array<State, 2> tried_{};
  std::vector<std::uint8_t> mask_;
  std::vector<std::int8_t> owner_;  // of the match whose end is looked at
  std::vector<std::pair<int, NodeId>> tickets_;
  std::uint64_t simulations_ = 0;
};

}  // namespace ludus
