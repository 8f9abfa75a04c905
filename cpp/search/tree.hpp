// The search tree of MCTS with PUCT selection. Moves are numbers, seats are signs; independent of
// the game.
//
// A node has its legal moves as one 32-bit key each (prior and move). Tried moves come first, in
// the order of their first try, and have columns with visits, summed value, child and descents
// under way. Every untried move has the same value, so the best of them is the one with the highest
// prior: it is kept at the first untried place, and a descent looks at tried + 1 moves only.
//
// Visits are exact: a node that is expanded has 1 + the visits of its children, always.
//
// Not thread-safe: one thread at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "search/arena.hpp"
#include "search/options.hpp"

namespace ludus {

using NodeId = std::uint32_t;  // index into the arena; 0 = none

struct Node {
  enum State : std::uint8_t { pending, open, terminal };

  std::uint32_t keys = 0;     // legal moves: see move_key
  std::uint32_t columns = 0;  // of the tried moves, `capacity` of each column
  NodeId parent = 0;
  float value = 0.0F;  // as evaluated, for `seat`
  std::uint16_t moves = 0;
  std::uint16_t tried = 0;
  std::uint16_t capacity = 0;
  std::uint16_t slot = 0;  // its place among the parent's tried moves
  std::int8_t seat = 0;    // who decides here; at the end of a match: who decided last
  State state = pending;
  // Proven outcome for `seat`: -1 lost, 0 drawn, 1 won. Equal at the end of a match.
  std::int8_t low = -1, high = 1;
  bool has_bounds = false;  // some child has tighter bounds than [-1, 1]
};
static_assert(sizeof(Node) <= 32);

// A prior in 16 bits (8 of exponent, 8 of mantissa) above the move, so that comparing keys compares
// priors, and among equals the lower move wins. The top bit is never set: keys compare as int32.
using MoveKey = std::int32_t;

[[nodiscard]] constexpr MoveKey move_key(float prior, int move) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(prior) >> 15 & 0xffffU;
  return static_cast<MoveKey>(bits << 16 | (0xffffU - static_cast<std::uint32_t>(move)));
}
[[nodiscard]] constexpr int key_move(MoveKey key) { return 0xffff - (key & 0xffff); }
[[nodiscard]] constexpr float key_prior(MoveKey key) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(key) >> 16 << 15);
}

// Proven bounds of a move's outcome, for the seat that makes it.
struct Bounds {
  int low = -1, high = 1;
  [[nodiscard]] bool proven() const { return low == high; }
};

// Views of one node's columns.
struct Columns {
  std::int32_t* visits;
  float* sum;  // for the node's own seat
  NodeId* child;
  std::int32_t* under_way;
};

class Tree {
 public:
  static constexpr int kFirstCapacity = 4;

  // Bytes that a search of `visits` needs at most, for nodes of up to `choices` moves.
  static std::size_t arena_bytes(int visits, int leaves, int choices) {
    const std::size_t node = sizeof(Node) + Arena::kUnit;
    const std::size_t keys = 4U * static_cast<std::size_t>(choices) + Arena::kUnit;
    const std::size_t columns =
        160;  // the first block, growth by doubling and what it leaves behind
    return (static_cast<std::size_t>(visits) + static_cast<std::size_t>(leaves) + 4) *
               (node + keys + columns) +
           1024;
  }

  explicit Tree(std::size_t bytes) : arena_(bytes) {}

  void clear() {
    arena_.clear();
    root_ = 0;
    visits_ = under_way_ = 0;
    sum_ = 0.0;
  }

  [[nodiscard]] NodeId root() const { return root_; }
  [[nodiscard]] Node& node(NodeId id) { return *arena_.at<Node>(id); }
  [[nodiscard]] const Node& node(NodeId id) const { return *arena_.at<Node>(id); }
  [[nodiscard]] std::int32_t visits() const { return visits_; }  // of the root
  [[nodiscard]] std::int32_t under_way() const { return under_way_; }
  // Mean value of the root for the seat that decides there; its outcome where that is proven.
  [[nodiscard]] float value() const {
    if (visits_ == 0) return 0.0F;
    return proven() ? static_cast<float>(node(root_).low) : static_cast<float>(sum_ / visits_);
  }
  // Whether the outcome of the root is known.
  [[nodiscard]] bool proven() const { return root_ != 0 && node(root_).low == node(root_).high; }
  [[nodiscard]] const Arena& arena() const { return arena_; }

  [[nodiscard]] std::span<MoveKey> keys(const Node& n) {
    return {arena_.at<MoveKey>(n.keys), n.moves};
  }
  [[nodiscard]] std::span<const MoveKey> keys(const Node& n) const {
    return {arena_.at<MoveKey>(n.keys), n.moves};
  }
  [[nodiscard]] Columns columns(const Node& n) const {
    auto* base = const_cast<Arena&>(arena_).at<std::int32_t>(n.columns);
    const std::size_t k = n.capacity;
    return {base, reinterpret_cast<float*>(base + k), reinterpret_cast<NodeId*>(base + 2 * k),
            base + 3 * k};
  }

  // A node whose evaluation is still to come; 0 when the arena is full. `mask`: one byte a move.
  // The root has no parent; any other node is the child at `slot` of it.
  NodeId add(NodeId parent, int slot, int seat, std::span<const std::uint8_t> mask) {
    const NodeId id = add_node(parent, slot, seat);
    if (id == 0) return 0;
    Node& n = node(id);
    n.keys =
        arena_.take(4 * mask.size());  // as many as may be legal; what is left over is given back
    if (n.keys == 0) return 0;
    MoveKey* out = arena_.at<MoveKey>(n.keys);
    int count = 0;
    for (std::size_t move = 0; move < mask.size(); ++move) {
      out[count] = move_key(0.0F, static_cast<int>(move));
      count += mask[move] != 0;
    }
    n.moves = static_cast<std::uint16_t>(count);
    arena_.trim(n.keys, 4 * mask.size(), 4U * n.moves);
    link(id);
    return id;
  }

  // The end of a match. `value`: for `seat`, who decided last.
  NodeId add_terminal(NodeId parent, int slot, int seat, float value) {
    const NodeId id = add_node(parent, slot, seat);
    if (id == 0) return 0;
    node(id).state = Node::terminal;
    node(id).value = value;
    link(id);
    return id;
  }

  // Proven outcome of the tried move at `slot` of a node.
  [[nodiscard]] Bounds bounds(const Node& n, const Columns& c, int slot) const {
    if (c.child[slot] == 0) return {};
    const Node& child = node(c.child[slot]);
    if (child.seat == n.seat) return {child.low, child.high};
    return {-child.high, -child.low};
  }

  // The end of a match is known exactly: bounds of the nodes above it may become closer.
  void prove(NodeId id) {
    Node& end = node(id);
    end.low = end.high = static_cast<std::int8_t>((end.value > 0.0F) - (end.value < 0.0F));
    for (NodeId at = node(id).parent; at != 0; at = node(at).parent) {
      Node& n = node(at);
      n.has_bounds = true;
      const Columns c = columns(n);
      Bounds all{-1, n.tried == n.moves ? -1 : 1};
      for (int i = 0; i < n.tried; ++i) {
        const Bounds b = bounds(n, c, i);
        all = {std::max(all.low, b.low), std::max(all.high, b.high)};
      }
      if (all.low == n.low && all.high == n.high) return;
      n.low = static_cast<std::int8_t>(all.low);
      n.high = static_cast<std::int8_t>(all.high);
    }
  }

  // Whether the move at place `i` may still be the best one: not proven lost while others are open,
  // nor unable to beat what another is proven to give. All are where everything is lost.
  [[nodiscard]] bool worth(const Node& n, const Columns& c, int i) const {
    if (!n.has_bounds || n.high < 0) return true;
    if (i >= n.tried) return n.low < 1;
    const Bounds b = bounds(n, c, i);
    return b.high > n.low || (n.low >= 0 && b.low == n.low);
  }

  // Gives a pending node its priors (`policy[move]`, any positive scale; empty = equal) and counts
  // its value up to the root.
  void expand(NodeId id, std::span<const float> policy, float value) {
    Node& n = node(id);
    set_priors(n, policy);
    n.value = value;
    n.state = Node::open;
    back_up(id, value);
  }

  // Adds one visit of `value` (for the node's seat) to the node and everything above it.
  void back_up(NodeId id, float value) {
    const int seat = node(id).seat;
    NodeId at = id;
    while (true) {
      const Node& n = node(at);
      if (n.parent == 0) break;
      const Node& up = node(n.parent);
      const Columns c = columns(up);
      c.visits[n.slot] += 1;
      c.sum[n.slot] += up.seat == seat ? value : -value;
      at = n.parent;
    }
    visits_ += 1;
    sum_ += node(at).seat == seat ? value : -value;
  }

  // Marks (+1) or unmarks (-1) a descent that ends at `id`.
  void mark(NodeId id, int delta) {
    for (NodeId at = id; node(at).parent != 0; at = node(at).parent) {
      columns(node(node(at).parent)).under_way[node(at).slot] += delta;
    }
    under_way_ += delta;
  }

  // Index of the child that PUCT selects; `n.tried` means: try the best untried move.
  // `visits` and `mean` belong to this node, the mean from its seat's view.
  [[nodiscard]] int select(const Node& n, std::int32_t visits, float mean,
                           const SearchOptions& o) const {
    const float root = std::sqrt(static_cast<float>(visits));
    float c = o.c_puct;
    if (o.c_base > 0.0F) {
      c += std::log((1.0F + static_cast<float>(visits) + o.c_base) / o.c_base);
    }
    const float scale = c * root;
    if (n.has_bounds) return select_bounded(n, mean, scale, o);
    const MoveKey* key = arena_.at<MoveKey>(n.keys);
    const Columns col = columns(n);
    int best = -1;
    float best_score = -std::numeric_limits<float>::infinity();
    if (under_way_ == 0) {
      for (int i = 0; i < n.tried; ++i) {
        const auto visited = static_cast<float>(col.visits[i]);
        const float score =
            col.sum[i] / std::max(visited, 1.0F) + scale * key_prior(key[i]) / (1.0F + visited);
        if (score > best_score) {
          best_score = score;
          best = i;
        }
      }
    } else {
      for (int i = 0; i < n.tried; ++i) {
        const auto visited = static_cast<float>(col.visits[i]);
        const float lost = o.virtual_loss * static_cast<float>(col.under_way[i]);
        const float q = (col.sum[i] - lost) / std::max(visited + lost, 1.0F);
        const float score = q + scale * key_prior(key[i]) / (1.0F + visited);
        if (score > best_score) {
          best_score = score;
          best = i;
        }
      }
    }
    if (n.tried == n.moves) return best;
    const float score = first_play(o, mean) + scale * key_prior(key[n.tried]);
    return score > best_score ? n.tried : best;
  }

  // Makes room for one more tried move, the first of the untried. Returns its index, or -1 when the
  // arena is full.
  int begin_try(NodeId id) {
    Node& n = node(id);
    if (n.tried == n.capacity && !grow(n)) return -1;
    const int slot = n.tried++;
    const Columns c = columns(n);
    c.visits[slot] = 0;
    c.sum[slot] = 0.0F;
    c.child[slot] = 0;
    c.under_way[slot] = 0;
    raise_best(n);
    return slot;
  }

  // Takes a try back that led nowhere (arena full). Only the last one, before it has a child.
  void cancel_try(NodeId id) {
    node(id).tried -= 1;
    raise_best(node(id));
  }

  // The place of `move` among the tried ones; it is tried now if it was not. -1: not legal, or
  // full.
  int slot_of(NodeId id, int move) {
    Node& n = node(id);
    const std::span<MoveKey> all = keys(n);
    for (int i = 0; i < n.moves; ++i) {
      if (key_move(all[static_cast<std::size_t>(i)]) != move) continue;
      if (i < n.tried) return i;
      std::swap(all[static_cast<std::size_t>(i)], all[n.tried]);
      return begin_try(id);
    }
    return -1;
  }

  // New priors for an open node, e.g. with noise: `prior[i]` belongs to key i.
  void reprior(NodeId id, std::span<const float> prior) {
    Node& n = node(id);
    const std::span<MoveKey> all = keys(n);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = move_key(prior[i], key_move(all[i]));
    raise_best(n);
  }

  // Makes the child at `slot` of the root the root, copying what is below it into `spare`, which
  // becomes this tree's arena (Cheney's algorithm: no stack). Nothing may be under way.
  void advance_to(int slot, Arena& spare) {
    const Columns c = columns(node(root_));
    const NodeId child = c.child[slot];
    const std::int32_t visits = c.visits[slot];
    const double sum = node(child).seat == node(root_).seat ? c.sum[slot] : -c.sum[slot];
    spare.clear();
    const NodeId top = copy_node(child, spare);
    Node& moved = *spare.at<Node>(top);
    moved.parent = 0;
    moved.slot = 0;
    for (NodeId scan = top; scan != 0; scan = next_copied(scan, spare)) {
      Node& n = *spare.at<Node>(scan);
      const Columns own = columns_in(n, spare);
      for (int i = 0; i < n.tried; ++i) {
        if (own.child[i] == 0) continue;
        const NodeId to = copy_node(own.child[i], spare);
        spare.at<Node>(to)->parent = scan;
        own.child[i] = to;
      }
    }
    std::swap(arena_, spare);
    root_ = top;
    visits_ = visits;
    sum_ = sum;
  }

  // Whether every expanded node has 1 + the visits of its children and all marks are in place;
  // walks the whole tree. For tests.
  [[nodiscard]] bool consistent() const {
    return root_ == 0 || consistent(root_, visits_, under_way_);
  }

 private:
  // Copies are followed by their keys and columns, so the next one starts right behind: the chain
  // needs no list. A copied node keeps exactly the columns that it uses.
  NodeId copy_node(NodeId from, Arena& to) const {
    const Node& n = node(from);
    const NodeId id = to.take(sizeof(Node));
    Node& out = *to.at<Node>(id);
    out = n;
    if (n.moves > 0) {
      out.keys = to.take(4U * n.moves);
      std::copy_n(arena_.at<MoveKey>(n.keys), n.moves, to.at<MoveKey>(out.keys));
    }
    out.capacity = static_cast<std::uint16_t>((n.tried + 3) & ~3);
    out.columns = 0;
    if (out.capacity > 0) {
      out.columns = to.take(column_bytes(out.capacity));
      const Columns a = columns(n);
      const Columns b = columns_in(out, to);
      std::copy_n(a.visits, n.tried, b.visits);
      std::copy_n(a.sum, n.tried, b.sum);
      std::copy_n(a.child, n.tried, b.child);
      std::fill_n(b.under_way, n.tried, 0);
    }
    return id;
  }
  static NodeId next_copied(NodeId id, const Arena& arena) {
    const Node& n = *arena.at<Node>(id);
    const auto units = [](std::size_t bytes) {
      return static_cast<std::uint32_t>((bytes + Arena::kUnit - 1) / Arena::kUnit);
    };
    const NodeId next =
        id + units(sizeof(Node)) + units(4U * n.moves) + units(column_bytes(n.capacity));
    return std::size_t{next} * Arena::kUnit < arena.used_bytes() ? next : 0;
  }
  static Columns columns_in(const Node& n, Arena& arena) {
    auto* base = arena.at<std::int32_t>(n.columns);
    const std::size_t k = n.capacity;
    return {base, reinterpret_cast<float*>(base + k), reinterpret_cast<NodeId*>(base + 2 * k),
            base + 3 * k};
  }
  static std::size_t column_bytes(int capacity) { return 16U * static_cast<std::size_t>(capacity); }

  NodeId add_node(NodeId parent, int slot, int seat) {
    const NodeId id = arena_.take(sizeof(Node));
    if (id == 0) return 0;
    Node& n = *new (arena_.at<Node>(id)) Node{};
    n.parent = parent;
    n.slot = static_cast<std::uint16_t>(slot);
    n.seat = static_cast<std::int8_t>(seat);
    return id;
  }
  void link(NodeId id) {
    const Node& n = node(id);
    if (n.parent == 0) {
      root_ = id;
    } else {
      columns(node(n.parent)).child[n.slot] = id;
    }
  }

  bool grow(Node& n) {
    const int wanted =
        std::min<int>(n.capacity == 0 ? kFirstCapacity : 2 * n.capacity, (n.moves + 3) & ~3);
    const std::uint32_t block = arena_.take(column_bytes(wanted));
    if (block == 0) return false;
    const Columns a = columns(n);
    Node fresh = n;
    fresh.columns = block;
    fresh.capacity = static_cast<std::uint16_t>(wanted);
    const Columns b = columns(fresh);
    std::copy_n(a.visits, n.tried, b.visits);
    std::copy_n(a.sum, n.tried, b.sum);
    std::copy_n(a.child, n.tried, b.child);
    std::copy_n(a.under_way, n.tried, b.under_way);
    n = fresh;
    return true;
  }

  void set_priors(Node& n, std::span<const float> policy) {
    const std::span<MoveKey> all = keys(n);
    float total = 0.0F;
    if (!policy.empty()) {
      for (const MoveKey k : all) {
        const float p = policy[static_cast<std::size_t>(key_move(k))];
        total += p > 0.0F ? p : 0.0F;  // NaN and negative numbers count as nothing
      }
    }
    if (!(total > 1e-30F) || !std::isfinite(total)) {
      const float equal = 1.0F / static_cast<float>(std::max<std::size_t>(all.size(), 1));
      for (MoveKey& k : all) k = move_key(equal, key_move(k));
    } else {
      const float scale = 1.0F / total;
      for (MoveKey& k : all) {
        const float p = policy[static_cast<std::size_t>(key_move(k))];
        k = move_key(p > 0.0F ? std::min(p * scale, 1.0F) : 0.0F, key_move(k));
      }
    }
    raise_best(n);
  }

  // Brings the untried move with the highest prior to the first untried place.
  void raise_best(Node& n) {
    MoveKey* key = arena_.at<MoveKey>(n.keys);
    const int first = n.tried;
    const int count = n.moves;
    if (first >= count) return;
    MoveKey best = key[first];
    for (int i = first + 1; i < count; ++i) best = std::max(best, key[i]);
    if (best == key[first]) return;
    int at = first;
    while (key[at] != best) ++at;
    std::swap(key[first], key[at]);
  }

  // `select` where outcomes of some moves are known: those are worth exactly that, and moves that
  // cannot be the best are left out.
  [[nodiscard]] int select_bounded(const Node& n, float mean, float scale,
                                   const SearchOptions& o) const {
    const MoveKey* key = arena_.at<MoveKey>(n.keys);
    const Columns c = columns(n);
    int best = -1;
    float best_score = -std::numeric_limits<float>::infinity();
    for (int i = 0; i < n.tried; ++i) {
      if (!worth(n, c, i)) continue;
      const Bounds b = bounds(n, c, i);
      const auto visited = static_cast<float>(c.visits[i]);
      const float lost = o.virtual_loss * static_cast<float>(c.under_way[i]);
      const float q = b.proven() ? static_cast<float>(b.low)
                                 : (c.sum[i] - lost) / std::max(visited + lost, 1.0F);
      const float score = q + scale * key_prior(key[i]) / (1.0F + visited);
      if (score > best_score) {
        best_score = score;
        best = i;
      }
    }
    if (n.tried == n.moves || n.low == 1) return best;
    const float score = first_play(o, mean) + scale * key_prior(key[n.tried]);
    return score > best_score ? n.tried : best;
  }

  static float first_play(const SearchOptions& o, float mean) {
    if (o.fpu == Fpu::zero) return 0.0F;
    if (o.fpu == Fpu::loss) return -1.0F;
    return mean - o.fpu_reduction;
  }

  [[nodiscard]] bool consistent(NodeId id, std::int32_t visits, std::int32_t under_way) const {
    const Node& n = node(id);
    if (n.state != Node::open) return n.tried == 0 && (n.state != Node::pending || visits == 0);
    const Columns c = columns(n);
    std::int32_t below = 0, marks = 0;
    for (int i = 0; i < n.tried; ++i) {
      below += c.visits[i];
      marks += c.under_way[i];
      if (c.child[i] == 0) {
        if (c.visits[i] != 0 || c.under_way[i] != 0) return false;
        continue;
      }
      const Node& child = node(c.child[i]);
      if (child.parent != id || child.slot != i) return false;
      if (!consistent(c.child[i], c.visits[i], c.under_way[i])) return false;
    }
    return visits == below + 1 && under_way == marks;
  }

  Arena arena_;
  NodeId root_ = 0;
  std::int32_t visits_ = 0;
  std::int32_t under_way_ = 0;
  double sum_ = 0.0;  // for the root's seat
};

}  // namespace ludus
