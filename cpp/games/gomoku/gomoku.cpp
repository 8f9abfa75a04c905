#include "games/gomoku/gomoku.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/bit_writer.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"

namespace ludus {
namespace {

using G = Gomoku;

enum Bot : int { kRandom, kPattern };

constexpr std::array<std::array<int, 2>, 4> kDirections = {{{1, 0}, {0, 1}, {1, 1}, {1, -1}}};

const std::vector<ParamSpec>& declared() {
  static const std::vector<ParamSpec> params = {
      {.name = "size",
       .kind = ParamKind::integer,
       .default_value = "15",
       .low = 5,
       .high = G::kMaxSize,
       .choices = {},
       .meaning = "lines of the board"},
      {.name = "length",
       .kind = ParamKind::integer,
       .default_value = "5",
       .low = 3,
       .high = 8,
       .choices = {},
       .meaning = "stones in a row that win"},
      {.name = "overlines",
       .kind = ParamKind::text,
       .default_value = "win",
       .choices = {"win", "ignored"},
       .meaning = "what a row longer than that is: as good (freestyle), or nothing (standard)"},
      opens_param(),
  };
  return params;
}

bool has(const G::State::Stones& stones, int size, int x, int y) {
  return x >= 0 && y >= 0 && x < size && y < size && (stones[static_cast<std::size_t>(y)] >> x & 1);
}

// Whether the stone at (x, y) is part of a row that wins.
bool wins_at(const G::Rules& rules, const G::State::Stones& stones, int x, int y) {
  for (const auto& [dx, dy] : kDirections) {
    int run = 1;
    for (int i = 1; has(stones, rules.size, x + i * dx, y + i * dy); ++i) ++run;
    for (int i = 1; has(stones, rules.size, x - i * dx, y - i * dy); ++i) ++run;
    if (run == rules.length || (rules.overlines && run > rules.length)) return true;
  }
  return false;
}

// Worth of a cell to the pattern bot: every window of `length` cells through it that holds stones
// of one colour only counts by how many; own ones slightly more, since they are a move ahead.
std::int64_t worth(const G::Rules& rules, const G::State& s, int seat, int x, int y) {
  const auto& own = s.stones[static_cast<std::size_t>(seat)];
  const auto& other = s.stones[static_cast<std::size_t>(1 - seat)];
  std::int64_t sum = 0;
  for (const auto& [dx, dy] : kDirections) {
    for (int from = 1 - rules.length; from <= 0; ++from) {
      int mine = 0;
      int theirs = 0;
      bool inside = true;
      for (int i = from; i < from + rules.length && inside; ++i) {
        const int cx = x + i * dx;
        const int cy = y + i * dy;
        inside = cx >= 0 && cy >= 0 && cx < rules.size && cy < rules.size;
        mine += has(own, rules.size, cx, cy) ? 1 : 0;
        theirs += has(other, rules.size, cx, cy) ? 1 : 0;
      }
      if (!inside || (mine > 0 && theirs > 0)) continue;
      const int stones = std::max(mine, theirs);
      // Each further stone outweighs all windows through the cell (at most 32) with one fewer.
      sum += (std::int64_t{1} << 6 * stones) * (theirs > 0 ? 2 : 3);
    }
  }
  return sum;
}

}  // namespace

G::Rules G::make_rules(const Params& params) {
  params.check(kName, declared());
  Rules rules;
  rules.size = static_cast<int>(params.integer("size", declared()));
  rules.length = static_cast<int>(params.integer("length", declared()));
  rules.overlines = params.text("overlines", declared()) == "win";
  rules.opens = opens_of(params, declared());
  if (rules.length > rules.size) {
    throw ParamError("gomoku.length = " + std::to_string(rules.length) +
                     ": no row of that length fits on size = " + std::to_string(rules.size));
  }
  return rules;
}

GameSpec G::spec(const Rules& rules) {
  GameSpec s = spec_of_turns(kName, "Gomoku");
  s.symmetry = Symmetry::dihedral;
  s.max_ticks = rules.size * rules.size;
  s.observation = {{.name = "board",
                    .dtype = DType::bits,
                    .shape = {3, rules.size, rules.size},
                    .low = 0.0,
                    .high = 1.0,
                    .meaning = "stones of the observing seat, of its opponent, and the last stone",
                    .labels = {"own", "opponent", "last"}}};
  std::vector<std::string> labels;
  for (int y = 0; y < rules.size; ++y) {
    for (int x = 0; x < rules.size; ++x) {
      labels.push_back(static_cast<char>('a' + x) + std::to_string(rules.size - y));
    }
  }
  s.heads = {{.name = "cell",
              .size = rules.size * rules.size,
              .labels = std::move(labels),
              .depends_on = {},
              .meaning = "where to put the stone, row by row from the top; legal on empty cells"}};
  s.params = declared();
  s.bots = {{"random", "a uniformly random empty cell"},
            {"pattern",
             "the cell whose rows promise most: stones already in every open row through it, its "
             "own before its opponent's; at random among equals"}};
  for (BotSpec& b : s.bots) b.demonstrates = true;
  s.meaning = "Five stones in a row, across, down or diagonally, win; a full board is a draw.";
  return s;
}

void G::reset(const Rules& rules, State& s, MatchSeed seed) {
  s = State{};
  s.rng = Rng(seed, 0);
  s.to_move = first_to_move(rules.opens, s.rng);
}

SeatMask G::to_act(const Rules& rules, const State& s) {
  return status(rules, s).over ? 0 : SeatMask{1} << s.to_move;
}

void G::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  check_turn(kName, status(rules, s).over, seat, s.to_move);
  const std::int32_t cell = check_choice(kName, "cell", action, rules.size * rules.size);
  const auto y = static_cast<std::size_t>(cell / rules.size);
  if (((s.stones[0][y] | s.stones[1][y]) >> cell % rules.size & 1) != 0) {
    throw GameError("gomoku: cell " + std::to_string(cell) + " is taken");
  }
  s.chosen = static_cast<std::int16_t>(cell);
}

void G::bot(const Rules& rules, State& s, int seat, int bot) {
  if (status(rules, s).over || seat != s.to_move) return;
  std::int64_t best = -1;
  std::uint32_t equals = 0;
  for (int y = 0; y < rules.size; ++y) {
    const std::uint32_t taken =
        s.stones[0][static_cast<std::size_t>(y)] | s.stones[1][static_cast<std::size_t>(y)];
    for (int x = 0; x < rules.size; ++x) {
      if ((taken >> x & 1) != 0) continue;
      const std::int64_t value = bot == kPattern ? worth(rules, s, seat, x, y) : 0;
      if (value < best) continue;
      if (value > best) equals = 0;
      best = value;
      // The n-th of equals replaces the one kept with probability 1 / n: uniform in the end.
      if (s.rng.below(++equals) == 0) s.chosen = static_cast<std::int16_t>(y * rules.size + x);
    }
  }
}

void G::bot_choice(const Rules& rules, State& s, int seat, int bot,
                   std::span<std::int32_t> action) {
  choose_by_bot<G>(rules, s, seat, bot, action);
}

void G::advance(const Rules& rules, State& s) {
  if (status(rules, s).over) return;
  check_decided(kName, s.chosen, s.to_move);
  const int x = s.chosen % rules.size;
  const int y = s.chosen / rules.size;
  auto& own = s.stones[s.to_move];
  own[static_cast<std::size_t>(y)] |= 1U << x;
  if (wins_at(rules, own, x, y)) s.winner = static_cast<std::int8_t>(s.to_move);
  s.last = s.chosen;
  s.chosen = -1;
  s.to_move ^= 1;
  ++s.tick;
}

Status G::status(const Rules& rules, const State& s) {
  return {.over = s.winner >= 0 || s.tick == rules.size * rules.size, .truncated = false};
}

void G::rewards(const Rules& rules, const State& s, std::span<float> out) {
  outcome(rules, s, out);
}

void G::outcome(const Rules&, const State& s, std::span<float> out) { pay_winner(s.winner, out); }

void G::observe(const Rules& rules, const State& s, int seat, std::span<std::byte* const> tensors) {
  BitWriter out(tensors[0]);
  const auto rows = static_cast<std::size_t>(rules.size);
  for (const int who : {seat, 1 - seat}) {
    for (std::size_t y = 0; y < rows; ++y) {
      out.put(s.stones[static_cast<std::size_t>(who)][y], rules.size);
    }
  }
  for (int y = 0; y < rules.size; ++y) {
    const bool here = s.last >= 0 && s.last / rules.size == y;
    out.put(here ? 1U << s.last % rules.size : 0U, rules.size);
  }
  out.finish();
}

void G::legal(const Rules& rules, const State& s, int, std::uint8_t* mask) {
  const bool over = status(rules, s).over;
  for (int y = 0; y < rules.size; ++y) {
    const std::uint32_t taken =
        s.stones[0][static_cast<std::size_t>(y)] | s.stones[1][static_cast<std::size_t>(y)];
    for (int x = 0; x < rules.size; ++x) *mask++ = over || (taken >> x & 1) == 0 ? 1 : 0;
  }
}

std::uint64_t G::hash(const Rules& rules, const State& s) {
  Hash64 h;
  for (const auto& stones : s.stones) {
    for (int y = 0; y < rules.size; ++y) h.add(stones[static_cast<std::size_t>(y)]);
  }
  h.add(s.to_move);
  h.add(static_cast<std::uint64_t>(s.chosen + 1));
  h.add(static_cast<std::uint64_t>(s.last + 1));
  h.add(s.tick);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string G::view(const Rules& rules, const State& s) {
  JsonWriter j;
  j.open('{').field("tick", s.tick).field("to_move", s.to_move).field("winner", s.winner);
  j.field("over", status(rules, s).over).field("width", rules.size).field("height", rules.size);
  j.field("last", s.last).key("cells").open('[');
  for (std::size_t y = 0; y < static_cast<std::size_t>(rules.size); ++y) {
    for (int x = 0; x < rules.size; ++x) {
      j.value((s.stones[0][y] >> x & 1) != 0 ? 0 : (s.stones[1][y] >> x & 1) != 0 ? 1 : -1);
    }
  }
  j.close(']').close('}');
  return std::move(j).text();
}

}  // namespace ludus
