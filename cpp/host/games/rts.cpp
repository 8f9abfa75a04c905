#include "games/rts/rulebook/rts.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<Rts>();

}  // namespace ludus
