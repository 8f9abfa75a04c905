#include "games/go/go.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<Go>();

}  // namespace ludus
