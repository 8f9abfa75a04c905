#include "bind/run.hpp"

#include "games/registry.hpp"

namespace ludus::bind {

template void bind_run<BuiltinGames>(nb::module_& m);

}  // namespace ludus::bind
