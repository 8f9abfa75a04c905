// What every binding file shares. A subject X has bind/X.hpp with
//   template <class Games> void bind_X(nanobind::module_& m);
// and bind/X.cpp that instantiates it for BuiltinGames. A game outside this tree instantiates the
// same templates for its own GameList (bind/game_module.hpp).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>

#include "game/game_list.hpp"
#include "game/replay.hpp"

namespace ludus::bind {

namespace nb = nanobind;

// Parameters as Python hands them over: dict[str, str].
using ParamDict = std::map<std::string, std::string>;

// ParamError and ReplayError are ValueErrors in Python, GameError is a RuntimeError.
inline void bind_errors(nb::module_& m) {
  nb::exception<ParamError>(m, "ParamError", PyExc_ValueError);
  nb::exception<ReplayError>(m, "ReplayError", PyExc_ValueError);
  nb::exception<GameError>(m, "GameError", PyExc_RuntimeError);
}

}  // namespace ludus::bind
