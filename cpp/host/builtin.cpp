#include "host/builtin.hpp"

#include "games/registry.hpp"

namespace ludus {

const GameSet& builtin_games() {
  static const GameSet games = GameSet::of<BuiltinGames>();
  return games;
}

}  // namespace ludus
