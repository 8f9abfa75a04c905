#include "games/pommerman/rules.hpp"

#include <algorithm>

namespace ludus::pommerman {
namespace {

constexpr int kSearchDepth = 10;  // of SimpleAgent

// Cells that SimpleAgent looks at: within ten steps ignoring walls, and in a window whose lower and
// right ends are excluded.
void fill_reach(Rules& rules) {
  const int n = rules.size;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      CellSet& reach = rules.in_reach[cell_at(r, c)];
      for (int y = std::max(0, r - kSearchDepth); y < std::min(n, r + kSearchDepth); ++y) {
        for (int x = std::max(0, c - kSearchDepth); x < std::min(n, c + kSearchDepth); ++x) {
          if (std::abs(y - r) + std::abs(x - c) <= kSearchDepth) reach.add(cell_at(y, x));
        }
      }
    }
  }
}

// The board before anything is drawn at random: agents' corners stay free, and with four agents
// fixed wooden walls stand between them. What is left, off the main diagonal, may get walls.
void plan_board(Rules& rules) {
  const int n = rules.size;
  rules.empty.fill(kOutside);
  std::array<std::array<bool, kMaxSize>, kMaxSize> taken{};
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      rules.empty[cell_at(r, c)] = kPassage;
      rules.flat[cell_at(r, c)] = static_cast<std::uint8_t>(r * n + c);
    }
  }
  const auto take = [&](int r, int c) {
    taken[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = true;
  };
  const bool four = rules.seats == kAgents;
  if (four) {
    rules.start = {cell_at(1, 1), cell_at(n - 2, 1), cell_at(n - 2, n - 2), cell_at(1, n - 2)};
  } else {
    rules.start = {cell_at(1, 1), cell_at(n - 2, n - 2), 0, 0};
  }
  for (int a = 0; a < rules.seats; ++a) {
    const Cell cell = rules.start[static_cast<std::size_t>(a)];
    take(row_of(cell), column_of(cell));
  }
  for (const int i : {2, 3}) {
    for (const auto& [r, c] : {std::array{1, i}, {i, 1}, {n - 2, n - 1 - i}, {n - 1 - i, n - 2}}) {
      take(r, c);
    }
    if (!four) continue;
    for (const auto& [r, c] : {std::array{1, n - 1 - i}, {n - 1 - i, 1}, {i, n - 2}, {n - 2, i}}) {
      take(r, c);
    }
  }
  for (int i = 4; four && i <= n - 5; ++i) {
    for (const auto& [r, c] :
         {std::array{1, i}, {n - 1 - i, 1}, {n - 2, n - 1 - i}, {n - 1 - i, n - 2}}) {
      rules.empty[cell_at(r, c)] = kWood;
      take(r, c);
    }
  }
  for (int r = 0; r < n; ++r) {
    for (int c = r + 1; c < n; ++c) {
      if (!taken[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]) {
        rules.mirrored.push_back({cell_at(r, c), cell_at(c, r)});
      }
    }
  }
}

}  // namespace

const std::vector<ParamSpec>& declared() {
  static const std::vector<ParamSpec> params = {
      {.name = "mode",
       .kind = ParamKind::text,
       .default_value = "ffa",
       .choices = {"ffa", "team", "radio", "one_vs_one"},
       .meaning = "everyone for themselves; seats 0 and 2 against 1 and 3; the same with messages "
                  "of two words to the teammate; two seats on an 8x8 board"},
      {.name = "fog",
       .default_value = "0",
       .low = 0,
       .high = 1,
       .choices = {},
       .meaning =
           "1: a seat sees 4 cells around itself, and blast strength ends at 4 instead of 10"},
      {.name = "collapse",
       .default_value = "0",
       .low = 0,
       .high = 1,
       .choices = {},
       .meaning = "1: the outer rings turn to rigid wall one after the other"},
      {.name = "collapse_from",
       .default_value = "500",
       .low = 1,
       .high = 10'000,
       .choices = {},
       .meaning = "step of the first collapse; four follow each other evenly until max_steps"},
      {.name = "max_steps",
       .default_value = "800",
       .low = 1,
       .high = 10'000,
       .choices = {},
       .meaning = "steps after which a match is a tie"},
      {.name = "mask",
       .kind = ParamKind::text,
       .default_value = "useful",
       .choices = {"all", "useful", "careful"},
       .meaning =
           "which actions are offered (all are accepted): all six; those that are not Stop by "
           "another name; of these, no step into flames, or into a bomb that cannot be kicked"},
      {.name = "reward",
       .kind = ParamKind::text,
       .default_value = "result",
       .choices = {"result", "original"},
       .meaning = "the result once, when it is certain; or the original's list, which pays a dead "
                  "agent of ffa -1 at every step"},
      {.name = "reward_pickup",
       .kind = ParamKind::real,
       .default_value = "0",
       .low = -1,
       .high = 1,
       .choices = {},
       .meaning = "added for each power-up that the seat picks up"},
      {.name = "reward_wood",
       .kind = ParamKind::real,
       .default_value = "0",
       .low = -1,
       .high = 1,
       .choices = {},
       .meaning = "added for each wooden wall that the seat's bombs break"},
      {.name = "reward_kill",
       .kind = ParamKind::real,
       .default_value = "0",
       .low = -1,
       .high = 1,
       .choices = {},
       .meaning = "added for each enemy that dies while the seat lives"},
  };
  return params;
}

Rules make_rules(const Params& params) {
  params.check("pommerman", declared());
  Rules rules;
  const std::string mode = params.text("mode", declared());
  rules.mode = mode == "ffa"     ? Mode::ffa
               : mode == "team"  ? Mode::team
               : mode == "radio" ? Mode::radio
                                 : Mode::one_vs_one;
  rules.fog = params.integer("fog", declared()) != 0;
  rules.collapse = params.integer("collapse", declared()) != 0;
  rules.max_steps = static_cast<int>(params.integer("max_steps", declared()));
  const auto from = static_cast<int>(params.integer("collapse_from", declared()));
  const int gap = std::max(1, (rules.max_steps - from) / kCollapses);
  for (int i = 0; i < kCollapses; ++i) {
    rules.collapse_at[static_cast<std::size_t>(i)] = from + i * gap;
  }
  const std::string mask = params.text("mask", declared());
  rules.mask = mask == "all" ? Mask::all : mask == "useful" ? Mask::useful : Mask::careful;
  rules.pay = params.text("reward", declared()) == "result" ? Pay::result : Pay::original;
  rules.reward_pickup = static_cast<float>(params.real("reward_pickup", declared()));
  rules.reward_wood = static_cast<float>(params.real("reward_wood", declared()));
  rules.reward_kill = static_cast<float>(params.real("reward_kill", declared()));
  // The original's cap on blast strength is its view radius where it has one.
  rules.max_blast = rules.fog ? kViewRadius : 10;
  if (rules.mode == Mode::one_vs_one) {
    rules.size = 8;
    rules.seats = 2;
    rules.rigid = rules.wood = 16;
    rules.items = 10;
  }
  plan_board(rules);
  fill_reach(rules);
  return rules;
}

Rules bare_rules(int size) {
  Rules rules;
  rules.size = size;
  rules.rigid = rules.wood = rules.items = 0;
  plan_board(rules);
  std::replace(rules.empty.begin(), rules.empty.end(), std::uint8_t{kWood}, std::uint8_t{kPassage});
  fill_reach(rules);
  return rules;
}

}  // namespace ludus::pommerman
