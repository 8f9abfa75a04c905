#include "bind/pool.hpp"

#include "games/registry.hpp"

namespace ludus::bind {

template void bind_pool<BuiltinGames>(nb::module_& m);

}  // namespace ludus::bind
