// Running games without Python in the loop: perft, playthroughs, signature, conformance, speed.
#pragma once

#include "bind/bind.hpp"

namespace ludus::bind {

inline void bind_run(nb::module_& m, const GameSet& games) {
  m.def(
      "perft",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t seed,
               std::uint64_t match, int frame_skip, int depth) {
        nb::gil_scoped_release release;
        return games.at(game).perft(Params(params), {seed, match}, frame_skip, depth);
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("match"), nb::arg("frame_skip"),
      nb::arg("depth"),
      "Number of decision paths of exactly `depth` decision points; frame_skip 0 = the game's.");
  m.def(
      "playthrough",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t seed,
               std::uint64_t match, const std::vector<std::string>& bots,
               const std::vector<int>& frame_skip, int steps) {
        nb::gil_scoped_release release;
        const AnyGame& g = games.at(game);
        const auto drivers = seat_drivers(g.spec(Params(params)), bots, frame_skip);
        return g.playthrough(Params(params), {seed, match}, drivers, steps);
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("match"),
      nb::arg("bots") = std::vector<std::string>{"uniform"},
      nb::arg("frame_skip") = std::vector<int>{}, nb::arg("steps") = 20,
      "A match with everything observable in it, as text.");
  m.def(
      "signature",
      [&games] {
        nb::gil_scoped_release release;
        return hex16(games.signature());
      },
      "16 hex digits: the behaviour of all games of this module.");
  m.def(
      "game_signature",
      [&games](const std::string& game) {
        nb::gil_scoped_release release;
        return hex16(games.at(game).signature());
      },
      nb::arg("game"), "16 hex digits: the behaviour of one game.");
  m.def(
      "conformance",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t seed, int matches,
               std::uint32_t max_ticks, std::uint64_t first) {
        nb::gil_scoped_release release;
        return games.at(game).conformance(Params(params), {seed, first}, matches, max_ticks).json();
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("matches"),
      nb::arg("max_ticks") = 0, nb::arg("first") = 0,
      "JSON list of {check, passed, detail}, of matches from `first` on; max_ticks 0 = whole "
      "ones.");
  m.def(
      "bench_sim",
      [&games](const std::string& game, const ParamDict& params,
               const std::vector<std::string>& bots, const std::vector<int>& frame_skip,
               int threads, int matches, std::uint64_t ticks, std::uint64_t seed) {
        if (threads < 1 || threads > 1024)
          throw ParamError("threads: expected an integer in [1, 1024]");
        if (matches < 1 || matches > 1 << 20) {
          throw ParamError("matches: expected an integer in [1, 1048576]");
        }
        nb::gil_scoped_release release;
        const AnyGame& g = games.at(game);
        const auto drivers = seat_drivers(g.spec(Params(params)), bots, frame_skip);
        return bench_json(game, g.bench(Params(params), drivers, threads, matches, ticks, seed));
      },
      nb::arg("game"), nb::arg("params"), nb::arg("bots"), nb::arg("frame_skip"),
      nb::arg("threads"), nb::arg("matches"), nb::arg("ticks"), nb::arg("seed") = 1,
      "Bots against bots, `matches` slots and `ticks` ticks a thread: JSON with ticks_per_s, "
      "steps_per_s, ns_per_tick, ns_per_unit, clone_ns and counts.");
  m.def(
      "bench_rollouts",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t rollouts,
               std::uint64_t seed) {
        nb::gil_scoped_release release;
        return rollout_json(game, games.at(game).bench_rollouts(Params(params), rollouts, seed));
      },
      nb::arg("game"), nb::arg("params"), nb::arg("rollouts"), nb::arg("seed") = 1,
      "Random matches from the start to the end on this thread: JSON with rollouts_per_s, "
      "mean_turns, ns_per_turn and first_seat_mean.");
}

}  // namespace ludus::bind
