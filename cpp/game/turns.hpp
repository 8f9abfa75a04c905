// Base code of two-seat games with alternating moves: who opens, whose turn it is, what a decision
// must be, and a result that is a win, a draw or a loss. Each piece can be used by itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "game/game.hpp"

namespace ludus {

// The parameter `opens`.
enum class Opens : std::uint8_t { seat0, seat1, random };

inline ParamSpec opens_param() {
  return {.name = "opens",
          .kind = ParamKind::text,
          .default_value = "seat0",
          .choices = {"seat0", "seat1", "random"},
          .meaning = "the seat that moves first; random draws it from the match's seed"};
}

inline Opens opens_of(const Params& params, const std::vector<ParamSpec>& declared) {
  const std::string opens = params.text("opens", declared);
  return opens == "seat0" ? Opens::seat0 : opens == "seat1" ? Opens::seat1 : Opens::random;
}

// Draws only where the parameter is random.
inline std::uint8_t first_to_move(Opens opens, Rng& rng) {
  if (opens == Opens::random) return rng.coin() ? 1 : 0;
  return opens == Opens::seat1 ? 1 : 0;
}

// A spec of two seats in turn without chance or secrets, one tick a decision.
inline GameSpec spec_of_turns(const char* name, const char* title) {
  GameSpec s;
  s.name = name;
  s.title = title;
  s.version = 1;
  s.seats = 2;
  s.turn_based = true;
  s.perfect_information = true;
  s.deterministic = true;
  s.default_frame_skip = 1;
  return s;
}

// Throws GameError unless `seat` may move.
inline void check_turn(const char* game, bool over, int seat, int to_move) {
  if (over || seat != to_move) {
    throw GameError(std::string(game) + ": seat " + std::to_string(seat) + " is not to move");
  }
}

// The one choice of `action`, of a head `head` with `size` choices. Throws GameError outside it.
inline std::int32_t check_choice(const char* game, const char* head,
                                 std::span<const std::int32_t> action, int size) {
  const std::int32_t choice = action.empty() ? -1 : action[0];
  if (choice < 0 || choice >= size) {
    throw GameError(std::string(game) + ": " + head + " " + std::to_string(choice) +
                    " is not in [0, " + std::to_string(size) + ")");
  }
  return choice;
}

// Throws GameError where a tick starts and nothing was chosen (`chosen` < 0).
inline void check_decided(const char* game, int chosen, int to_move) {
  if (chosen < 0) {
    throw GameError(std::string(game) + ": seat " + std::to_string(to_move) + " has not decided");
  }
}

// G::bot_choice of a game whose bots write the one choice into State::chosen, as its act does.
template <class G>
void choose_by_bot(const typename G::Rules& rules, typename G::State& s, int seat, int bot,
                   std::span<std::int32_t> action) {
  G::bot(rules, s, seat, bot);
  action[0] = s.chosen < 0 ? 0 : s.chosen;
}

// +1 for the winner and -1 for the other, 0 for both without one (`winner` < 0).
inline void pay_winner(int winner, std::span<float> out) {
  for (int seat = 0; seat < 2; ++seat) {
    out[static_cast<std::size_t>(seat)] = winner < 0 ? 0.0F : (winner == seat ? 1.0F : -1.0F);
  }
}

}  // namespace ludus
