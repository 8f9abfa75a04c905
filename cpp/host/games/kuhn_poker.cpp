#include "games/poker/kuhn_poker.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<KuhnPoker>();

}  // namespace ludus
