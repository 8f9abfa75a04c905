#include "games/rts/minirts/start.hpp"

namespace ludus::rts {

void place_start(const MiniRules& rules, State& state, Rng& rng) {
  Homes homes;
  homes.base = kBase;
  homes.resource = kResource;
  homes.money = rules.start_money;
  homes.extra_units = rules.start_units;
  for (const int type : {kWorker, kBarracks, kMelee, kRange}) {
    homes.extra[homes.extras++] = {type, rules.start_tries[type], rules.start_tenths[type]};
  }
  place_homes(rules.engine, homes, state, rng);
}

}  // namespace ludus::rts
