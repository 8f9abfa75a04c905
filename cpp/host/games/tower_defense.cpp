#include "games/rts/tower_defense/tower_defense.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<TowerDefense>();

}  // namespace ludus
