#include "games/pommerman/pommerman.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<Pommerman>();

}  // namespace ludus
