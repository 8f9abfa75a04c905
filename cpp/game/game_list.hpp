// A list of game types and how to go from a game's name to its type. Bindings, tools and tests are
// templates over such a list, so that a game built outside this tree gets all of them unchanged.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/names.hpp"
#include "game/game.hpp"

namespace ludus {

template <Game... Gs>
struct GameList {
  [[nodiscard]] static std::vector<std::string> names() { return {Gs::kName...}; }

  // Calls fn.template operator()<G>() for every game, in the order of the list.
  template <class Fn>
  static void for_each(Fn&& fn) {
    (fn.template operator()<Gs>(), ...);
  }

  // Calls fn.template operator()<G>() for the game of that name and returns what it returns; the
  // return type must be the same for all games. Throws ParamError with the nearest name.
  template <class Fn>
  static decltype(auto) with_game(std::string_view name, Fn&& fn) {
    return dispatch<Fn, Gs...>(name, std::forward<Fn>(fn));
  }

 private:
  template <class Fn, class First, class... Rest>
  static decltype(auto) dispatch(std::string_view name, Fn&& fn) {
    if (name == First::kName) return fn.template operator()<First>();
    if constexpr (sizeof...(Rest) > 0) {
      return dispatch<Fn, Rest...>(name, std::forward<Fn>(fn));
    } else {
      throw_unknown(name);
      return fn.template operator()<First>();  // unreachable; gives the return type
    }
  }

  [[noreturn]] static void throw_unknown(std::string_view name) {
    const std::vector<std::string> valid = names();
    throw ParamError("unknown game '" + std::string(name.substr(0, 80)) + "'" +
                     did_you_mean(name, valid));
  }
};

}  // namespace ludus
