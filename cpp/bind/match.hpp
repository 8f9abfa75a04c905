// Single matches, move by move: the class Match and make_match.
#pragma once

#include <nanobind/stl/unique_ptr.h>

#include "bind/bind.hpp"

namespace ludus::bind {

inline nb::bytes bytes_of(std::span<const std::byte> data) {
  return nb::bytes(static_cast<const void*>(data.data()), data.size());
}

// Once a module: a module built outside this tree shares no types with the core.
inline void bind_match_class(nb::module_& m) {
  nb::class_<AnyMatch>(m, "Match", "One match, played move by move. Not safe for several threads.")
      .def(
          "reset",
          [](AnyMatch& a, std::uint64_t seed, std::uint64_t match) {
            a.reset({seed, match});
          },
          nb::arg("seed"), nb::arg("match"), "Starts another match.")
      .def(
          "to_act",
          [](const AnyMatch& a) {
            std::vector<int> seats;
            for (int s = 0; s < a.spec().seats; ++s) {
              if ((a.to_act() >> s & 1U) != 0) seats.push_back(s);
            }
            return seats;
          },
          "Seats that may decide now.")
      .def(
          "act",
          [](AnyMatch& a, int seat, const std::vector<std::int32_t>& action) {
            a.act(seat, action);
          },
          nb::arg("seat"), nb::arg("action"),
          "Queues a decision, one number a head. Raises GameError if the rules refuse it.")
      .def("bot", &AnyMatch::bot, nb::arg("seat"), nb::arg("bot"),
           "Lets a bot decide, by its index in the spec.")
      .def("advance", &AnyMatch::advance, "Plays what was decided: one tick.")
      .def("over", [](const AnyMatch& a) { return a.status().over; })
      .def("truncated", [](const AnyMatch& a) { return a.status().truncated; })
      .def("tick", &AnyMatch::tick)
      .def("outcome", &AnyMatch::outcome, "+1, 0 or -1 a seat; zeros until the match is over.")
      .def("hash", &AnyMatch::hash)
      .def("view", &AnyMatch::view, "JSON of the current state.")
      .def(
          "legal",
          [](const AnyMatch& a, int seat) {
            const std::vector<std::uint8_t> mask = a.legal(seat);
            return bytes_of(std::as_bytes(std::span(mask)));
          },
          nb::arg("seat"), "One byte a choice, heads concatenated; 1 = legal.")
      .def(
          "observe",
          [](const AnyMatch& a, int seat) {
            std::vector<nb::bytes> out;
            for (const auto& t : a.observe(seat)) out.push_back(bytes_of(t));
            return out;
          },
          nb::arg("seat"), "The packed bytes of each tensor of the spec.")
      .def("clone", &AnyMatch::clone,
           "An independent match in the same state, with a copy of the record.")
      .def("records", &AnyMatch::records, "Whether the match was made to be recorded.")
      .def(
          "replay",
          [](const AnyMatch& a, std::vector<std::string> players) {
            const std::string data = encode_replay(a.replay(std::move(players)));
            return nb::bytes(data.data(), data.size());
          },
          nb::arg("players") = std::vector<std::string>{},
          "The bytes of a .ludus file of what was played so far. Raises ParamError if the match "
          "was "
          "not made to be recorded, and for names that a replay cannot hold.")
      .def(
          "state", [](const AnyMatch& a) { return bytes_of(a.state()); },
          "The state as bytes, for a search in this process.");
}

inline void bind_match(nb::module_& m, const GameSet& games) {
  bind_match_class(m);
  m.def(
      "make_match",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t seed,
               std::uint64_t match, bool record) {
        return games.at(game).match(Params(params), {seed, match}, record);
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed") = 1, nb::arg("match") = 0,
      nb::arg("record") = false, "A match at its start, recorded if asked for. Raises ParamError.");
}

}  // namespace ludus::bind
