// Replays: reading, verifying, looking inside, and recording matches of bots.
#pragma once

#include "base/json.hpp"
#include "bind/bind.hpp"
#include "game/match.hpp"
#include "game/replay_run.hpp"

namespace ludus::bind {

inline Replay replay_of(const nb::bytes& data) {
  return decode_replay({static_cast<const std::byte*>(data.data()), data.size()});
}

template <class Games>
void bind_replay(nb::module_& m) {
  m.def(
      "replay_info", [](const nb::bytes& data) { return replay_info_json(replay_of(data)); },
      nb::arg("data"),
      "Checks the bytes of a .ludus file and describes it as JSON. Raises ReplayError.");
  m.def(
      "replay_decisions",
      [](const nb::bytes& data) { return replay_decisions_json(replay_of(data)); }, nb::arg("data"),
      "The decisions as JSON columns: heads, ticks, seats, bots (-1 = an action), actions (the "
      "heads "
      "of every action in turn). Raises ReplayError.");
  m.def(
      "replay_verify",
      [](const nb::bytes& data) {
        const Replay r = replay_of(data);
        nb::gil_scoped_release release;
        const ReplayCheck check =
            Games::with_game(r.game, [&]<class G>() { return replay_verify<G>(r); });
        JsonWriter j;
        j.open('{').field("same", check.same).field("ticks", check.ticks);
        j.field("last_same", check.last_same).field("difference", check.difference).close('}');
        return std::move(j).text();
      },
      nb::arg("data"),
      "Plays the match again and compares every recorded hash: JSON with same, ticks, last_same "
      "(last tick whose hash agreed) and difference. Raises ReplayError.");
  m.def(
      "replay_frames",
      [](const nb::bytes& data, std::uint32_t every) {
        const Replay r = replay_of(data);
        nb::gil_scoped_release release;
        return Games::with_game(r.game, [&]<class G>() { return replay_frames<G>(r, every); });
      },
      nb::arg("data"), nb::arg("every") = 1,
      "The game's view (JSON) at the start, after every `every` ticks and at the end.");
  m.def(
      "replay_record",
      [](const std::string& game, const ParamDict& params, std::uint64_t seed, std::uint64_t match,
         const std::vector<std::string>& bots, const std::vector<int>& frame_skip,
         std::uint32_t hash_every) {
        const std::string data = Games::with_game(game, [&]<class G>() {
          MatchContext<G> c{Params(params)};
          const auto drivers = seat_drivers(c.spec, bots, frame_skip);
          nb::gil_scoped_release release;
          return encode_replay(
              record_match<G>(c, Params(params), {seed, match}, drivers, hash_every));
        });
        return nb::bytes(data.data(), data.size());
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("match"), nb::arg("bots"),
      nb::arg("frame_skip") = std::vector<int>{}, nb::arg("hash_every") = 100,
      "Plays one match of bots (`uniform` = random legal actions) and gives its replay. An empty "
      "frame_skip means the game's own.");
}

}  // namespace ludus::bind
