#include "games/connect_four/connect_four.hpp"

#include <bit>
#include <vector>

#include "base/bit_writer.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"

namespace ludus {
namespace {

using C = ConnectFour;

enum Bot : int { kRandom, kTactical };

const std::vector<ParamSpec>& declared() {
  static const std::vector<ParamSpec> params = {
      opens_param(),
      {.name = "features",
       .kind = ParamKind::text,
       .default_value = "stones",
       .choices = {"stones", "threats", "parity"},
       .meaning = "what is observed: the stones, or also what can be read off them"},
  };
  return params;
}

// Cells of one row as seven bits, column 0 lowest. The product moves bit 7c to bit 42 + c; no two
// of its terms meet, since 7a - 6b takes 49 different values for a, b in 0..6.
std::uint64_t row_bits(std::uint64_t stones, int row_from_below) {
  constexpr std::uint64_t kGather = [] {
    std::uint64_t m = 0;
    for (int c = 0; c < C::kColumns; ++c) m |= std::uint64_t{1} << (42 - 6 * c);
    return m;
  }();
  return ((stones >> row_from_below & C::kBottom) * kGather) >> 42 & 0x7f;
}

// Cells of the rows that are odd counted from below, the lowest being the first.
constexpr std::uint64_t kOddRows = C::kBottom | C::kBottom << 2 | C::kBottom << 4;

C::Features features_of(const std::string& name) {
  return name == "parity"    ? C::Features::parity
         : name == "threats" ? C::Features::threats
                             : C::Features::stones;
}

}  // namespace

C::Rules C::make_rules(const Params& params) {
  params.check(kName, declared());
  return {.opens = opens_of(params, declared()),
          .features = features_of(params.text("features", declared()))};
}

GameSpec C::spec(const Rules& rules) {
  GameSpec s = spec_of_turns(kName, "Connect Four");
  s.symmetry = Symmetry::mirror;
  s.max_ticks = kCells;
  s.observation = {{.name = "board",
                    .dtype = DType::bits,
                    .shape = {2, kRows, kColumns},
                    .low = 0.0,
                    .high = 1.0,
                    .meaning = "stones of the observing seat, then of its opponent; the highest "
                               "row comes first",
                    .labels = {"own", "opponent"}}};
  if (rules.features != Features::stones) {
    TensorSpec& board = s.observation[0];
    const bool parity = rules.features == Features::parity;
    board.shape[0] = 6;
    board.labels.insert(board.labels.end(), {"own_threats", "opponent_threats", "landing",
                                             parity ? "own_rows" : "odd_rows"});
    board.meaning +=
        "; then free cells in which either would complete four, cells that a stone would come to "
        "rest in, and the rows that ";
    board.meaning += parity ? "fall to the observing seat where each answers in the other's column"
                            : "are odd counted from below";
  }
  s.heads = {{.name = "column",
              .size = kColumns,
              .labels = {"a", "b", "c", "d", "e", "f", "g"},
              .depends_on = {},
              .meaning = "where to drop the stone, from the left; legal while the column is not "
                         "full"}};
  s.params = declared();
  s.bots = {{"random", "a uniformly random column that is not full"},
            {"tactical",
             "completes its own four, else stops the opponent's, else drops where the opponent "
             "cannot complete four on top of it, at random among equals"}};
  for (BotSpec& b : s.bots) b.demonstrates = true;
  s.meaning =
      "Stones fall to the lowest free cell of a column; four in a row of one's own, across, "
      "up or diagonally, wins; a full board without them is a draw.";
  return s;
}

void C::reset(const Rules& rules, State& s, MatchSeed seed) {
  s = State{};
  s.rng = Rng(seed, 0);
  s.to_move = first_to_move(rules.opens, s.rng);
}

SeatMask C::to_act(const Rules& rules, const State& s) {
  return status(rules, s).over ? 0 : SeatMask{1} << s.to_move;
}

void C::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  check_turn(kName, status(rules, s).over, seat, s.to_move);
  const std::int32_t column = check_choice(kName, "column", action, kColumns);
  if ((landing(s.stones[0] | s.stones[1]) & column_mask(column)) == 0) {
    throw GameError("connect_four: column " + std::to_string(column) + " is full");
  }
  s.chosen = static_cast<std::int8_t>(column);
}

void C::bot(const Rules& rules, State& s, int seat, int bot) {
  if (status(rules, s).over || seat != s.to_move) return;
  const std::uint64_t own = s.stones[static_cast<std::size_t>(seat)];
  const std::uint64_t other = s.stones[static_cast<std::size_t>(1 - seat)];
  std::uint64_t choices = landing(own | other);
  if (bot == kTactical) {
    const std::uint64_t against = threats(other, own | other);
    if (const std::uint64_t wins = choices & threats(own, own | other); wins != 0) {
      choices = wins;
    } else if (const std::uint64_t forced = choices & against; forced != 0) {
      choices = forced;
    } else if (const std::uint64_t safe = choices & ~(against >> 1); safe != 0) {
      choices = safe;
    }
  }
  auto pick = s.rng.below(static_cast<std::uint32_t>(std::popcount(choices)));
  for (; pick > 0; --pick) choices &= choices - 1;
  s.chosen = static_cast<std::int8_t>(std::countr_zero(choices) / kStride);
}

void C::bot_choice(const Rules& rules, State& s, int seat, int bot,
                   std::span<std::int32_t> action) {
  choose_by_bot<C>(rules, s, seat, bot, action);
}

void C::advance(const Rules& rules, State& s) {
  if (status(rules, s).over) return;
  check_decided(kName, s.chosen, s.to_move);
  std::uint64_t& own = s.stones[s.to_move];
  own |= landing(s.stones[0] | s.stones[1]) & column_mask(s.chosen);
  if (four(own)) s.winner = static_cast<std::int8_t>(s.to_move);
  s.last = s.chosen;
  s.chosen = -1;
  s.to_move ^= 1;
  ++s.tick;
}

Status C::status(const Rules&, const State& s) {
  return {.over = s.winner >= 0 || s.tick == kCells, .truncated = false};
}

void C::rewards(const Rules& rules, const State& s, std::span<float> out) {
  outcome(rules, s, out);
}

void C::outcome(const Rules&, const State& s, std::span<float> out) { pay_winner(s.winner, out); }

void C::observe(const Rules& rules, const State& s, int seat, std::span<std::byte* const> tensors) {
  const std::uint64_t own = s.stones[static_cast<std::size_t>(seat)];
  const std::uint64_t other = s.stones[static_cast<std::size_t>(1 - seat)];
  BitWriter out(tensors[0]);
  const auto put = [&](std::uint64_t cells) {
    for (int row = kRows - 1; row >= 0; --row) out.put(row_bits(cells, row), kColumns);
  };
  put(own);
  put(other);
  if (rules.features != Features::stones) {
    put(threats(own, own | other));
    put(threats(other, own | other));
    put(landing(own | other));
    const bool first = (s.tick % 2 == 0) == (seat == s.to_move);
    put(rules.features == Features::threats || first ? kOddRows : kBoard & ~kOddRows);
  }
  out.finish();
}

void C::legal(const Rules& rules, const State& s, int, std::uint8_t* mask) {
  const bool over = status(rules, s).over;
  const std::uint64_t free = landing(s.stones[0] | s.stones[1]);
  for (int c = 0; c < kColumns; ++c) mask[c] = over || (free & column_mask(c)) != 0 ? 1 : 0;
}

std::uint64_t C::hash(const Rules&, const State& s) {
  Hash64 h;
  h.add(s.stones[0]);
  h.add(s.stones[1]);
  h.add(s.to_move);
  h.add(static_cast<std::uint64_t>(s.chosen + 1));
  h.add(s.tick);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::uint64_t C::key(const Rules&, const State& s) {
  return mix64(key_of(s.stones[s.to_move], s.stones[0] | s.stones[1]));
}

StaticEvaluation C::static_evaluation(const Rules&, const State& s,
                                      std::span<std::uint16_t> moves) {
  const std::uint64_t own = s.stones[s.to_move];
  const std::uint64_t occupied = s.stones[0] | s.stones[1];
  if ((landing(occupied) & threats(own, occupied)) != 0) return {.value = 1};
  const std::uint64_t safe = safe_moves(own, occupied);
  if (safe == 0) return {.value = -1};
  if (s.tick >= kCells - 2) return {.value = 0};  // no one wins with either of the last two stones
  const Ordered order = ordered(safe, own, occupied);
  for (std::size_t i = 0; i < static_cast<std::size_t>(order.count); ++i) {
    moves[i] = static_cast<std::uint16_t>(std::countr_zero(order.cells[i]) / kStride);
  }
  return {.count = order.count};
}

std::string C::view(const Rules& rules, const State& s) {
  JsonWriter j;
  j.open('{').field("tick", s.tick).field("to_move", s.to_move).field("winner", s.winner);
  j.field("over", status(rules, s).over).field("width", kColumns).field("height", kRows);
  int last = -1;
  if (s.last >= 0) {
    const std::uint64_t column = (s.stones[0] | s.stones[1]) & column_mask(s.last);
    last = (kRows - std::popcount(column)) * kColumns + s.last;
  }
  j.field("last", last).key("cells").open('[');
  for (int row = kRows - 1; row >= 0; --row) {
    for (int c = 0; c < kColumns; ++c) {
      const int bit = c * kStride + row;
      j.value((s.stones[0] >> bit & 1) != 0 ? 0 : (s.stones[1] >> bit & 1) != 0 ? 1 : -1);
    }
  }
  j.close(']').close('}');
  return std::move(j).text();
}

}  // namespace ludus
