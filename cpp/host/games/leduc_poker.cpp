#include "games/poker/leduc_poker.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<LeducPoker>();

}  // namespace ludus
