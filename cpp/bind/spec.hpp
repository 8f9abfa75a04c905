// Names and specs of the games.
#pragma once

#include "bind/bind.hpp"
#include "game/spec_json.hpp"

namespace ludus::bind {

template <class Games>
void bind_spec(nb::module_& m) {
  m.def("game_names", &Games::names, "Names of the games in this module, in their fixed order.");
  m.def(
      "spec_json",
      [](const std::string& game, const ParamDict& params) {
        return Games::with_game(game, [&]<class G>() {
          return ludus::spec_json(G::spec(G::make_rules(Params(params))));
        });
      },
      nb::arg("game"), nb::arg("params") = ParamDict{},
      "The game's spec under these parameters as JSON. Raises ParamError.");
}

}  // namespace ludus::bind
