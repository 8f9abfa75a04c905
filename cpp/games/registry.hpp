// The games that ship with Ludus: one explicit line each, and a file in host/games/. No static
// initialisers register anything. Games by name: host/builtin.hpp.
#pragma once

#include "game/game_list.hpp"
#include "games/connect_four/connect_four.hpp"
#include "games/go/go.hpp"
#include "games/gomoku/gomoku.hpp"
#include "games/matrix/matrix.hpp"
#include "games/poker/kuhn_poker.hpp"
#include "games/poker/leduc_poker.hpp"
#include "games/pommerman/pommerman.hpp"
#include "games/rts/capture_the_flag/capture_the_flag.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "games/rts/moba/moba.hpp"
#include "games/rts/rulebook/rts.hpp"
#include "games/rts/tower_defense/tower_defense.hpp"
#include "games/tic_tac_toe/tic_tac_toe.hpp"

namespace ludus {

using BuiltinGames = GameList<CaptureTheFlag, ConnectFour, Go, Gomoku, KuhnPoker, LeducPoker,
                              Matrix, MiniRts, Moba, Pommerman, Rts, TicTacToe, TowerDefense>;

}  // namespace ludus
