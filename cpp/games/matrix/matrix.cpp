#include "games/matrix/matrix.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/hash.hpp"
#include "base/json.hpp"

namespace ludus {
namespace {

using M = Matrix;

enum Bot : int { kRandom, kFirst, kLast };

const std::vector<ParamSpec>& declared() {
  static const std::vector<ParamSpec> params = {
      {.name = "table",
       .kind = ParamKind::text,
       .default_value = "rock_paper_scissors",
       .choices = {},
       .meaning = "rock_paper_scissors, weighted (rock against scissors pays 1, the others 0.5), "
                  "with_copy (rock twice), disc, blotto, or payoffs to seat 0 in [-1, 1]: numbers "
                  "separated by commas, rows by semicolons"},
      {.name = "actions",
       .default_value = "30",
       .low = 3,
       .high = M::kMaxActions,
       .choices = {},
       .meaning = "of disc: points in a disc, each beats those clockwise of it"},
      {.name = "soldiers",
       .default_value = "10",
       .low = 1,
       .high = 14,
       .choices = {},
       .meaning = "of blotto: soldiers that a seat divides among three fields"},
  };
  return params;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw ParamError("matrix: table = " + text.substr(0, 60) + ": " + why);
}

void set_table(M::Rules& r, const std::vector<std::vector<float>>& rows) {
  r.rows = static_cast<int>(rows.size());
  r.columns = static_cast<int>(rows[0].size());
  for (const auto& row : rows) r.payoff.insert(r.payoff.end(), row.begin(), row.end());
}

std::vector<std::vector<float>> parse(const std::string& text) {
  std::vector<std::vector<float>> rows(1);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at != end && *at == ' ') ++at;
    double value = 0.0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !(std::abs(value) <= 1.0)) {
      refuse(text,
             "expected the name of a table or numbers in [-1, 1], as in 0,1,-1;-1,0,1;1,-1,0");
    }
    rows.back().push_back(static_cast<float>(value));
    if (rows.back().size() > M::kMaxActions || rows.size() > M::kMaxActions) {
      refuse(text, "expected at most " + std::to_string(M::kMaxActions) + " rows and columns");
    }
    at = next;
    while (at != end && *at == ' ') ++at;
    if (at == end) break;
    if (*at != ',' && *at != ';') refuse(text, "expected a comma or a semicolon after a number");
    if (*at++ == ';') rows.emplace_back();
  }
  for (const auto& row : rows) {
    if (row.size() != rows[0].size()) refuse(text, "expected rows of equal length");
  }
  if (rows.size() < 2 || rows[0].size() < 2) refuse(text, "expected at least two rows and columns");
  return rows;
}

// Balduzzi et al. 2019, "Open-ended learning in symmetric zero-sum games", section 3: payoff is the
// cross product of two points. Rounded, so that every compiler has the same table.
std::vector<std::vector<float>> disc(int n) {
  std::vector<std::array<double, 2>> points;
  Rng rng(MatchSeed{}, 0);
  for (int i = 0; i < n; ++i) {
    const double radius = 0.5 + 0.5 * rng.uniform();
    const double angle = 2.0 * std::numbers::pi * i / n;
    points.push_back({radius * std::cos(angle), radius * std::sin(angle)});
  }
  double largest = 0.0;
  const auto cross = [](const auto& a, const auto& b) { return a[1] * b[0] - a[0] * b[1]; };
  for (const auto& a : points) {
    for (const auto& b : points) largest = std::max(largest, std::abs(cross(a, b)));
  }
  std::vector<std::vector<float>> rows;
  for (const auto& a : points) {
    auto& row = rows.emplace_back();
    for (const auto& b : points) {
      row.push_back(static_cast<float>(std::round(cross(a, b) / largest * 10000.0) / 10000.0));
    }
  }
  return rows;
}

// Colonel Blotto: who has more soldiers on a field wins it; who wins more fields wins.
std::vector<std::vector<float>> blotto(int soldiers, std::vector<std::string>& labels) {
  std::vector<std::array<int, 3>> all;
  for (int a = 0; a <= soldiers; ++a) {
    for (int b = 0; a + b <= soldiers; ++b) {
      const int c = soldiers - a - b;
      all.push_back({a, b, c});
      labels.push_back(std::to_string(a) + "-" + std::to_string(b) + "-" + std::to_string(c));
    }
  }
  std::vector<std::vector<float>> rows;
  for (const auto& one : all) {
    auto& row = rows.emplace_back();
    for (const auto& other : all) {
      int fields = 0;
      for (std::size_t f = 0; f < 3; ++f) fields += (one[f] > other[f]) - (one[f] < other[f]);
      row.push_back(static_cast<float>((fields > 0) - (fields < 0)));
    }
  }
  return rows;
}

}  // namespace

M::Rules M::make_rules(const Params& params) {
  params.check(kName, declared());
  const std::string text = params.text("table", declared());
  Rules r;
  if (text == "rock_paper_scissors") {
    set_table(r, {{0, -1, 1}, {1, 0, -1}, {-1, 1, 0}});
    r.labels = {"rock", "paper", "scissors"};
  } else if (text == "weighted") {
    set_table(r, {{0, -0.5F, 1}, {0.5F, 0, -0.5F}, {-1, 0.5F, 0}});
    r.labels = {"rock", "paper", "scissors"};
  } else if (text == "with_copy") {
    set_table(r, {{0, 0, -1, 1}, {0, 0, -1, 1}, {1, 1, 0, -1}, {-1, -1, 1, 0}});
    r.labels = {"rock", "stone", "paper", "scissors"};
  } else if (text == "disc") {
    set_table(r, disc(static_cast<int>(params.integer("actions", declared()))));
  } else if (text == "blotto") {
    set_table(r, blotto(static_cast<int>(params.integer("soldiers", declared())), r.labels));
  } else {
    set_table(r, parse(text));
  }
  r.symmetric = r.rows == r.columns;
  for (int i = 0; i < r.rows && r.symmetric; ++i) {
    for (int j = 0; j <= i; ++j) r.symmetric = r.symmetric && r.at(i, j) == -r.at(j, i);
  }
  return r;
}

GameSpec M::spec(const Rules& r) {
  GameSpec s;
  s.name = kName;
  s.title = "Matrix game";
  s.seats = 2;
  s.max_ticks = 1;
  s.observation = {
      {.name = "seat",
       .dtype = DType::bits,
       .shape = {2},
       .low = 0.0,
       .high = 1.0,
       .meaning = "which seat observes; nothing is set where the table is antisymmetric",
       .labels = {"seat 0", "seat 1"}}};
  s.heads = {{.name = "action",
              .size = std::max(r.rows, r.columns),
              .labels = r.labels,
              .depends_on = {},
              .meaning = "seat 0 chooses a row, seat 1 a column"}};
  s.params = declared();
  s.bots = {{"random", "every action equally often"},
            {"first", "always the first action"},
            {"last", "always the last action"}};
  for (BotSpec& b : s.bots) b.demonstrates = true;
  s.meaning =
      "Both seats choose at once. The reward is the table's payoff p; the outcome is a win with "
      "probability |p| for the side that p favours, else a draw, so that its mean is p.";
  return s;
}

void M::reset(const Rules&, State& s, MatchSeed seed) {
  s = State{};
  s.rng = Rng(seed, 0);
}

SeatMask M::to_act(const Rules&, const State& s) { return s.tick == 0 ? 3 : 0; }

void M::act(const Rules& r, State& s, int seat, std::span<const std::int32_t> action) {
  const int size = seat == 0 ? r.rows : r.columns;
  const std::int32_t choice = action.empty() ? -1 : action[0];
  if (s.tick != 0) throw GameError("matrix: seat " + std::to_string(seat) + " is not to move");
  if (choice < 0 || choice >= size) {
    throw GameError("matrix: action " + std::to_string(choice) + " is not in [0, " +
                    std::to_string(size) + ")");
  }
  s.chosen[static_cast<std::size_t>(seat)] = static_cast<std::int16_t>(choice);
}

void M::bot(const Rules& r, State& s, int seat, int bot) {
  if (s.tick != 0) return;
  const int size = seat == 0 ? r.rows : r.columns;
  const int choice = bot == kRandom  ? static_cast<int>(s.rng.below(static_cast<unsigned>(size)))
                     : bot == kFirst ? 0
                                     : size - 1;
  s.chosen[static_cast<std::size_t>(seat)] = static_cast<std::int16_t>(choice);
}

void M::bot_choice(const Rules& r, State& s, int seat, int bot, std::span<std::int32_t> action) {
  M::bot(r, s, seat, bot);
  action[0] = std::max<std::int32_t>(s.chosen[static_cast<std::size_t>(seat)], 0);
}

void M::advance(const Rules& r, State& s) {
  if (s.tick != 0) return;
  if (s.chosen[0] < 0 || s.chosen[1] < 0) throw GameError("matrix: a seat has not decided");
  const float p = r.at(s.chosen[0], s.chosen[1]);
  if (s.rng.uniform() < std::abs(static_cast<double>(p))) {
    s.result = static_cast<std::int16_t>(p > 0.0F ? 1 : -1);
  }
  s.tick = 1;
}

Status M::status(const Rules&, const State& s) { return {.over = s.tick != 0, .truncated = false}; }

void M::rewards(const Rules& r, const State& s, std::span<float> out) {
  out[0] = s.tick != 0 ? r.at(s.chosen[0], s.chosen[1]) : 0.0F;
  out[1] = -out[0];
}

void M::outcome(const Rules&, const State& s, std::span<float> out) {
  out[0] = static_cast<float>(s.result);
  out[1] = static_cast<float>(-s.result);
}

void M::observe(const Rules& r, const State&, int seat, std::span<std::byte* const> tensors) {
  tensors[0][0] = static_cast<std::byte>(r.symmetric ? 0 : 1 << seat);
}

void M::legal(const Rules& r, const State&, int seat, std::uint8_t* mask) {
  const int size = seat == 0 ? r.rows : r.columns;
  const int all = std::max(r.rows, r.columns);
  for (int i = 0; i < all; ++i) mask[i] = i < size ? 1 : 0;
}

std::uint64_t M::hash(const Rules&, const State& s) {
  Hash64 h;
  for (const std::int16_t c : s.chosen) h.add(static_cast<std::uint64_t>(c + 1));
  h.add(static_cast<std::uint64_t>(s.result + 1));
  h.add(s.tick);
  Rng rng = s.rng;
  h.add(rng.next());
  return h.value();
}

std::string M::view(const Rules& r, const State& s) {
  JsonWriter j;
  j.open('{').field("tick", s.tick).field("over", s.tick != 0).key("actions").open('[');
  for (const std::int16_t c : s.chosen) j.value(c);
  j.close(']').field("rows", r.rows).field("columns", r.columns).field("result", s.result);
  // The table itself, so that exploitability can be computed from outside.
  j.key("payoff").open('[');
  for (const float p : r.payoff) j.value(p);
  j.close(']').close('}');
  return std::move(j).text();
}

}  // namespace ludus
