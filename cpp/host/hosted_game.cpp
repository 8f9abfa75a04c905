#include "host/hosted_game.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.hpp"
#include "search/positions.hpp"
#include "search/self_play.hpp"

namespace ludus {
namespace {

using H = HostedGame;

constexpr std::size_t kHeader = offsetof(H::State, move);

std::uint64_t begin_key(MatchSeed seed) {
  Hash64 h;
  h.add(seed.seed);
  h.add(seed.match);
  return h.value();
}

std::uint64_t next_key(std::uint64_t key, std::int32_t move) {
  Hash64 h;
  h.add(key);
  h.add(static_cast<std::uint64_t>(move));
  return h.value();
}

}  // namespace

// The positions that were met last, by the keys of the ways to them.
class HostedPositions {
 public:
  struct Position {
    std::uint64_t key = 0;
    std::unique_ptr<HostedMatch> match;
    HostedStep step;
    std::vector<std::uint8_t> mask;
  };

  HostedPositions(std::unique_ptr<HostedSource> source, std::size_t most)
      : source_(std::move(source)), most_(std::max<std::size_t>(most, 2)) {
    check_searchable(source_->spec());
  }

  [[nodiscard]] const GameSpec& spec() const { return source_->spec(); }

  // Valid until the next call.
  const Position& begin(MatchSeed seed) {
    const std::uint64_t key = begin_key(seed);
    if (const Position* known = find(key)) return *known;
    Position p = blank(key);
    p.match = source_->begin(seed, p.step, p.mask.data());
    return keep(std::move(p));
  }

  // The position of `s`, played again from where its way is still known if it was forgotten.
  const Position& at(const H::State& s) {
    if (const Position* known = find(s.key)) return *known;
    std::vector<std::uint64_t> keys = {begin_key({s.seed, s.match})};
    for (std::size_t i = 0; i + 1 < s.moves; ++i) keys.push_back(next_key(keys[i], s.move[i]));
    std::size_t i = keys.size();
    const Position* from = nullptr;
    while (i > 0 && from == nullptr) from = find(keys[--i]);
    if (from == nullptr) from = &begin({s.seed, s.match});
    if (s.moves == 0) return *from;
    Position p = blank(s.key);
    p.match = from->match->clone();
    p.step = from->step;
    p.mask = from->mask;
    for (; i < s.moves; ++i) play(p, s.move[i]);
    return keep(std::move(p));
  }

  // The position after `move` at `s`.
  const Position& after(const H::State& s, std::int32_t move) {
    const std::uint64_t key = next_key(s.key, move);
    if (const Position* known = find(key)) return *known;
    const Position& from = at(s);
    Position p = blank(key);
    p.match = from.match->clone();
    p.step = from.step;
    p.mask = from.mask;
    play(p, move);
    return keep(std::move(p));
  }

 private:
  using Order = std::list<Position>;

  [[nodiscard]] Position blank(std::uint64_t key) const {
    Position p;
    p.key = key;
    p.mask.resize(spec().mask_bytes());
    return p;
  }
  void play(Position& p, std::int32_t move) const {
    if (p.step.seat < 0) throw GameError(spec().name + ": a move after the end of the match");
    if (move < 0 || static_cast<std::size_t>(move) >= p.mask.size() ||
        p.mask[static_cast<std::size_t>(move)] == 0) {
      throw GameError(spec().name + ": move " + std::to_string(move) + " is illegal");
    }
    p.step = p.match->play(p.step.seat, move, p.mask.data());
  }
  const Position* find(std::uint64_t key) {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return nullptr;
    order_.splice(order_.begin(), order_, it->second);
    return &order_.front();
  }
  const Position& keep(Position&& p) {
    if (order_.size() >= most_) {
      by_key_.erase(order_.back().key);
      order_.pop_back();
    }
    order_.push_front(std::move(p));
    by_key_[order_.front().key] = order_.begin();
    return order_.front();
  }

  std::unique_ptr<HostedSource> source_;
  std::size_t most_;
  Order order_;  // the last one met first
  std::unordered_map<std::uint64_t, Order::iterator> by_key_;
};

namespace {

void settle(H::State& s, const HostedPositions::Position& p) {
  s.key = p.key;
  s.seat = p.step.seat;
  s.outcome = p.step.outcome;
  s.chosen = -1;
}

// Enough for every tree to be descended without asking again, within reason: a position is an
// object of the source.
std::size_t positions_of(int slots, int visits) {
  constexpr std::size_t kMost = std::size_t{1} << 18;
  const std::size_t wanted = static_cast<std::size_t>(slots) * static_cast<std::size_t>(visits);
  return std::min(kMost, wanted + wanted / 2 + 64);
}

H::Rules rules_of(std::unique_ptr<HostedSource> source, std::size_t most) {
  return {std::make_shared<HostedPositions>(std::move(source), most)};
}

}  // namespace

H::Rules H::make_rules(const Params&) {
  throw ParamError("hosted: a game that is played elsewhere has no rules here");
}

GameSpec H::spec(const Rules& rules) { return rules.positions->spec(); }

void H::reset(const Rules& rules, State& s, MatchSeed seed) {
  s.seed = seed.seed;
  s.match = seed.match;
  s.moves = 0;
  settle(s, rules.positions->begin(seed));
}

void H::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  const GameSpec& spec = rules.positions->spec();
  if (s.seat < 0 || seat != s.seat) {
    throw GameError(spec.name + ": seat " + std::to_string(seat) + " is not to move");
  }
  const std::int32_t move = action.empty() ? -1 : action[0];
  if (move < 0 || move >= spec.heads[0].size) {
    throw GameError(spec.name + ": move " + std::to_string(move) + " is not in [0, " +
                    std::to_string(spec.heads[0].size) + ")");
  }
  s.chosen = move;
}

void H::advance(const Rules& rules, State& s) {
  const GameSpec& spec = rules.positions->spec();
  if (s.chosen < 0) throw GameError(spec.name + ": nothing was chosen");
  if (s.moves >= kMaxMoves) {
    throw GameError(spec.name + ": a match of more than " + std::to_string(kMaxMoves) +
                    " moves cannot be searched");
  }
  const std::int32_t move = std::exchange(s.chosen, -1);
  const HostedPositions::Position& p = rules.positions->after(s, move);
  s.move[s.moves++] = static_cast<std::uint16_t>(move);
  settle(s, p);
}

void H::outcome(const Rules&, const State& s, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i < 2 ? s.outcome[i] : 0.0F;
}

void H::observe(const Rules& rules, const State& s, int seat, std::span<std::byte* const> tensors) {
  rules.positions->at(s).match->observe(seat, tensors);
}

void H::legal(const Rules& rules, const State& s, int, std::uint8_t* mask) {
  const HostedPositions::Position& p = rules.positions->at(s);
  std::copy(p.mask.begin(), p.mask.end(), mask);
}

void H::copy(const Rules&, State& to, const State& from) {
  std::memcpy(&to, &from, kHeader + sizeof(std::uint16_t) * from.moves);
}

// Draws as RolloutEvaluator does for compiled games, so that equal rules give equal trees.
int H::rollout(const Rules& rules, const State& s, Rng& rng, std::span<float> out) {
  const HostedPositions::Position& p = rules.positions->at(s);
  const std::unique_ptr<HostedMatch> match = p.match->clone();
  HostedStep step = p.step;
  std::vector<std::uint8_t> mask = p.mask;
  int turns = 0;
  for (; step.seat >= 0; ++turns) {
    step = match->play(step.seat, draw_move(mask, rng), mask.data());
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = i < 2 ? step.outcome[i] : 0.0F;
  return turns;
}

std::span<const std::byte> H::stored(const State& s) {
  return std::as_bytes(std::span(&s, 1)).first(kHeader + sizeof(std::uint16_t) * s.moves);
}

void H::load(const Rules& rules, State& s, std::span<const std::byte> bytes) {
  const std::string& name = rules.positions->spec().name;
  State given{};
  const std::size_t moves = bytes.size() < kHeader ? 0 : (bytes.size() - kHeader) / 2;
  if (bytes.size() < kHeader || moves > kMaxMoves || bytes.size() != kHeader + 2 * moves) {
    throw GameError(name + ": a state of " + std::to_string(bytes.size()) + " bytes");
  }
  std::memcpy(&given, bytes.data(), bytes.size());
  // Nothing of it is believed but seed and moves.
  s.seed = given.seed;
  s.match = given.match;
  s.moves = static_cast<std::uint32_t>(moves);
  s.move = given.move;
  s.key = begin_key({s.seed, s.match});
  for (std::size_t i = 0; i < moves; ++i) s.key = next_key(s.key, s.move[i]);
  settle(s, rules.positions->at(s));
}

std::vector<std::byte> hosted_state(MatchSeed seed, std::span<const std::int32_t> moves) {
  if (moves.size() > H::kMaxMoves) {
    throw GameError("a match of more than " + std::to_string(H::kMaxMoves) +
                    " moves cannot be searched");
  }
  auto s = std::make_unique<H::State>();
  s->seed = seed.seed;
  s->match = seed.match;
  for (const std::int32_t move : moves) {
    if (move < 0 || move > 0xffff) throw GameError("move " + std::to_string(move));
    s->move[s->moves++] = static_cast<std::uint16_t>(move);
  }
  const std::span<const std::byte> bytes = H::stored(*s);
  return {bytes.begin(), bytes.end()};
}

std::unique_ptr<AnySearch> hosted_search(std::unique_ptr<HostedSource> source,
                                         const SearchOptions& options,
                                         const EvaluatorOptions& evaluator, int slots) {
  return std::make_unique<SearchOf<H>>(
      rules_of(std::move(source), positions_of(std::max(slots, 1), std::max(options.visits, 1))),
      options, evaluator, slots);
}

std::unique_ptr<AnySelfPlay> hosted_self_play(std::unique_ptr<HostedSource> source,
                                              const SearchOptions& search,
                                              const SelfPlayOptions& options,
                                              const EvaluatorOptions& evaluator) {
  const int visits = std::max({search.visits, options.cheap_visits, 1});
  return std::make_unique<SelfPlayOf<H>>(
      rules_of(std::move(source), positions_of(std::max(options.slots, 1), visits)), search,
      options, evaluator);
}

std::unique_ptr<AnyPositions> hosted_positions(std::unique_ptr<HostedSource> source) {
  return std::make_unique<PositionReader<H>>(rules_of(std::move(source), 64));
}

}  // namespace ludus
