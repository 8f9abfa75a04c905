#include "games/registry.hpp"

namespace ludus {

std::vector<std::string> game_names() { return BuiltinGames::names(); }

}  // namespace ludus
