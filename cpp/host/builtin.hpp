// The games that ship with Ludus, each behind AnyGame.
#pragma once

#include "host/any_game.hpp"

namespace ludus {

[[nodiscard]] const GameSet& builtin_games();

}  // namespace ludus
