#include "bind/spec.hpp"

#include "games/registry.hpp"

namespace ludus::bind {

template void bind_spec<BuiltinGames>(nb::module_& m);

}  // namespace ludus::bind
