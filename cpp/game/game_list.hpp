// A list of game types, for what has to be compiled for each of them. Bindings and tools know games
// by name only (host/any_game.hpp).
#pragma once

#include "game/game.hpp"

namespace ludus {

template <Game... Gs>
struct GameList {
  // Calls fn.template operator()<G>() for every game, in the order of the list.
  template <class Fn>
  static void for_each(Fn&& fn) {
    (fn.template operator()<Gs>(), ...);
  }
};

}  // namespace ludus
