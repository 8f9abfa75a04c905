// The games that ship with Ludus: one explicit line each. No static initialisers register anything.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "game/game_list.hpp"
#include "games/connect_four/connect_four.hpp"
#include "games/gomoku/gomoku.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/tic_tac_toe/tic_tac_toe.hpp"

namespace ludus {

using BuiltinGames = GameList<ConnectFour, Gomoku, MiniRts, TicTacToe>;

[[nodiscard]] std::vector<std::string> game_names();

// with_game("minirts", [&]<class G>() { ... }): see GameList::with_game.
template <class Fn>
decltype(auto) with_game(std::string_view name, Fn&& fn) {
  return BuiltinGames::with_game(name, std::forward<Fn>(fn));
}

}  // namespace ludus
