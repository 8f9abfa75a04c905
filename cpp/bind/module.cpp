// ludus.native._core: the built-in games.
#include "bind/bind.hpp"
#include "bind/replay.hpp"
#include "bind/run.hpp"
#include "bind/spec.hpp"
#include "games/registry.hpp"
#if __has_include("bind/pool.hpp")
#include "bind/pool.hpp"
#endif

namespace ludus::bind {

extern template void bind_spec<BuiltinGames>(nb::module_& m);
extern template void bind_replay<BuiltinGames>(nb::module_& m);
extern template void bind_run<BuiltinGames>(nb::module_& m);
#if __has_include("bind/pool.hpp")
extern template void bind_pool<BuiltinGames>(nb::module_& m);
#endif

}  // namespace ludus::bind

NB_MODULE(_core, m) {
  using namespace ludus;
  m.doc() = "The compiled core of Ludus. Import it through ludus.native only.";
  bind::bind_errors(m);
  bind::bind_spec<BuiltinGames>(m);
  bind::bind_replay<BuiltinGames>(m);
  bind::bind_run<BuiltinGames>(m);
#if __has_include("bind/pool.hpp")
  bind::bind_pool<BuiltinGames>(m);
#endif
}
