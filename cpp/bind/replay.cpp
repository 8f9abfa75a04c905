#include "bind/replay.hpp"

#include "games/registry.hpp"

namespace ludus::bind {

template void bind_replay<BuiltinGames>(nb::module_& m);

}  // namespace ludus::bind
