#include "games/rts/moba/moba.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<Moba>();

}  // namespace ludus
