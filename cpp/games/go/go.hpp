// Go on boards of 2 to 19 lines. Rules apart from faces: board.hpp (stones, chains), position.hpp
// (ko, the past), scoring.hpp (area, life), ladder.hpp, features.hpp and playout.hpp are templates
// over the size; Ops is the one place where a size becomes a type, once a call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "game/game.hpp"
#include "games/go/position.hpp"

namespace ludus {

namespace go {
struct Ops;
}

struct Go {
  static constexpr const char* kName = "go";

  enum class Scoring : std::uint8_t { tromp_taylor, chinese };
  enum class Features : std::uint8_t { history, rich };

  struct Stone {
    std::uint8_t colour = 0;
    std::int16_t point = 0;
  };

  struct Rules {
    int size = 9;
    int komi2 = 15;  // twice the komi
    go::Ko ko = go::Ko::positional;
    bool suicide = false;
    Scoring scoring = Scoring::tromp_taylor;
    Features features = Features::history;
    bool resignation = false;
    int max_moves = 0;
    int handicap = 0;
    std::vector<Stone> setup;  // handicap stones among them
    int first = 0;             // seat that moves first
    const go::Ops* ops = nullptr;

    [[nodiscard]] int points() const { return size * size; }
    [[nodiscard]] int pass() const { return points(); }
    [[nodiscard]] int resign() const { return points() + 1; }
  };

  // The bytes before `position` are the match, `position` is a go::Position<size>: the bytes of a
  // small board are the first ones, the hashes of its history behind it, and copy() stops there.
  struct State {
    Rng rng;
    std::uint32_t tick = 0;
    std::int16_t chosen = -1;  // move queued by act/bot, played by advance
    std::int16_t margin2 = 0;  // once over: twice Black's points less White's and komi
    std::uint8_t to_move = 0;
    std::uint8_t passes = 0;  // in a row
    std::uint8_t over = 0;
    std::int8_t resigned = -1;   // seat
    std::uint32_t captured = 0;  // stones taken by Black; by White in the upper half
    alignas(8) std::array<std::byte, sizeof(go::Position<go::kMaxSize>)> position{};
  };

  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static SeatMask to_act(const Rules& rules, const State& s);
  static void act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action);
  static void bot(const Rules& rules, State& s, int seat, int bot);
  static void bot_choice(const Rules& rules, State& s, int seat, int bot,
                         std::span<std::int32_t> action);
  static void advance(const Rules& rules, State& s);
  static std::uint32_t tick(const State& s) { return s.tick; }
  static Status status(const Rules&, const State& s) {
    return {.over = s.over != 0, .truncated = false};
  }
  static void rewards(const Rules& rules, const State& s, std::span<float> out);
  static void outcome(const Rules& rules, const State& s, std::span<float> out);
  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors);
  static void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);
  static std::uint64_t hash(const Rules& rules, const State& s);
  static std::string view(const Rules& rules, const State& s);

  // Copies the bytes that are in use (game/state.hpp).
  static void copy(const Rules& rules, State& to, const State& from);
  // Plays random moves to the end and returns the winner, as outcome() does (game/state.hpp).
  static int rollout(const Rules& rules, const State& s, Rng& rng, std::span<float> out);
  // Whose each point is under the scoring, and Black's points less White's and komi
  // (game/state.hpp).
  static std::optional<float> final_score(const Rules& rules, const State& s,
                                          std::span<std::int8_t> owner);

  // Beyond the contract, for GTP, SGF and analyses. Points are y * size + x from the top left.
  static int stone(const Rules& rules, const State& s, int point);  // go::Colour
  static bool is_legal(const Rules& rules, const State& s, int seat, int move);
  static int margin2(const Rules& rules, const State& s);  // of the board as it stands
  // Twice the share of `playouts` random continuations, less 1, in which each point is Black's.
  static std::vector<float> ownership(const Rules& rules, const State& s, int playouts, Rng rng);
  // Stones that are dead by life and death proper or by most random continuations, as points.
  static std::vector<int> dead_stones(const Rules& rules, const State& s, int playouts, Rng rng);
  static int margin2_without(const Rules& rules, const State& s, std::span<const int> dead);
  // Resumes play after two passes, with `seat` to move.
  static void resume(State& s, int seat);
  // Whether the chain at `point` can be taken in a ladder with its opponent, or its owner, to move.
  static bool ladder_takes(const Rules& rules, const State& s, int point, bool owner_moves);
  struct Ladder {
    bool taken = false;
    bool settled = true;  // whether the budget was enough
    int reads = 0;        // moves that were read
    // Principal line: the winner's shortest way, the loser's longest. Empty: not settled.
    std::vector<int> line;
    std::vector<int> tries;  // first moves that are read: ataris, or what may save the chain
    std::vector<int> right;  // of them, those that take or save it
  };
  // Reads a chain of one or two liberties, or one in atari with its owner to move, in at most
  // `budget` moves. A chain with more is not taken.
  static Ladder read_ladder(const Rules& rules, const State& s, int point, bool owner_moves,
                            int budget);
};

static_assert(Game<Go>);

}  // namespace ludus
