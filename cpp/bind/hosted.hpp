// Searches over games written in Python: ludus.games.searchable wraps these functions. Only the
// built-in module has them.
#pragma once

#include "bind/bind.hpp"

namespace ludus::bind {

void bind_hosted(nb::module_& m);

}  // namespace ludus::bind
