// A Python module for games built outside this tree, with everything that _core has for the
// built-in ones. In one source file of the module:
//
//   #include "bind/game_module.hpp"
//   LUDUS_GAME_MODULE(my_game, MyGame)        // name as in CMake, then one or more game types
#pragma once

#include "bind/bind.hpp"
#include "bind/match.hpp"
#include "bind/pool.hpp"
#include "bind/replay.hpp"
#include "bind/run.hpp"
#include "bind/search.hpp"
#include "bind/spec.hpp"
#include "host/game_host.hpp"

namespace ludus::bind {

// Errors surface as the very classes of ludus.native, so that callers catch one set of names.
inline void use_core_errors() {
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        const auto raise = [](const char* name, const std::exception& e) {
          const nb::object type = nb::module_::import_("ludus.native").attr(name);
          PyErr_SetString(type.ptr(), e.what());
        };
        try {
          std::rethrow_exception(p);
        } catch (const ParamError& e) {
          raise("ParamError", e);
        } catch (const ReplayError& e) {
          raise("ReplayError", e);
        } catch (const GameError& e) {
          raise("GameError", e);
        } catch (const SearchError& e) {
          raise("SearchError", e);
        }
      },
      nullptr);
}

template <class Games>
void bind_game_module(nb::module_& m) {
  use_core_errors();
  static const GameSet games = GameSet::of<Games>();
  bind_spec(m, games);
  bind_match(m, games);
  bind_replay(m, games);
  bind_run(m, games);
  bind_pool(m, games);
  bind_search(m, games);
}

}  // namespace ludus::bind

#define LUDUS_GAME_MODULE(NAME, ...)                                \
  NB_MODULE(NAME, m) {                                              \
    m.doc() = "Games for Ludus; see ludus.games.";                  \
    ludus::bind::bind_game_module<ludus::GameList<__VA_ARGS__>>(m); \
  }
