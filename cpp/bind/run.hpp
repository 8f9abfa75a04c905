// Running games without Python in the loop: perft, playthroughs, signature, conformance, speed.
#pragma once

#include "bind/bind.hpp"
#include "game/bench.hpp"
#include "game/conformance.hpp"
#include "game/perft.hpp"
#include "game/playthrough.hpp"

namespace ludus::bind {

template <class Games>
void bind_run(nb::module_& m) {
  m.def(
      "perft",
      [](const std::string& game, const ParamDict& params, std::uint64_t seed, std::uint64_t match,
         int frame_skip, int depth) {
        nb::gil_scoped_release release;
        return Games::with_game(game, [&]<class G>() {
          return ludus::perft<G>(Params(params), {seed, match}, frame_skip, depth);
        });
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("match"), nb::arg("frame_skip"),
      nb::arg("depth"),
      "Number of decision paths of exactly `depth` moments; frame_skip 0 = the game's.");
  m.def(
      "playthrough",
      [](const std::string& game, const ParamDict& params, std::uint64_t seed, std::uint64_t match,
         const std::vector<std::string>& bots, const std::vector<int>& frame_skip, int moments) {
        nb::gil_scoped_release release;
        return Games::with_game(game, [&]<class G>() {
          const auto drivers = seat_drivers(MatchContext<G>(Params(params)).spec, bots, frame_skip);
          return ludus::playthrough<G>(Params(params), {seed, match}, drivers, moments);
        });
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("match"),
      nb::arg("bots") = std::vector<std::string>{"uniform"},
      nb::arg("frame_skip") = std::vector<int>{}, nb::arg("moments") = 20,
      "A match with everything observable in it, as text.");
  m.def(
      "signature",
      [] {
        nb::gil_scoped_release release;
        return hex16(ludus::signature<Games>());
      },
      "16 hex digits: the behaviour of all games of this module.");
  m.def(
      "game_signature",
      [](const std::string& game) {
        nb::gil_scoped_release release;
        return Games::with_game(game, []<class G>() { return hex16(ludus::game_signature<G>()); });
      },
      nb::arg("game"), "16 hex digits: the behaviour of one game.");
  m.def(
      "conformance",
      [](const std::string& game, const ParamDict& params, std::uint64_t seed, int matches,
         std::uint32_t max_ticks) {
        nb::gil_scoped_release release;
        return Games::with_game(game, [&]<class G>() {
          Conformance<G> c(Params(params), seed, max_ticks);
          return c.run(matches).json();
        });
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("matches"),
      nb::arg("max_ticks") = 0,
      "JSON list of {check, passed, detail}; max_ticks 0 = whole matches.");
  m.def(
      "bench_sim",
      [](const std::string& game, const ParamDict& params, const std::vector<std::string>& bots,
         const std::vector<int>& frame_skip, int threads, int matches, std::uint64_t ticks,
         std::uint64_t seed) {
        if (threads < 1 || threads > 1024)
          throw ParamError("threads: expected an integer in [1, 1024]");
        if (matches < 1 || matches > 1 << 20) {
          throw ParamError("matches: expected an integer in [1, 1048576]");
        }
        nb::gil_scoped_release release;
        return Games::with_game(game, [&]<class G>() {
          const auto drivers = seat_drivers(MatchContext<G>(Params(params)).spec, bots, frame_skip);
          return bench_json(
              game, ludus::bench_sim<G>(Params(params), drivers, threads, matches, ticks, seed));
        });
      },
      nb::arg("game"), nb::arg("params"), nb::arg("bots"), nb::arg("frame_skip"),
      nb::arg("threads"), nb::arg("matches"), nb::arg("ticks"), nb::arg("seed") = 1,
      "Bots against bots, `matches` slots and `ticks` ticks a thread: JSON with ticks_per_s, "
      "steps_per_s, ns_per_tick, ns_per_unit, clone_ns and counts.");
}

}  // namespace ludus::bind
