#include "foragers.hpp"

#include "bind/game_module.hpp"

LUDUS_GAME_MODULE(foragers, Foragers)
