#include "games/go/go.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "game/state.hpp"
#include "game/turns.hpp"
#include "games/go/features.hpp"
#include "games/go/ops.hpp"

namespace ludus {

static_assert(HasCopy<Go> && HasRollout<Go> && HasFinalScore<Go>);

namespace {

enum Bot : int { kRandom, kTactical };

// Letters of columns leave out i, rows count from the bottom, as on every Go board.
constexpr std::string_view kColumns = "abcdefghjklmnopqrst";

// Turns of the longest match on small boards. All that is dead has to be taken off before the end,
// and its owner can put that off: matches for the whole of a 5 x 5 board took up to 113.
constexpr int kFewestMoves = 200;

std::string point_name(int size, int point) {
  return kColumns[static_cast<std::size_t>(point % size)] + std::to_string(size - point / size);
}

const std::vector<ParamSpec>& declared() {
  static const std::vector<ParamSpec> params = {
      {.name = "size",
       .kind = ParamKind::integer,
       .default_value = "9",
       .low = go::kMinSize,
       .high = go::kMaxSize,
       .choices = {},
       .meaning = "lines of the board"},
      {.name = "komi",
       .kind = ParamKind::real,
       .default_value = "7.5",
       .low = -1000,
       .high = 1000,
       .choices = {},
       .meaning = "points that White gets for moving second, in halves; whole numbers allow draws"},
      {.name = "ko",
       .kind = ParamKind::text,
       .default_value = "positional",
       .choices = {"positional", "situational", "simple", "none"},
       .meaning =
           "what may not come back: any earlier board; any earlier board with the same seat to "
           "move; only the board before the last single capture; nothing"},
      {.name = "suicide",
       .kind = ParamKind::text,
       .default_value = "forbidden",
       .choices = {"forbidden", "allowed"},
       .meaning = "moves that leave one's own chain without liberties, which takes it off"},
      {.name = "scoring",
       .kind = ParamKind::text,
       .default_value = "tromp_taylor",
       .choices = {"tromp_taylor", "chinese"},
       .meaning = "area by what stands on the board; or with stones taken off that are dead for "
                  "certain, and a point to White for every handicap stone"},
      {.name = "handicap",
       .kind = ParamKind::integer,
       .default_value = "0",
       .low = 0,
       .high = 9,
       .choices = {},
       .meaning = "black stones on the star points at the start; White moves first then"},
      {.name = "setup",
       .kind = ParamKind::text,
       .default_value = "",
       .low = 0.0,
       .high = 0.0,
       .choices = {},
       .meaning = "stones on the board at the start, as 'black d4 q16 white c3'"},
      {.name = "first",
       .kind = ParamKind::text,
       .default_value = "auto",
       .choices = {"auto", "black", "white"},
       .meaning = "who moves first; auto is Black, or White after a handicap"},
      {.name = "max_moves",
       .kind = ParamKind::integer,
       .default_value = "0",
       .low = 0,
       .high = go::kMaxTurns,
       .choices = {},
       .meaning = "turns after which the board is counted as it stands; 0 = twice the points, at "
                  "least 200"},
      {.name = "features",
       .kind = ParamKind::text,
       .default_value = "history",
       .choices = {"history", "rich"},
       .meaning = "AlphaGo Zero's 18 planes, or planes with liberties, life and ladders read"},
      {.name = "resignation",
       .kind = ParamKind::text,
       .default_value = "off",
       .choices = {"off", "on"},
       .meaning = "whether the last choice of the head gives up"},
  };
  return params;
}

// Star points in the order in which handicap stones are placed (GTP 2, section 4.1.1).
std::vector<int> star_points(int size, int stones) {
  const int near = size < 13 ? 2 : 3;
  const int far = size - 1 - near;
  const int middle = size / 2;
  const auto point = [&](int x, int from_below) { return (size - 1 - from_below) * size + x; };
  const std::vector<int> all = {point(near, near),   point(far, far),     point(near, far),
                                point(far, near),    point(near, middle), point(far, middle),
                                point(middle, near), point(middle, far)};
  std::vector<int> chosen(all.begin(), all.begin() + std::min(stones, 8));
  if (stones == 5 || stones == 7 || stones == 9) {
    if (stones != 9) chosen.pop_back();
    chosen.push_back(point(middle, middle));
  }
  return chosen;
}

int most_handicap(int size) { return size < 7 ? 0 : size == 7 || size % 2 == 0 ? 4 : 9; }

[[noreturn]] void bad_setup(const std::string& what) { throw ParamError("go.setup: " + what); }

// 'black d4 q16 white c3': colours name whose stones the points after them are.
void read_setup(const std::string& text, Go::Rules& rules) {
  int colour = -1;
  std::vector<bool> taken(static_cast<std::size_t>(rules.points()));
  for (const Go::Stone& s : rules.setup) taken[static_cast<std::size_t>(s.point)] = true;
  for (std::size_t from = 0; from < text.size();) {
    if (text[from] == ' ') {
      ++from;
      continue;
    }
    const std::size_t to = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, std::min<std::size_t>(to - from, 20));
    from = to;
    if (word == "black" || word == "white") {
      colour = word == "black" ? go::kBlack : go::kWhite;
      continue;
    }
    if (colour < 0) bad_setup("'" + word + "': expected black or white first");
    const std::size_t x = kColumns.find(word[0]);
    int row = 0;
    const char* end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data() + 1, end, row);
    if (x >= static_cast<std::size_t>(rules.size) || parsed.ec != std::errc{} ||
        parsed.ptr != end || row < 1 || row > rules.size) {
      bad_setup("'" + word + "': expected a point from a1 to " +
                point_name(rules.size, rules.size - 1));
    }
    const int point = (rules.size - row) * rules.size + static_cast<int>(x);
    if (taken[static_cast<std::size_t>(point)]) bad_setup("two stones on " + word);
    taken[static_cast<std::size_t>(point)] = true;
    rules.setup.push_back({static_cast<std::uint8_t>(colour), static_cast<std::int16_t>(point)});
  }
}

// Stones are put down one by one: each chain must have a liberty when all of them stand.
void check_setup(const Go::Rules& rules) {
  if (rules.setup.empty()) return;
  std::vector<int> board(static_cast<std::size_t>(rules.points()), go::kNone);
  for (const Go::Stone& s : rules.setup) board[static_cast<std::size_t>(s.point)] = s.colour;
  std::vector<bool> free(board.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (int p = 0; p < rules.points(); ++p) {
      const auto i = static_cast<std::size_t>(p);
      if (board[i] == go::kNone || free[i]) continue;
      const std::array<int, 4> neighbours = {p % rules.size > 0 ? p - 1 : -1,
                                             p % rules.size < rules.size - 1 ? p + 1 : -1,
                                             p - rules.size, p + rules.size};
      for (const int q : neighbours) {
        if (q < 0 || q >= rules.points()) continue;
        const auto j = static_cast<std::size_t>(q);
        if (board[j] == go::kNone || (board[j] == board[i] && free[j])) free[i] = changed = true;
      }
    }
  }
  for (const Go::Stone& s : rules.setup) {
    if (!free[static_cast<std::size_t>(s.point)]) {
      bad_setup("the stone on " + point_name(rules.size, s.point) + " has no liberty");
    }
  }
}

std::uint32_t taken_by(int seat, int stones) {
  return static_cast<std::uint32_t>(stones) << (seat == go::kBlack ? 0 : 16);
}

}  // namespace

Go::Rules Go::make_rules(const Params& params) {
  params.check(kName, declared());
  const auto text = [&](const char* name) { return params.text(name, declared()); };
  const auto integer = [&](const char* name) {
    return static_cast<int>(params.integer(name, declared()));
  };
  Rules r;
  r.size = integer("size");
  const double komi2 = 2.0 * params.real("komi", declared());
  if (komi2 != std::floor(komi2)) {
    throw ParamError("go.komi = " + text("komi") + ": expected a multiple of 0.5");
  }
  r.komi2 = static_cast<int>(komi2);
  const std::string ko = text("ko");
  r.ko = ko == "positional"    ? go::Ko::positional
         : ko == "situational" ? go::Ko::situational
         : ko == "simple"      ? go::Ko::simple
                               : go::Ko::none;
  r.suicide = text("suicide") == "allowed";
  r.scoring = text("scoring") == "chinese" ? Scoring::chinese : Scoring::tromp_taylor;
  r.features = text("features") == "rich" ? Features::rich : Features::history;
  r.resignation = text("resignation") == "on";
  const int max_moves = integer("max_moves");
  r.max_moves = max_moves > 0 ? max_moves : std::max(2 * r.points(), kFewestMoves);
  r.handicap = integer("handicap");
  if (r.handicap == 1 || r.handicap > most_handicap(r.size)) {
    throw ParamError("go.handicap = " + std::to_string(r.handicap) + ": expected 0 or 2 to " +
                     std::to_string(most_handicap(r.size)) +
                     " on size = " + std::to_string(r.size));
  }
  for (const int p : star_points(r.size, r.handicap)) {
    r.setup.push_back({go::kBlack, static_cast<std::int16_t>(p)});
  }
  read_setup(text("setup"), r);
  check_setup(r);
  const std::string first = text("first");
  r.first = first == "white" || (first == "auto" && r.handicap > 0) ? go::kWhite : go::kBlack;
  r.ops = &go::ops_of(r.size);
  return r;
}

GameSpec Go::spec(const Rules& rules) {
  GameSpec s = spec_of_turns(kName, "Go");
  s.version = 2;  // 2: small boards get 200 turns
  s.symmetry = Symmetry::dihedral;
  s.max_ticks = rules.max_moves;
  s.counted_cells = rules.points();
  TensorSpec planes{.name = "planes",
                    .dtype = DType::bits,
                    .shape = {18, rules.size, rules.size},
                    .low = 0.0,
                    .high = 1.0,
                    .meaning =
                        "stones of the observing seat and of its opponent now and in the seven "
                        "positions before, newest first; whose turn it is",
                    .labels = {}};
  if (rules.features == Features::history) {
    for (int t = 0; t <= go::kPast; ++t) {
      planes.labels.push_back("own_" + std::to_string(t));
      planes.labels.push_back("opponent_" + std::to_string(t));
    }
    planes.labels.insert(planes.labels.end(), {"black_to_move", "white_to_move"});
  } else {
    planes.meaning =
        "the position read: stones, chains of one to three liberties, forbidden points, "
        "recent moves, what is alive for certain, ladders, whose turn it is";
    planes.shape[0] = go::kRichPlanes;
    planes.labels = {"own",
                     "opponent",
                     "own_1_liberty",
                     "own_2_liberties",
                     "own_3_liberties",
                     "opponent_1_liberty",
                     "opponent_2_liberties",
                     "opponent_3_liberties",
                     "forbidden",
                     "move_1_ago",
                     "move_2_ago",
                     "move_3_ago",
                     "move_4_ago",
                     "move_5_ago",
                     "own_alive",
                     "opponent_alive",
                     "own_laddered",
                     "opponent_laddered",
                     "starts_ladder",
                     "black_to_move",
                     "white_to_move",
                     "passed",
                     "board"};
  }
  s.observation = {std::move(planes)};
  HeadSpec head{.name = "point",
                .size = rules.points() + 1 + (rules.resignation ? 1 : 0),
                .labels = {},
                .depends_on = {},
                .meaning = "where to put a stone, row by row from the top, or to pass"};
  for (int p = 0; p < rules.points(); ++p) head.labels.push_back(point_name(rules.size, p));
  head.labels.emplace_back("pass");
  if (rules.resignation) head.labels.emplace_back("resign");
  s.heads = {std::move(head)};
  s.params = declared();
  s.bots = {{"random", "a uniformly random move that fills no eye of its own, else a pass"},
            {"tactical",
             "takes the largest chain in atari, else saves its own where that gives two liberties, "
             "else random"}};
  for (BotSpec& b : s.bots) b.demonstrates = true;
  s.meaning =
      "Surround more than the opponent: stones without liberties are taken, and the larger "
      "area wins when both pass.";
  return s;
}

void Go::reset(const Rules& rules, State& s, MatchSeed seed) {
  s = State{};
  s.rng = Rng(seed, 0);
  s.to_move = static_cast<std::uint8_t>(rules.first);
  rules.ops->clear(rules, s);
}

SeatMask Go::to_act(const Rules&, const State& s) {
  return s.over != 0 ? 0 : SeatMask{1} << s.to_move;
}

void Go::act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action) {
  check_turn(kName, s.over != 0, seat, s.to_move);
  const int last = rules.resignation ? rules.resign() : rules.pass();
  const std::int32_t move = check_choice(kName, "point", action, last + 1);
  if (move < rules.pass() && !rules.ops->legal(rules, s, seat, move)) {
    throw GameError("go: " + point_name(rules.size, move) +
                    (stone(rules, s, move) == go::kNone ? " is forbidden" : " is taken"));
  }
  s.chosen = static_cast<std::int16_t>(move);
}

void Go::bot(const Rules& rules, State& s, int seat, int bot) {
  if (s.over != 0 || seat != s.to_move) return;
  const auto choose = bot == kTactical ? rules.ops->tactical_move : rules.ops->random_move;
  s.chosen = static_cast<std::int16_t>(choose(rules, s, seat, s.rng));
}

void Go::bot_choice(const Rules& rules, State& s, int seat, int bot,
                    std::span<std::int32_t> action) {
  choose_by_bot<Go>(rules, s, seat, bot, action);
}

void Go::advance(const Rules& rules, State& s) {
  if (s.over != 0) return;
  check_decided(kName, s.chosen, s.to_move);
  const int move = s.chosen;
  s.chosen = -1;
  ++s.tick;
  if (move == rules.resign()) {
    s.resigned = static_cast<std::int8_t>(s.to_move);
    s.over = 1;
    return;
  }
  const int removed = rules.ops->play(rules, s, move);
  const bool suicide = move < rules.pass() && stone(rules, s, move) == go::kNone;
  s.captured += taken_by(suicide ? 1 - s.to_move : s.to_move, removed);
  s.passes = move == rules.pass() ? static_cast<std::uint8_t>(s.passes + 1) : 0;
  s.to_move ^= 1;
  if (s.passes >= 2 || s.tick >= static_cast<std::uint32_t>(rules.max_moves)) {
    s.over = 1;
    s.margin2 = static_cast<std::int16_t>(margin2(rules, s));
  }
}

void Go::rewards(const Rules& rules, const State& s, std::span<float> out) {
  outcome(rules, s, out);
}

void Go::outcome(const Rules&, const State& s, std::span<float> out) {
  int black = 0;
  if (s.over != 0) {
    black =
        s.resigned >= 0 ? (s.resigned == go::kBlack ? -1 : 1) : (s.margin2 > 0) - (s.margin2 < 0);
  }
  out[0] = static_cast<float>(black);
  out[1] = static_cast<float>(-black);
}

void Go::observe(const Rules& rules, const State& s, int seat,
                 std::span<std::byte* const> tensors) {
  rules.ops->observe(rules, s, seat, tensors);
}

void Go::legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask) {
  rules.ops->mask(rules, s, seat, mask);
  mask[rules.pass()] = 1;
  if (rules.resignation) mask[rules.resign()] = 1;
}

std::uint64_t Go::hash(const Rules& rules, const State& s) {
  Hash64 h;
  h.add(rules.ops->path(s));
  h.add(s.to_move | static_cast<std::uint64_t>(s.passes) << 8 |
        static_cast<std::uint64_t>(s.over) << 16 |
        static_cast<std::uint64_t>(static_cast<std::uint8_t>(s.resigned)) << 24);
  h.add(static_cast<std::uint64_t>(s.chosen + 1));
  h.add(static_cast<std::uint64_t>(s.margin2 + 0x8000));
  h.add(s.tick);
  h.add(s.captured);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string Go::view(const Rules& rules, const State& s) {
  JsonWriter j;
  j.open('{').field("tick", s.tick).field("to_move", s.to_move).field("over", s.over != 0);
  int winner = -1;
  std::array<float, 2> result{};
  outcome(rules, s, result);
  if (s.over != 0 && result[0] != 0.0F) winner = result[0] > 0 ? 0 : 1;
  j.field("winner", winner).field("width", rules.size).field("height", rules.size);
  j.field("last", rules.ops->last_move(s)).field("ko", rules.ops->ko_point(s));
  j.field("passes", s.passes).field("resigned", s.resigned).field("komi", rules.komi2 / 2.0);
  j.key("captured").open('[').value(s.captured & 0xffff).value(s.captured >> 16).close(']');
  j.field("margin", margin2(rules, s) / 2.0).key("cells").open('[');
  for (int p = 0; p < rules.points(); ++p) {
    const int c = stone(rules, s, p);
    j.value(c == go::kNone ? -1 : c);
  }
  j.close(']').close('}');
  return std::move(j).text();
}

void Go::copy(const Rules& rules, State& to, const State& from) {
  std::memcpy(static_cast<void*>(&to), &from,
              offsetof(State, position) + rules.ops->live_bytes(from));
}

int Go::rollout(const Rules& rules, const State& s, Rng& rng, std::span<float> out) {
  if (s.over != 0) {
    outcome(rules, s, out);
    return 0;
  }
  int turns = 0;
  const int points = rules.ops->playout(rules, s, rng, turns);
  const int bonus = rules.scoring == Scoring::chinese ? 2 * rules.handicap : 0;
  const int margin = 2 * points - rules.komi2 - bonus;
  out[0] = static_cast<float>((margin > 0) - (margin < 0));
  out[1] = -out[0];
  return turns;
}

std::optional<float> Go::final_score(const Rules& rules, const State& s,
                                     std::span<std::int8_t> owner) {
  if (s.over == 0 || s.resigned >= 0) return std::nullopt;
  rules.ops->owner(rules, s, owner);
  return static_cast<float>(s.margin2) / 2.0F;
}

int Go::stone(const Rules& rules, const State& s, int point) { return rules.ops->stone(s, point); }

bool Go::is_legal(const Rules& rules, const State& s, int seat, int move) {
  return move >= 0 && move <= rules.pass() && rules.ops->legal(rules, s, seat, move);
}

int Go::margin2(const Rules& rules, const State& s) {
  const int bonus = rules.scoring == Scoring::chinese ? 2 * rules.handicap : 0;
  return 2 * rules.ops->margin(rules, s) - rules.komi2 - bonus;
}

int Go::margin2_without(const Rules& rules, const State& s, std::span<const int> dead) {
  const int bonus = rules.scoring == Scoring::chinese ? 2 * rules.handicap : 0;
  return 2 * rules.ops->margin_without(rules, s, dead) - rules.komi2 - bonus;
}

std::vector<float> Go::ownership(const Rules& rules, const State& s, int playouts, Rng rng) {
  std::vector<int> sums;
  rules.ops->owners(rules, s, playouts, rng, sums);
  std::vector<float> shares;
  for (const int n : sums) shares.push_back(static_cast<float>(n) / static_cast<float>(playouts));
  return shares;
}

std::vector<int> Go::dead_stones(const Rules& rules, const State& s, int playouts, Rng rng) {
  std::vector<int> alive;
  std::vector<int> dead;
  rules.ops->settled(rules, s, alive, dead);
  if (playouts > 0) {
    std::vector<int> sums;
    rules.ops->owners(rules, s, playouts, rng, sums);
    for (int p = 0; p < rules.points(); ++p) {
      const int c = stone(rules, s, p);
      if (c == go::kNone || std::ranges::count(alive, p) > 0 || std::ranges::count(dead, p) > 0) {
        continue;
      }
      const int own =
          c == go::kBlack ? sums[static_cast<std::size_t>(p)] : -sums[static_cast<std::size_t>(p)];
      if (2 * own < -playouts) dead.push_back(p);  // the opponent's in three of four continuations
    }
  }
  std::ranges::sort(dead);
  return dead;
}

void Go::resume(State& s, int seat) {
  if (s.resigned >= 0) return;
  s.over = 0;
  s.passes = 0;
  s.margin2 = 0;
  s.chosen = -1;
  s.to_move = static_cast<std::uint8_t>(seat);
}

bool Go::ladder_takes(const Rules& rules, const State& s, int point, bool owner_moves) {
  return rules.ops->ladder_takes(s, point, owner_moves);
}

Go::Ladder Go::read_ladder(const Rules& rules, const State& s, int point, bool owner_moves,
                           int budget) {
  return rules.ops->read_ladder(s, point, owner_moves, budget);
}

}  // namespace ludus
