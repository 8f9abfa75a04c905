#include "games/rts/minirts/minirts.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<MiniRts>();

}  // namespace ludus
