#include "games/tic_tac_toe/tic_tac_toe.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<TicTacToe>();

}  // namespace ludus
