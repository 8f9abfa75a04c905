#include "games/matrix/matrix.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<Matrix>();

}  // namespace ludus
