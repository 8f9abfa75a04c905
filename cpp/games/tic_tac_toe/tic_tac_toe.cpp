#include "games/tic_tac_toe/tic_tac_toe.hpp"

#include <bit>
#include <vector>

#include "base/hash.hpp"
#include "base/json.hpp"

namespace ludus {
namespace {

using T = TicTacToe;

constexpr std::uint16_t kFull = 0x1ff;
constexpr std::array<std::uint16_t, 8> kLines = {0x007, 0x038, 0x1c0, 0x049,
                                                 0x092, 0x124, 0x111, 0x054};
constexpr std::array<int, T::kCells> kPowers = {1, 3, 9, 27, 81, 243, 729, 2187, 6561};
enum Bot : int { kRandom, kPerfect };

bool three_in_a_row(std::uint16_t marks) {
  for (const std::uint16_t line : kLines) {
    if ((marks & line) == line) return true;
  }
  return false;
}

int board_index(const std::array<std::uint16_t, 2>& marks) {
  int index = 0;
  for (int c = 0; c < T::kCells; ++c) {
    index += kPowers[static_cast<std::size_t>(c)] * ((marks[0] >> c & 1) + 2 * (marks[1] >> c & 1));
  }
  return index;
}

// Parameters, their ranges and meaning: the only place that knows their names.
const std::vector<ParamSpec>& declared() {
  static const std::vector<ParamSpec> params = {opens_param()};
  return params;
}

constexpr std::int8_t kUnsolved = 2;

// Minimax over every reachable board, each solved once.
int solve(T::Rules& rules, std::array<std::uint16_t, 2> marks, int mover) {
  std::int8_t& value =
      rules.value[static_cast<std::size_t>(mover)][static_cast<std::size_t>(board_index(marks))];
  if (value != kUnsolved) return value;
  if (three_in_a_row(marks[0])) return value = 1;
  if (three_in_a_row(marks[1])) return value = -1;
  const unsigned empty = kFull & ~(marks[0] | marks[1]);
  if (empty == 0) return value = 0;
  int best = mover == 0 ? -1 : 1;
  for (unsigned left = empty; left != 0; left &= left - 1) {
    auto next = marks;
    next[static_cast<std::size_t>(mover)] |= static_cast<std::uint16_t>(left & -left);
    const int v = solve(rules, next, 1 - mover);
    best = mover == 0 ? std::max(best, v) : std::min(best, v);
  }
  return value = static_cast<std::int8_t>(best);
}

}  // namespace

T::Rules T::make_rules(const Params& params) {
  params.check(kName, declared());  // unknown names and bad values end here
  Rules rules;
  rules.opens = opens_of(params, declared());
  for (auto& table : rules.value) table.fill(kUnsolved);
  solve(rules, {}, 0);
  solve(rules, {}, 1);
  return rules;
}

GameSpec T::spec(const Rules&) {
  GameSpec s = spec_of_turns(kName, "Tic-tac-toe");
  s.symmetry = Symmetry::dihedral;
  s.max_ticks = kCells;
  s.observation = {{.name = "board",
                    .dtype = DType::bits,
                    .shape = {2, 3, 3},
                    .low = 0.0,
                    .high = 1.0,
                    .meaning = "marks of the observing seat, then of its opponent",
                    .labels = {"own", "opponent"}}};
  s.heads = {{.name = "cell",
              .size = kCells,
              .labels = {"a3", "b3", "c3", "a2", "b2", "c2", "a1", "b1", "c1"},
              .depends_on = {},
              .meaning = "where to put the mark; legal on empty cells"}};
  s.params = declared();
  s.bots = {{"random", "a uniformly random empty cell"},
            {"perfect", "a uniformly random one of the best moves (minimax)"}};
  for (BotSpec& b : s.bots) b.demonstrates = true;
  s.meaning = "Three in a row of one's own marks wins; a full board without it is a draw.";
  return s;
}

void T::reset(const Rules& rules, State& s, MatchSeed seed) {
  s = State{};  // nothing of the last match may survive
  s.rng = Rng(seed, 0);
  s.to_move = first_to_move(rules.opens, s.rng);
}

SeatMask T::to_act(const Rules& rules, const State& s) {
  return status(rules, s).over ? 0 : SeatMask{1} << s.to_move;
}

void T::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  check_turn(kName, status(rules, s).over, seat, s.to_move);
  const std::int32_t cell = check_choice(kName, "cell", action, kCells);
  if (((s.marks[0] | s.marks[1]) >> cell & 1) != 0) {
    throw GameError("tic_tac_toe: cell " + std::to_string(cell) + " is taken");
  }
  s.chosen = static_cast<std::int8_t>(cell);
}

void T::bot(const Rules& rules, State& s, int seat, int bot) {
  if (status(rules, s).over || seat != s.to_move) return;
  std::array<std::int8_t, kCells> moves{};
  std::uint32_t n = 0;
  int best = -2;
  const unsigned empty = kFull & ~static_cast<unsigned>(s.marks[0] | s.marks[1]);
  for (unsigned left = empty; left != 0; left &= left - 1) {
    int value = 0;
    if (bot == kPerfect) {
      auto next = s.marks;
      next[static_cast<std::size_t>(seat)] |= static_cast<std::uint16_t>(left & -left);
      value = rules.value[static_cast<std::size_t>(1 - seat)]
                         [static_cast<std::size_t>(board_index(next))];
      if (seat == 1) value = -value;
    }
    if (value > best) {
      best = value;
      n = 0;
    }
    if (value == best) moves[n++] = static_cast<std::int8_t>(std::countr_zero(left));
  }
  s.chosen = moves[s.rng.below(n)];
}

void T::bot_choice(const Rules& rules, State& s, int seat, int bot,
                   std::span<std::int32_t> action) {
  choose_by_bot<T>(rules, s, seat, bot, action);
}

void T::advance(const Rules& rules, State& s) {
  if (status(rules, s).over) return;
  check_decided(kName, s.chosen, s.to_move);
  std::uint16_t& own = s.marks[s.to_move];
  own |= static_cast<std::uint16_t>(1U << s.chosen);
  if (three_in_a_row(own)) s.winner = static_cast<std::int8_t>(s.to_move);
  s.chosen = -1;
  s.to_move ^= 1;
  ++s.tick;
}

Status T::status(const Rules&, const State& s) {
  return {.over = s.winner >= 0 || (s.marks[0] | s.marks[1]) == kFull, .truncated = false};
}

// The reward is the result, paid once at the end; both seats are paid, whichever moved last.
void T::rewards(const Rules& rules, const State& s, std::span<float> out) {
  outcome(rules, s, out);
}

void T::outcome(const Rules&, const State& s, std::span<float> out) { pay_winner(s.winner, out); }

// Packed as in the spec: 18 bits, least significant first, rounded up to whole bytes.
void T::observe(const Rules&, const State& s, int seat, std::span<std::byte* const> tensors) {
  const std::uint32_t own = s.marks[static_cast<std::size_t>(seat)];
  const std::uint32_t other = s.marks[static_cast<std::size_t>(1 - seat)];
  const std::uint32_t bits = own | other << kCells;
  for (int i = 0; i < 3; ++i) tensors[0][i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
}

// At least one choice must stay legal even where none is meant, so that masked sampling is defined.
void T::legal(const Rules& rules, const State& s, int, std::uint8_t* mask) {
  const bool over = status(rules, s).over;
  const unsigned taken = static_cast<unsigned>(s.marks[0] | s.marks[1]);
  for (int c = 0; c < kCells; ++c) mask[c] = over || (taken >> c & 1) == 0 ? 1 : 0;
}

std::uint64_t T::hash(const Rules&, const State& s) {
  Hash64 h;
  h.add(s.marks[0]);
  h.add(s.marks[1]);
  h.add(s.to_move);
  h.add(static_cast<std::uint64_t>(s.chosen + 1));
  h.add(s.tick);
  Rng rng = s.rng;  // the next draw stands for the stream's position
  h.add(rng.next());
  return h.value();
}

std::string T::view(const Rules& rules, const State& s) {
  JsonWriter j;
  j.open('{').field("tick", s.tick).field("to_move", s.to_move).field("winner", s.winner);
  j.field("over", status(rules, s).over).key("cells").open('[');
  for (int c = 0; c < kCells; ++c) {
    j.value((s.marks[0] >> c & 1) != 0 ? 0 : (s.marks[1] >> c & 1) != 0 ? 1 : -1);
  }
  j.close(']').close('}');
  return std::move(j).text();
}

}  // namespace ludus
