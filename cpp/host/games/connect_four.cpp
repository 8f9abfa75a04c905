#include "games/connect_four/connect_four.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<ConnectFour>();

}  // namespace ludus
