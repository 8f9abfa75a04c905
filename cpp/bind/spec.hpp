// Names and specs of the games.
#pragma once

#include "bind/bind.hpp"
#include "game/spec_json.hpp"

namespace ludus::bind {

// Version of the functions and classes of a module. Python refuses a module outside this tree that
// has another version. Every change of them raises it.
inline constexpr int kBindings = 2;

inline void bind_spec(nb::module_& m, const GameSet& games) {
  m.attr("BINDINGS") = kBindings;
  m.def(
      "game_names", [&games] { return games.names(); },
      "Names of the games in this module, in their fixed order.");
  m.def(
      "spec_json",
      [&games](const std::string& game, const ParamDict& params) {
        return ludus::spec_json(games.at(game).spec(Params(params)));
      },
      nb::arg("game"), nb::arg("params") = ParamDict{},
      "The game's spec under these parameters as JSON. Raises ParamError.");
}

}  // namespace ludus::bind
