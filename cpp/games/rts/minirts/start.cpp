#include "games/rts/minirts/start.hpp"

namespace ludus::rts {

void place_start(const MiniRules& rules, State& state, Rng& rng) {
  StartPositions start_positions;
  start_positions.base = kBase;
  start_positions.resource = kResource;
  start_positions.money = rules.start_money;
  start_positions.extra_units = rules.start_units;
  for (const int type : {kWorker, kBarracks, kMelee, kRange}) {
    start_positions.extra[start_positions.extras++] = {type, rules.start_tries[type],
                                                       rules.start_tenths[type]};
  }
  place_start_positions(rules.engine, start_positions, state, rng);
}

}  // namespace ludus::rts
