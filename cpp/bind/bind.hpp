// Shared by all binding files. A subject X has bind/X.hpp with
//   inline void bind_X(nanobind::module_& m, const GameSet& games);
// for both the built-in games (bind/module.cpp) and the games of a module outside this tree
// (bind/game_module.hpp). `games` outlives the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/any_game.hpp"

namespace ludus::bind {

namespace nb = nanobind;

// Parameters as Python hands them over: dict[str, str].
using ParamDict = std::map<std::string, std::string>;

// An array that owns its numbers.
template <class T>
nb::object owned(std::vector<T>&& data) {
  auto* moved = new std::vector<T>(std::move(data));
  const nb::capsule owner(moved, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(moved->data(), {moved->size()}, owner));
}

// A field of a Python struct, by its name. Raises TypeError for a value of another type.
template <class T>
T field(nb::handle object, const char* name, bool convert = true) {
  T value{};
  if (!nb::try_cast<T>(object.attr(name), value, convert)) {
    throw nb::type_error((std::string(name) + ": a value of this type cannot be used").c_str());
  }
  return value;
}

// ParamError, ReplayError and SearchError are ValueErrors in Python, GameError is a RuntimeError.
inline void bind_errors(nb::module_& m) {
  nb::exception<ParamError>(m, "ParamError", PyExc_ValueError);
  nb::exception<ReplayError>(m, "ReplayError", PyExc_ValueError);
  nb::exception<GameError>(m, "GameError", PyExc_RuntimeError);
  nb::exception<SearchError>(m, "SearchError", PyExc_ValueError);
}

}  // namespace ludus::bind
