#include "games/gomoku/gomoku.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<Gomoku>();

}  // namespace ludus
