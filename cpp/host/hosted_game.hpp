// Adapter: a game whose rules run elsewhere (in Python, see bind/hosted.hpp) behind the contract of
// game/game.hpp, so that the search of compiled games runs over it unchanged: one algorithm, the
// same visits.
//
// A State is the path to a position: seed and moves, a trivially copyable struct as everywhere. The
// source computes each position once, by a clone of its parent and one move; the rules cache the
// most recent positions. A descent through cached positions therefore costs one look-up per move
// and never leaves the core; a new leaf costs one clone, one move and one observation.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "game/game.hpp"
#include "search/any_search.hpp"

namespace ludus {

// One position, as the source reports it.
struct HostedStep {
  int seat = -1;                   // that decides; -1 = the match is over
  std::array<float, 2> outcome{};  // of a match that is over
};

// A match of the source. Whatever it throws ends the search that asked.
class HostedMatch {
 public:
  virtual ~HostedMatch() = default;
  // An independent copy of the match at its present position.
  [[nodiscard]] virtual std::unique_ptr<HostedMatch> clone() const = 0;
  // Plays a legal move of the seat that decides. `mask`: a byte a move, the legal ones afterwards
  // (nothing is written when the match is over).
  virtual HostedStep play(int seat, std::int32_t move, std::uint8_t* mask) = 0;
  // One pointer a tensor of the spec.
  virtual void observe(int seat, std::span<std::byte* const> tensors) const = 0;
};

// A game under fixed parameters. One thread at a time.
class HostedSource {
 public:
  virtual ~HostedSource() = default;
  [[nodiscard]] virtual const GameSpec& spec() const = 0;
  // A match at its beginning, as HostedMatch::play leaves one.
  virtual std::unique_ptr<HostedMatch> begin(MatchSeed seed, HostedStep& step,
                                             std::uint8_t* mask) = 0;
};

class HostedPositions;

struct HostedGame {
  static constexpr const char* kName = "hosted";
  static constexpr std::size_t kMaxMoves = 8192;

  struct State {
    std::uint64_t seed = 0, match = 0;
    std::uint64_t key = 0;  // of the way here
    std::array<float, 2> outcome{};
    std::int32_t seat = -1;    // that decides; -1 = over
    std::int32_t chosen = -1;  // queued by act, played by advance
    std::uint32_t moves = 0;
    std::uint32_t unused = 0;
    std::array<std::uint16_t, kMaxMoves> move{};
  };
  // Holds a cache of positions, so unlike the rules of compiled games these belong to one thread.
  struct Rules {
    std::shared_ptr<HostedPositions> positions;
  };

  // Throws ParamError: only hosted_search and its neighbours make rules.
  static Rules make_rules(const Params& params);
  static GameSpec spec(const Rules& rules);
  static void reset(const Rules& rules, State& s, MatchSeed seed);
  static SeatMask to_act(const Rules&, const State& s) {
    return s.seat < 0 ? 0 : SeatMask{1} << s.seat;
  }
  static void act(const Rules& rules, State& s, int seat, std::span<const std::int32_t> action);
  static void bot(const Rules&, State&, int, int) {}
  static void advance(const Rules& rules, State& s);
  static std::uint32_t tick(const State& s) { return s.moves; }
  static Status status(const Rules&, const State& s) { return {.over = s.seat < 0}; }
  static void rewards(const Rules& rules, const State& s, std::span<float> out) {
    outcome(rules, s, out);
  }
  static void outcome(const Rules&, const State& s, std::span<float> out);
  static void observe(const Rules& rules, const State& s, int seat,
                      std::span<std::byte* const> tensors);
  static void legal(const Rules& rules, const State& s, int seat, std::uint8_t* mask);
  static std::uint64_t hash(const Rules&, const State& s) { return s.key; }
  static std::string view(const Rules&, const State&) { return "{}"; }

  // See game/state.hpp.
  static void copy(const Rules&, State& to, const State& from);
  static int rollout(const Rules& rules, const State& s, Rng& rng, std::span<float> out);
  static std::span<const std::byte> stored(const State& s);
  static void load(const Rules& rules, State& s, std::span<const std::byte> bytes);
};

static_assert(Game<HostedGame>);

// The bytes of HostedGame::load for a match after `moves`.
[[nodiscard]] std::vector<std::byte> hosted_state(MatchSeed seed,
                                                  std::span<const std::int32_t> moves);

// See search/any_search.hpp. They throw SearchError for a game that cannot be searched.
[[nodiscard]] std::unique_ptr<AnySearch> hosted_search(std::unique_ptr<HostedSource> source,
                                                       const SearchOptions& options,
                                                       const EvaluatorOptions& evaluator,
                                                       int slots);
[[nodiscard]] std::unique_ptr<AnySelfPlay> hosted_self_play(std::unique_ptr<HostedSource> source,
                                                            const SearchOptions& search,
                                                            const SelfPlayOptions& options,
                                                            const EvaluatorOptions& evaluator);
[[nodiscard]] std::unique_ptr<AnyPositions> hosted_positions(std::unique_ptr<HostedSource> source);

}  // namespace ludus
