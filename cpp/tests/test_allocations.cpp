// Nothing in the tick path allocates: decide, advance, observe, mask, reward, hash, clone, reset.
#include <cstring>
#include <memory>

#include "game/playthrough.hpp"
#include "games/registry.hpp"
#include "tests/allocations.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

TEST_CASE("allocations: the counter counts") {
  const std::uint64_t before = thread_allocations();
  auto p = std::make_unique<std::vector<int>>(100);
  CHECK(p->size() == 100);
  CHECK(thread_allocations() == before + 2);
}

TEST_CASE("allocations: no game allocates in its tick path") {
  BuiltinGames::for_each([]<class G>() {
    MatchContext<G> c{Params{}};
    ObservationBuffer obs(c.spec);
    std::vector<float> rewards(static_cast<std::size_t>(c.spec.seats));
    for (int bot = -1; bot < static_cast<int>(c.spec.bots.size()); ++bot) {
      const std::vector<SeatDriver> drivers(static_cast<std::size_t>(c.spec.seats),
                                            {bot, c.spec.default_frame_skip});
      auto state = std::make_unique<typename G::State>();
      auto clone = std::make_unique<typename G::State>();
      const std::uint64_t before = thread_allocations();
      std::uint64_t ticks = 0;
      bool equal = true;
      for (std::uint64_t match = 0; match < 3; ++match) {
        Rng rng({9, match}, kUniformStream);
        G::reset(c.rules, *state, {9, match});
        while (!G::status(c.rules, *state).over) {
          decide<G>(c, *state, drivers, rng);
          G::advance(c.rules, *state);
          G::rewards(c.rules, *state, rewards);
          G::observe(c.rules, *state, 0, obs.pointers());
          G::legal(c.rules, *state, 0, c.mask.data());
          std::memcpy(static_cast<void*>(clone.get()), state.get(), sizeof *state);
          equal &= G::hash(c.rules, *clone) == G::hash(c.rules, *state);
          ++ticks;
        }
        G::outcome(c.rules, *state, rewards);
      }
      const std::uint64_t after = thread_allocations();
      INFO(std::string(G::kName), " bot ", bot, " ticks ", ticks);
      CHECK(equal);
      CHECK(ticks > 0);
      CHECK(after == before);
    }
  });
}

}  // namespace
}  // namespace ludus
