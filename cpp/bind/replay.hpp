// Replays: reading, verifying, looking inside, and recording matches of bots.
#pragma once

#include "base/json.hpp"
#include "bind/bind.hpp"

namespace ludus::bind {

inline Replay replay_of(const nb::bytes& data) {
  return decode_replay({static_cast<const std::byte*>(data.data()), data.size()});
}

// Arrays by name; the observation is the list of its tensors.
using RowDict = nb::typed<nb::dict, nb::str, nb::object>;

inline RowDict seat_rows(SeatRows&& rows) {
  nb::list obs;
  for (auto& tensor : rows.obs) obs.append(owned(std::move(tensor)));
  RowDict out;
  out["seat"] = rows.seat;
  out["obs"] = obs;
  out["mask"] = owned(std::move(rows.mask));
  out["actions"] = owned(std::move(rows.actions));
  out["tick"] = owned(std::move(rows.tick));
  out["reward"] = owned(std::move(rows.reward));
  out["shown"] = owned(std::move(rows.shown));
  return out;
}

inline void bind_replay(nb::module_& m, const GameSet& games) {
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
      [&games](const nb::bytes& data) {
        const Replay r = replay_of(data);
        nb::gil_scoped_release release;
        const ReplayCheck check = games.at(r.game).verify(r);
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
      [&games](const nb::bytes& data, std::uint32_t every) {
        const Replay r = replay_of(data);
        nb::gil_scoped_release release;
        return games.at(r.game).frames(r, every);
      },
      nb::arg("data"), nb::arg("every") = 1,
      "The game's view (JSON) at the start, after every `every` ticks and at the end.");
  m.def(
      "replay_rows",
      [&games](const nb::bytes& data, const ParamDict& params, const std::vector<int>& seats) {
        std::vector<SeatRows> read;
        {
          const Replay r = replay_of(data);
          nb::gil_scoped_release release;
          read = games.at(r.game).rows(r, params, seats);
        }
        std::vector<RowDict> out;
        for (SeatRows& rows : read) out.push_back(seat_rows(std::move(rows)));
        return out;
      },
      nb::arg("data"), nb::arg("params"), nb::arg("seats"),
      "Plays the match again and gives the decisions of the seats (empty = all): a dict a seat "
      "with "
      "seat, obs (the packed bytes of each tensor), mask, actions, tick, reward and shown, each an "
      "array of one axis. params replace parameters that change only what is observed. Raises "
      "ReplayError if the match comes out otherwise, ParamError.");
  m.def(
      "replay_record",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t seed,
               std::uint64_t match, const std::vector<std::string>& bots,
               const std::vector<int>& frame_skip, std::uint32_t hash_every) {
        const AnyGame& g = games.at(game);
        const auto drivers = seat_drivers(g.spec(Params(params)), bots, frame_skip);
        std::string data;
        {
          nb::gil_scoped_release release;
          data = encode_replay(g.record(Params(params), {seed, match}, drivers, hash_every));
        }
        return nb::bytes(data.data(), data.size());
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("match"), nb::arg("bots"),
      nb::arg("frame_skip") = std::vector<int>{}, nb::arg("hash_every") = 100,
      "Plays one match of bots (`uniform` = random legal actions) and gives its replay. An empty "
      "frame_skip means the game's own.");
}

}  // namespace ludus::bind
