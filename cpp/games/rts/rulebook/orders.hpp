// The decisions of a side under a rulebook, turned into orders to its units: building whatever the
// rulebook lets a unit build, and the tactics of MiniRTS over its types.
#pragma once

#include <string>
#include <vector>

#include "games/rts/engine/tactical_commands.hpp"
#include "games/rts/rulebook/book.hpp"

namespace ludus::rts {

// Choice 0 only sends idle gatherers to work, as all choices do; choice 1 + i builds
// Book::build_menu[i]; then come the tactics.
enum class Tactic : std::uint8_t { attack, attack_in_range, attack_best, hit_and_run, defend };
inline constexpr int kTactics = 5;

// A set of choices, one bit each. Players choose one, scripted bots several at once.
using ChoiceSet = std::uint32_t;

[[nodiscard]] inline int choices(const Book& book) {
  return 1 + static_cast<int>(book.build_menu.size()) + kTactics;
}
[[nodiscard]] inline int choice_of(const Book& book, Tactic t) {
  return 1 + static_cast<int>(book.build_menu.size()) + static_cast<int>(t);
}
[[nodiscard]] std::vector<std::string> choice_labels(const Book& book);

// Commands below the strategic level. `engine`: the rules of the match, which must outlive it.
[[nodiscard]] UnitGame unit_game(const Book& book, const EngineRules& engine);
// Order 1 + i buys Book::build_menu[i], as choice 1 + i does; groups are gatherers, troops that
// have to touch, troops that shoot, and all troops.
[[nodiscard]] TacticalGame tactical_game(const Book& book, const EngineRules& engine);

// Gives the orders that follow from the chosen ones.
void act_choices(const Book& book, const EngineRules& engine, State& state, int seat,
                 ChoiceSet chosen);

// Which would do anything beyond sending idle gatherers to work, judged by what the seat may know:
// its own side, what it sees, and who hit it.
[[nodiscard]] ChoiceSet useful_choices(const Book& book, const EngineRules& engine,
                                       const State& state, int seat);

// A decision of a bot of the rulebook. They know every unit of both sides.
void play_bot(const Book& book, const EngineRules& engine, const BookBot& bot, State& state,
              int seat);

}  // namespace ludus::rts
