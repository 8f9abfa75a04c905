// Foragers: two collectors on a small grid race for gems. A complete game outside the Ludus tree.
//
// Both seats move at the same time: stay, north, east, south or west. Who steps on a gem takes it,
// and another appears. If both want the same cell, or want to swap cells, neither moves. Five gems
// win at once; after the last tick the larger heap wins.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/hash.hpp"
#include "base/json.hpp"
#include "game/game.hpp"

struct Foragers {
  static constexpr const char* kName = "foragers";
  static constexpr int kSide = 7;
  static constexpr int kCells = kSide * kSide;
  static constexpr int kMoves = 5;
  enum Bot : int { kRandom, kGreedy };

  struct Rules {
    int gems = 3;     // on the grid at any time
    int goal = 5;     // gems that win at once
    int ticks = 60;   // length of a match
    int pillars = 4;  // walls
  };

  // A set of cells is a bit board: bit (y * 7 + x).
  struct State {
    ludus::Rng rng;
    std::uint64_t gems = 0;
    std::uint64_t walls = 0;
    std::array<std::uint8_t, 2> at{};
    std::array<std::uint8_t, 2> wants{};  // the queued moves
    std::array<std::uint8_t, 2> heap{};   // gems taken
    std::array<std::uint8_t, 2> took{};   // in the last tick
    std::uint64_t tick = 0;               // wide, so that there is no padding
  };

  static const std::vector<ludus::ParamSpec>& declared() {
    using ludus::ParamKind;
    static const std::vector<ludus::ParamSpec> params = {
        {"gems", ParamKind::integer, "3", 1, 9, {}, "gems on the grid at any time"},
        {"goal", ParamKind::integer, "5", 1, 50, {}, "gems that win at once"},
        {"ticks", ParamKind::integer, "60", 1, 1000, {}, "length of a match"},
        {"pillars", ParamKind::integer, "4", 0, 9, {}, "walls, drawn from nine places"},
    };
    return params;
  }

  static Rules make_rules(const ludus::Params& params) {
    params.check(kName, declared());
    const auto get = [&](const char* name) {
      return static_cast<int>(params.integer(name, declared()));
    };
    return {get("gems"), get("goal"), get("ticks"), get("pillars")};
  }

  static ludus::GameSpec spec(const Rules& rules) {
    ludus::GameSpec s;
    s.name = kName;
    s.title = "Foragers";
    s.version = 1;
    s.seats = 2;
    s.perfect_information = true;
    s.max_ticks = rules.ticks;
    s.observation = {{.name = "planes",
                      .dtype = ludus::DType::u8,
                      .shape = {4, kSide, kSide},
                      .low = 0,
                      .high = 1,
                      .meaning = "where everything is, seen from the seat",
                      .labels = {"own", "opponent", "gems", "walls"}},
                     {.name = "heaps",
                      .dtype = ludus::DType::f32,
                      .shape = {3},
                      .low = 0,
                      .high = 1,
                      .meaning = "gems of the seat and of its opponent over the goal, time left",
                      .labels = {"own", "opponent", "time_left"}},
                     {.name = "compass",
                      .dtype = ludus::DType::f32,
                      .shape = {4},
                      .low = -1,
                      .high = 1,
                      .meaning = "way to the nearest gem and to the opponent, in sides of the grid",
                      .labels = {"gem_east", "gem_south", "opponent_east", "opponent_south"}}};
    s.heads = {{.name = "move",
                .size = kMoves,
                .labels = {"stay", "north", "east", "south", "west"},
                .depends_on = {},
                .meaning = "the neighbouring cell to go to"}};
    s.params = declared();
    s.bots = {{"random", "a random legal move"},
              {"greedy", "a shortest way to the nearest gem, whatever the opponent does"}};
    s.meaning = "Two collectors race for gems on a 7x7 grid with pillars.";
    return s;
  }

  static void reset(const Rules& rules, State& s, ludus::MatchSeed seed) {
    s = State{};
    s.rng = ludus::Rng(seed, 0);
    // Pillars are where both coordinates are odd: they can never cut the grid in two.
    for (int left = rules.pillars; left > 0;) {
      const auto i = static_cast<int>(s.rng.below(9));
      const std::uint64_t cell = bit((2 * (i / 3) + 1) * kSide + 2 * (i % 3) + 1);
      if ((s.walls & cell) != 0) continue;
      s.walls |= cell;
      --left;
    }
    s.at[0] = draw_free(s);
    do s.at[1] = draw_free(s);
    while (s.at[1] == s.at[0]);
    for (int i = 0; i < rules.gems; ++i) s.gems |= bit(draw_free(s));
  }

  static ludus::SeatMask to_act(const Rules& rules, const State& s) {
    return status(rules, s).over ? 0 : 3;
  }

  static void act(const Rules&, State& s, int seat, std::span<const std::int32_t> action) {
    const std::int32_t move = action.empty() ? -1 : action[0];
    if (move < 0 || move >= kMoves || target(s, s.at[index(seat)], move) < 0) {
      throw ludus::GameError("foragers: move " + std::to_string(move) + " of seat " +
                             std::to_string(seat) + " leads into a wall");
    }
    s.wants[index(seat)] = static_cast<std::uint8_t>(move);
  }

  static void bot(const Rules&, State& s, int seat, int bot) {
    const int from = s.at[index(seat)];
    int legal[kMoves];
    int best[kMoves];
    std::uint32_t legal_count = 0;
    std::uint32_t best_count = 0;
    // Cells one step nearer to a gem than `from`: the gems' neighbourhood grows until it gets
    // there.
    std::uint64_t nearer = 0;
    for (std::uint64_t near = s.gems; (near & bit(from)) == 0; near = grow(near, s.walls)) {
      nearer = near;
      if (grow(near, s.walls) == near) break;
    }
    for (int move = 0; move < kMoves; ++move) {
      const int to = target(s, from, move);
      if (to < 0) continue;
      legal[legal_count++] = move;
      if ((nearer & bit(to)) != 0) best[best_count++] = move;
    }
    const bool greedy = bot == kGreedy && best_count > 0;
    const std::uint32_t pick = s.rng.below(greedy ? best_count : legal_count);
    s.wants[index(seat)] = static_cast<std::uint8_t>(greedy ? best[pick] : legal[pick]);
  }

  static void advance(const Rules& rules, State& s) {
    if (status(rules, s).over) return;
    const int to0 = target(s, s.at[0], s.wants[0]);
    const int to1 = target(s, s.at[1], s.wants[1]);
    const bool swap = to0 == s.at[1] && to1 == s.at[0];
    if (to0 != to1 && !swap)
      s.at = {static_cast<std::uint8_t>(to0), static_cast<std::uint8_t>(to1)};
    for (const int seat : {0, 1}) {
      const std::uint64_t here = bit(s.at[index(seat)]);
      s.took[index(seat)] = (s.gems & here) != 0 ? 1 : 0;
      s.heap[index(seat)] += s.took[index(seat)];
      s.gems &= ~here;
    }
    while (std::popcount(s.gems) < rules.gems) s.gems |= bit(draw_free(s));
    s.wants = {};
    ++s.tick;
  }

  static std::uint32_t tick(const State& s) { return static_cast<std::uint32_t>(s.tick); }

  static ludus::Status status(const Rules& rules, const State& s) {
    const bool over = s.tick >= static_cast<std::uint64_t>(rules.ticks) ||
                      s.heap[0] >= rules.goal || s.heap[1] >= rules.goal;
    return {.over = over, .truncated = false};
  }

  // A tenth for every gem (taken from the opponent's account), and the outcome at the end.
  static void rewards(const Rules& rules, const State& s, std::span<float> out) {
    const bool over = status(rules, s).over;
    if (over) outcome(rules, s, out);
    for (const int seat : {0, 1}) {
      const float gem = 0.1F * static_cast<float>(s.took[index(seat)] - s.took[index(1 - seat)]);
      out[index(seat)] = (over ? out[index(seat)] : 0.0F) + gem;
    }
  }

  static void outcome(const Rules&, const State& s, std::span<float> out) {
    const int lead = s.heap[0] - s.heap[1];
    out[0] = lead > 0 ? 1.0F : lead < 0 ? -1.0F : 0.0F;
    out[1] = -out[0] + 0.0F;
  }

  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors) {
    const std::array<std::uint64_t, 4> planes = {bit(s.at[index(seat)]), bit(s.at[index(1 - seat)]),
                                                 s.gems, s.walls};
    for (int p = 0; p < 4; ++p) {
      for (int c = 0; c < kCells; ++c) {
        tensors[0][p * kCells + c] = static_cast<std::byte>(planes[index(p)] >> c & 1U);
      }
    }
    const auto share = [&](int n) {
      return static_cast<float>(n) / static_cast<float>(rules.goal);
    };
    const float heaps[3] = {share(s.heap[index(seat)]), share(s.heap[index(1 - seat)]),
                            1.0F - static_cast<float>(s.tick) / static_cast<float>(rules.ticks)};
    std::memcpy(tensors[1], heaps, sizeof heaps);
    const int from = s.at[index(seat)];
    const int gem = nearest_gem(s, from);
    const int other = s.at[index(1 - seat)];
    const auto way = [](int to, int from_there) {
      return static_cast<float>(to - from_there) / static_cast<float>(kSide);
    };
    const float compass[4] = {way(gem % kSide, from % kSide), way(gem / kSide, from / kSide),
                              way(other % kSide, from % kSide), way(other / kSide, from / kSide)};
    std::memcpy(tensors[2], compass, sizeof compass);
  }

  static void legal(const Rules&, const State& s, int seat, std::uint8_t* mask) {
    for (int move = 0; move < kMoves; ++move) {
      mask[move] = target(s, s.at[index(seat)], move) >= 0 ? 1 : 0;
    }
  }

  static std::uint64_t hash(const Rules&, const State& s) {
    ludus::Hash64 h;
    h.add_bytes(&s, sizeof s);  // no padding: asserted below
    return h.value();
  }

  static std::string view(const Rules& rules, const State& s) {
    ludus::JsonWriter j;
    j.open('{').field("tick", s.tick).field("over", status(rules, s).over).key("grid").open('[');
    for (int y = 0; y < kSide; ++y) {
      std::string row;
      for (int x = 0; x < kSide; ++x) {
        const int c = y * kSide + x;
        row += c == s.at[0]              ? '0'
               : c == s.at[1]            ? '1'
               : (s.gems & bit(c)) != 0  ? '*'
               : (s.walls & bit(c)) != 0 ? '#'
                                         : '.';
      }
      j.value(row);
    }
    j.close(']').key("heap").open('[').value(s.heap[0]).value(s.heap[1]).close(']').close('}');
    return std::move(j).text();
  }

 private:
  static constexpr std::uint64_t kAll = (std::uint64_t{1} << kCells) - 1;
  static constexpr std::uint64_t kWestEdge = 0x0000040810204081ULL;  // x = 0 in every row
  static constexpr std::uint64_t kEastEdge = kWestEdge << (kSide - 1);

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static std::uint64_t bit(int cell) { return std::uint64_t{1} << cell; }

  // A set of cells and all their neighbours that are not walls.
  static std::uint64_t grow(std::uint64_t set, std::uint64_t walls) {
    const std::uint64_t wide = set | (set & ~kEastEdge) << 1 | (set & ~kWestEdge) >> 1;
    return (wide | set << kSide | set >> kSide) & kAll & ~walls;
  }

  // The gem with the fewest steps to it as the crow flies; the first such cell.
  static int nearest_gem(const State& s, int from) {
    int best = from;
    int best_steps = 2 * kSide;
    for (std::uint64_t left = s.gems; left != 0; left &= left - 1) {
      const int cell = std::countr_zero(left);
      const int steps =
          std::abs(cell % kSide - from % kSide) + std::abs(cell / kSide - from / kSide);
      if (steps < best_steps) {
        best = cell;
        best_steps = steps;
      }
    }
    return best;
  }

  // The cell that a move leads to, or -1.
  static int target(const State& s, int from, int move) {
    const int x = from % kSide;
    const int y = from / kSide;
    constexpr std::array<int, kMoves> kDx = {0, 0, 1, 0, -1};
    constexpr std::array<int, kMoves> kDy = {0, -1, 0, 1, 0};
    const int nx = x + kDx[index(move)];
    const int ny = y + kDy[index(move)];
    if (nx < 0 || ny < 0 || nx >= kSide || ny >= kSide) return -1;
    const int to = ny * kSide + nx;
    return (s.walls & bit(to)) != 0 ? -1 : to;
  }

  // A cell without wall, gem or collector. (Before they are placed both collectors are in the
  // corner, which costs nothing but that corner.)
  static std::uint8_t draw_free(State& s) {
    const std::uint64_t taken = s.gems | s.walls | bit(s.at[0]) | bit(s.at[1]);
    int cell = 0;
    do cell = static_cast<int>(s.rng.below(kCells));
    while ((taken & bit(cell)) != 0);
    return static_cast<std::uint8_t>(cell);
  }
};

static_assert(ludus::Game<Foragers>);
static_assert(std::has_unique_object_representations_v<Foragers::State>);
