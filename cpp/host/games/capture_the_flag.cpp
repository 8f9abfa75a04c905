#include "games/rts/capture_the_flag/capture_the_flag.hpp"

#include "host/game_host.hpp"

namespace ludus {

template const AnyGame& host_of<CaptureTheFlag>();

}  // namespace ludus
