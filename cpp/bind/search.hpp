// Searches and self-play for Python: ludus.mcts wraps these classes; its docstrings say what the
// user meets. A handle is used by one thread at a time; what takes long releases the GIL.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/bind.hpp"
#include "search/any_search.hpp"

namespace ludus::bind {

using SettingDict = std::map<std::string, double>;

// Reads settings by name and refuses unknown ones.
class Settings {
 public:
  explicit Settings(const SettingDict& given) : given_(given) {}
  template <class T>
  void read(const char* name, T& value) {
    known_.insert(name);
    const auto it = given_.find(name);
    if (it == given_.end()) return;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!(it->second >= -9e15 && it->second <= 9e15)) {
        throw SearchError(std::string("search: ") + name + ", expected an integer");
      }
    }
    value = static_cast<T>(it->second);
  }
  void finish() const {
    for (const auto& [name, value] : given_) {
      if (known_.contains(name)) continue;
      const std::vector<std::string> valid(known_.begin(), known_.end());
      throw SearchError("search: unknown setting '" + name + "'" + did_you_mean(name, valid));
    }
  }

 private:
  const SettingDict& given_;
  std::set<std::string> known_;
};

inline void read_search(Settings& s, SearchOptions& o) {
  each_setting(o, [&]<class T>(const char* name, T& value, double low, double high) {
    if constexpr (std::is_enum_v<T>) {
      int number = static_cast<int>(value);
      s.read(name, number);
      if (!(number >= low && number <= high)) {
        throw SearchError(std::string("search: ") + name + ", expected 0, 1 or 2");
      }
      value = static_cast<T>(number);
    } else {
      s.read(name, value);
    }
  });
}

// (name, default, lowest, highest) of each setting of a search.
inline std::vector<std::tuple<std::string, double, double, double>> search_settings() {
  std::vector<std::tuple<std::string, double, double, double>> out;
  const SearchOptions options;
  each_setting(options, [&](const char* name, auto value, double low, double high) {
    out.emplace_back(name, static_cast<double>(value), low, high);
  });
  return out;
}

inline void read_self_play(Settings& s, SelfPlayOptions& o) {
  s.read("slots", o.slots);
  s.read("first", o.first);
  s.read("stride", o.stride);
  s.read("temperature", o.temperature);
  s.read("temperature_plies", o.temperature_plies);
  s.read("temperature_end", o.temperature_end);
  s.read("full_share", o.full_share);
  s.read("cheap_visits", o.cheap_visits);
  s.read("resign_below", o.resign_below);
  s.read("never_resign_share", o.never_resign_share);
  s.read("resign_plies", o.resign_plies);
  s.read("max_plies", o.max_plies);
  s.read("random_share", o.random_share);
  s.read("random_plies", o.random_plies);
  s.read("proven_share", o.proven_share);
}

using SearchArray = nb::ndarray<nb::device::cpu, nb::c_contig>;
using FloatRows = nb::ndarray<const float, nb::device::cpu, nb::c_contig>;

// One pointer a tensor of the spec, and the rows that all of them have.
inline std::pair<std::vector<std::byte*>, int> tensor_pointers(const GameSpec& spec,
                                                               const nb::list& arrays) {
  if (arrays.size() != spec.observation.size()) {
    throw SearchError("search: " + std::to_string(arrays.size()) +
                      " observation arrays, expected " + std::to_string(spec.observation.size()));
  }
  std::vector<std::byte*> out;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const TensorSpec& t = spec.observation[i];
    SearchArray a;
    if (!nb::try_cast<SearchArray>(arrays[i], a, false) || a.ndim() < 1) {
      throw SearchError("search: obs." + t.name + " must be a writable C-contiguous array");
    }
    if (i == 0) rows = a.shape(0);
    if (a.shape(0) != rows || a.nbytes() != rows * t.bytes()) {
      throw SearchError("search: obs." + t.name + " does not have the shape of the game's spec");
    }
    out.push_back(static_cast<std::byte*>(a.data()));
  }
  return {std::move(out), static_cast<int>(std::min<std::size_t>(rows, 1U << 30))};
}

inline void check_answers(const GameSpec& spec, int waiting, const FloatRows& policy,
                          const FloatRows& value) {
  const auto rows = static_cast<std::size_t>(waiting);
  const std::size_t choices = spec.mask_bytes();
  if (policy.ndim() != 2 || policy.shape(0) < rows || policy.shape(1) != choices ||
      value.ndim() != 1 || value.shape(0) < rows) {
    throw SearchError("search: answers must be policy [rows, " + std::to_string(choices) +
                      "] and value [rows] for " + std::to_string(rows) + " rows");
  }
}

// Keeps the arrays that the batch is written to alive.
template <class Any>
struct SearchHandle {
  std::unique_ptr<Any> inner;
  nb::object keep;
  int waiting = 0;

  void attach(const nb::list& obs) {
    const auto [base, rows] = tensor_pointers(inner->spec(), obs);
    inner->attach(base, rows);
    keep = obs;
  }
  int collect(int rounds) {
    const nb::gil_scoped_release unlocked;
    return waiting = inner->collect(rounds);
  }
  void deliver(const FloatRows& policy, const FloatRows& value) {
    check_answers(inner->spec(), waiting, policy, value);
    const nb::gil_scoped_release unlocked;
    inner->deliver(policy.data(), value.data());
    waiting = 0;
  }
};

using TreesHandle = SearchHandle<AnySearch>;
using SelfPlayHandle = SearchHandle<AnySelfPlay>;

inline nb::dict matches_dict(MatchColumns&& g) {
  nb::dict out;
  out["match"] = owned(std::move(g.match));
  out["plies"] = owned(std::move(g.plies));
  out["outcome"] = owned(std::move(g.outcome));
  out["resigned"] = owned(std::move(g.resigned));
  out["never_resign"] = owned(std::move(g.never_resign));
  out["lowest_winner"] = owned(std::move(g.lowest_winner));
  out["action"] = owned(std::move(g.action));
  out["seat"] = owned(std::move(g.seat));
  out["full"] = owned(std::move(g.full));
  out["value"] = owned(std::move(g.value));
  out["version"] = owned(std::move(g.version));
  out["targets"] = owned(std::move(g.targets));
  out["target_move"] = owned(std::move(g.target_move));
  out["target_share"] = owned(std::move(g.target_share));
  return out;
}

inline void bind_trees(nb::module_& m) {
  using H = TreesHandle;
  nb::class_<H>(m, "SearchHandle", "Trees of one game. Use ludus.mcts.Trees.")
      .def_prop_ro("slots", [](H& h) { return h.inner->slots(); })
      .def_prop_ro("instant", [](H& h) { return h.inner->instant(); })
      .def("attach", &H::attach, nb::arg("obs"),
           nb::sig("def attach(self, obs: list[typing.Any]) -> None"))
      .def("reset",
           [](H& h, int slot, std::uint64_t seed, std::uint64_t match) {
             h.inner->reset(slot, {seed, match});
           })
      .def("set_state",
           [](H& h, int slot, const nb::bytes& state) {
             return h.inner->set_state(slot,
                                       {static_cast<const std::byte*>(state.data()), state.size()});
           })
      .def("state",
           [](H& h, int slot) {
             const auto s = h.inner->state(slot);
             return nb::bytes(s.data(), s.size());
           })
      .def("begin", [](H& h, int slot, int visits, bool noise,
                       std::uint64_t seed) { h.inner->begin(slot, visits, noise, seed); })
      .def("stop", [](H& h, int slot) { h.inner->stop(slot); })
      .def("done", [](H& h, int slot) { return h.inner->done(slot); })
      .def("collect", &H::collect, nb::arg("rounds") = 1)
      .def("deliver", &H::deliver, nb::arg("policy"), nb::arg("value"),
           nb::sig("def deliver(self, policy: typing.Any, value: typing.Any) -> None"))
      .def("play", [](H& h, int slot, int move) { h.inner->play(slot, move); })
      .def("choose",
           [](H& h, int slot, float temperature) { return h.inner->choose(slot, temperature); })
      .def(
          "report",
          [](H& h, int slot) {
            RootReport r = h.inner->report(slot);
            return nb::make_tuple(r.seat, r.visits, r.value, owned(std::move(r.move)),
                                  owned(std::move(r.move_visits)), owned(std::move(r.prior)),
                                  owned(std::move(r.mean)), owned(std::move(r.policy)));
          },
          nb::sig("def report(self, slot: int) -> tuple[int, int, float, typing.Any, typing.Any, "
                  "typing.Any, typing.Any, typing.Any]"))
      .def("restrict",
           [](H& h, int slot, int seat, const nb::bytes& barred, int depth) {
             h.inner->restrict(slot, seat,
                               {static_cast<const std::uint8_t*>(barred.data()), barred.size()},
                               depth);
           })
      .def("line",
           [](H& h, int slot, int move, int most) {
             std::vector<std::tuple<int, int>> out;
             for (const LineMove& m : h.inner->line(slot, move, most)) {
               out.emplace_back(m.move, m.visits);
             }
             return out;
           })
      .def("over", [](H& h, int slot) { return h.inner->over(slot); })
      .def("outcome", [](H& h, int slot) { return h.inner->outcome(slot); })
      .def("consistent", [](H& h, int slot) { return h.inner->consistent(slot); })
      .def("simulations", [](H& h) { return h.inner->simulations(); })
      .def("cache_counts",
           [](H& h) {
             const auto c = h.inner->cache_counts();
             return std::make_tuple(c[0], c[1]);
           })
      .def("forget", [](H& h) { h.inner->forget(); });
}

inline void bind_self_play(nb::module_& m) {
  using H = SelfPlayHandle;
  nb::class_<H>(m, "SelfPlayHandle", "Matches of a search against itself. Use ludus.mcts.SelfPlay.")
      .def_prop_ro("slots", [](H& h) { return h.inner->slots(); })
      .def("attach", &H::attach, nb::arg("obs"),
           nb::sig("def attach(self, obs: list[typing.Any]) -> None"))
      .def("collect", &H::collect, nb::arg("rounds") = 1)
      .def("deliver", &H::deliver, nb::arg("policy"), nb::arg("value"),
           nb::sig("def deliver(self, policy: typing.Any, value: typing.Any) -> None"))
      .def("set_version", [](H& h, std::int32_t version) { h.inner->set_version(version); })
      .def("set_resign", [](H& h, float below) { h.inner->set_resign(below); })
      .def(
          "take_matches", [](H& h) { return matches_dict(h.inner->take_matches()); },
          nb::sig("def take_matches(self) -> dict[str, typing.Any]"))
      .def("simulations", [](H& h) { return h.inner->simulations(); })
      .def("moves", [](H& h) { return h.inner->moves(); })
      .def("cache_counts", [](H& h) {
        const auto c = h.inner->cache_counts();
        return std::make_tuple(c[0], c[1]);
      });
}

struct PlannerHandle {
  std::unique_ptr<AnyPlanner> inner;
};

inline void bind_planner(nb::module_& m) {
  nb::class_<PlannerHandle>(m, "PlannerHandle", "Plans of one seat. Use ludus.mcts.Planner.")
      .def(
          "plan",
          [](PlannerHandle& h, const nb::bytes& state, int seat, std::uint64_t seed) {
            PlanReport r;
            {
              const std::span<const std::byte> bytes{static_cast<const std::byte*>(state.data()),
                                                     state.size()};
              const nb::gil_scoped_release unlocked;
              r = h.inner->plan(bytes, seat, seed);
            }
            return nb::make_tuple(r.choice, owned(std::move(r.visits)), owned(std::move(r.mean)),
                                  r.ticks);
          },
          nb::sig("def plan(self, state: bytes, seat: int, seed: int) -> tuple[int, typing.Any, "
                  "typing.Any, int]"));
}

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
// A writable array with a row a match.
template <class T, std::size_t Axes>
using EndRows = nb::ndarray<T, nb::ndim<Axes>, nb::device::cpu, nb::c_contig>;
template <class T>
std::span<const T> span_of(const Column<T>& c) {
  return {c.data(), c.shape(0)};
}

// Marks of pieces that follow each other in an array of `size` entries.
inline bool offsets_fit(std::span<const std::int64_t> marks, std::size_t size) {
  if (marks.front() < 0 || marks.back() > static_cast<std::int64_t>(size)) return false;
  return std::is_sorted(marks.begin(), marks.end());
}

// The arrays of a ludus.flow.positions.MatchMoves: `offset[i]` to `offset[i + 1]` of actions are
// match i's moves.
struct MatchMoves {
  explicit MatchMoves(nb::handle moves)
      : match_(field<Column<std::uint64_t>>(moves, "match")),
        actions_(field<Column<std::uint16_t>>(moves, "actions")),
        offset_(field<Column<std::int64_t>>(moves, "offset")) {
    if (offset().size() != size() + 1 || !offsets_fit(offset(), actions().size())) {
      throw SearchError("matches: offsets that do not fit their arrays");
    }
  }
  [[nodiscard]] std::size_t size() const { return match_.shape(0); }
  [[nodiscard]] std::uint64_t number(std::size_t i) const { return match_.data()[i]; }
  [[nodiscard]] std::span<const std::uint16_t> of(std::size_t i) const {
    const auto first = static_cast<std::size_t>(offset()[i]);
    return actions().subspan(first, static_cast<std::size_t>(offset()[i + 1]) - first);
  }

 private:
  [[nodiscard]] std::span<const std::uint16_t> actions() const { return span_of(actions_); }
  [[nodiscard]] std::span<const std::int64_t> offset() const { return span_of(offset_); }

  Column<std::uint64_t> match_;
  Column<std::uint16_t> actions_;
  Column<std::int64_t> offset_;
};

// Answers a ludus.flow.positions.PositionQuery match by match: `first[i]` to `first[i + 1]` of
// wanted are match i's plies in rising order.
inline void read_positions(AnyPositions& reader, std::uint64_t seed, nb::handle query,
                           const nb::list& obs, const SearchArray& mask) {
  const MatchMoves moves(query.attr("moves"));
  const auto first_of = field<Column<std::int64_t>>(query, "first");
  const auto plies = field<Column<std::int32_t>>(query, "wanted");
  const auto row_of = field<Column<std::int32_t>>(query, "rows");
  const auto first = span_of(first_of);
  const auto wanted = span_of(plies), rows = span_of(row_of);
  const auto [base, count] = tensor_pointers(reader.spec(), obs);
  const std::size_t games = moves.size();
  if (first.size() != games + 1 || rows.size() != wanted.size() ||
      !offsets_fit(first, wanted.size())) {
    throw SearchError("positions: offsets that do not fit their arrays");
  }
  if (mask.nbytes() != static_cast<std::size_t>(count) * reader.spec().mask_bytes()) {
    throw SearchError("positions: mask does not have the shape of the game's spec");
  }
  for (const std::int32_t row : rows) {
    if (row < 0 || row >= count) throw SearchError("positions: row " + std::to_string(row));
  }
  const nb::gil_scoped_release unlocked;
  for (std::size_t i = 0; i < games; ++i) {
    const auto f = static_cast<std::size_t>(first[i]), l = static_cast<std::size_t>(first[i + 1]);
    if (!std::is_sorted(wanted.begin() + static_cast<std::ptrdiff_t>(f),
                        wanted.begin() + static_cast<std::ptrdiff_t>(l)) ||
        (f < l && wanted[f] < 0)) {
      throw SearchError("positions: wanted plies must rise from 0");
    }
    reader.read(
        {{seed, moves.number(i)}, moves.of(i), wanted.subspan(f, l - f), rows.subspan(f, l - f)},
        base, static_cast<std::uint8_t*>(mask.data()));
  }
}

// How whole matches ended, a row each, into a ludus.flow.positions.EndArrays: `counted` 0 where
// there was no count, and the others 0 too.
inline void read_ends(AnyPositions& reader, std::uint64_t seed, nb::handle match_moves,
                      nb::handle ends) {
  const MatchMoves moves(match_moves);
  const auto owner = field<EndRows<std::int8_t, 2>>(ends, "ownership", false);
  const auto score = field<EndRows<float, 1>>(ends, "score", false);
  const auto counted = field<EndRows<std::uint8_t, 1>>(ends, "counted", false);
  const std::size_t games = moves.size();
  const auto cells = static_cast<std::size_t>(reader.spec().counted_cells);
  if (owner.shape(0) != games || owner.shape(1) != cells || score.shape(0) != games ||
      counted.shape(0) != games) {
    throw SearchError("ends: expected ownership [" + std::to_string(games) + ", " +
                      std::to_string(cells) + "], score and counted [" + std::to_string(games) +
                      "]");
  }
  const nb::gil_scoped_release unlocked;
  for (std::size_t i = 0; i < games; ++i) {
    const std::span<std::int8_t> row(owner.data() + i * cells, cells);
    const auto points = reader.final_score({seed, moves.number(i)}, moves.of(i), row);
    if (!points) std::ranges::fill(row, std::int8_t{0});
    score.data()[i] = points.value_or(0.0F);
    counted.data()[i] = points ? 1 : 0;
  }
}

inline void bind_search(nb::module_& m, const GameSet& games) {
  bind_trees(m);
  bind_self_play(m);
  bind_planner(m);
  m.def("search_settings", &search_settings,
        "(name, default, lowest, highest) of each setting of a search.");
  m.def(
      "make_planner",
      [&games](const std::string& game, const ParamDict& params, const SettingDict& settings) {
        PlannerOptions o;
        Settings s(settings);
        s.read("trees", o.trees);
        s.read("rollouts", o.rollouts);
        s.read("frame_skip", o.frame_skip);
        s.read("opponent", o.opponent);
        s.read("opponent_skip", o.opponent_skip);
        s.read("explore", o.explore);
        s.read("guide", o.guide);
        s.read("guide_share", o.guide_share);
        s.read("draw", o.draw);
        s.read("bias", o.bias);
        s.read("keep_wins", o.keep_wins);
        s.read("seconds", o.seconds);
        s.read("threads", o.threads);
        s.finish();
        return new PlannerHandle{games.at(game).planner(Params(params), o)};
      },
      nb::arg("game"), nb::arg("params"), nb::arg("settings"),
      "Makes a planner for one seat among bots. Raises ParamError or SearchError.");
  m.def(
      "make_search",
      [&games](const std::string& game, const ParamDict& params, const SettingDict& settings,
               int slots, const std::string& evaluator, int rollouts, std::uint64_t seed,
               std::size_t cache) {
        SearchOptions o;
        Settings s(settings);
        read_search(s, o);
        s.finish();
        return new TreesHandle{
            games.at(game).search(Params(params), o, {evaluator, rollouts, seed, cache}, slots),
            nb::none()};
      },
      nb::arg("game"), nb::arg("params"), nb::arg("settings"), nb::arg("slots"),
      nb::arg("evaluator"), nb::arg("rollouts") = 1, nb::arg("seed") = 0, nb::arg("cache") = 0,
      "Makes trees. Raises ParamError or SearchError.");
  m.def(
      "make_self_play",
      [&games](const std::string& game, const ParamDict& params, const SettingDict& settings,
               std::uint64_t seed, const std::string& evaluator, int rollouts, std::size_t cache) {
        SearchOptions o;
        SelfPlayOptions p;
        Settings s(settings);
        read_search(s, o);
        read_self_play(s, p);
        s.finish();
        p.seed = seed;
        return new SelfPlayHandle{
            games.at(game).self_play(Params(params), o, p, {evaluator, rollouts, seed, cache}),
            nb::none()};
      },
      nb::arg("game"), nb::arg("params"), nb::arg("settings"), nb::arg("seed"),
      nb::arg("evaluator"), nb::arg("rollouts") = 1, nb::arg("cache") = 0,
      "Makes self-play. Raises ParamError or SearchError.");
  m.def(
      "read_positions",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t seed,
               nb::handle query, const nb::list& obs, const SearchArray& mask) {
        const auto reader = games.at(game).positions(Params(params));
        read_positions(*reader, seed, query, obs, mask);
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("query"), nb::arg("obs"),
      nb::arg("mask"),
      nb::sig("def read_positions(game: str, params: collections.abc.Mapping[str, str], seed: int, "
              "query: typing.Any, obs: list[typing.Any], mask: typing.Any) -> None"),
      "Positions of recorded matches (ludus.flow.positions.PositionQuery), written into the "
      "caller's arrays. Raises SearchError.");
  m.def(
      "read_ends",
      [&games](const std::string& game, const ParamDict& params, std::uint64_t seed,
               nb::handle moves, nb::handle ends) {
        const auto reader = games.at(game).positions(Params(params));
        read_ends(*reader, seed, moves, ends);
      },
      nb::arg("game"), nb::arg("params"), nb::arg("seed"), nb::arg("moves"), nb::arg("ends"),
      nb::sig("def read_ends(game: str, params: collections.abc.Mapping[str, str], seed: int, "
              "moves: typing.Any, ends: typing.Any) -> None"),
      "How recorded matches (ludus.flow.positions.MatchMoves) ended for seat 0, written into the "
      "arrays of a ludus.flow.positions.EndArrays. Raises SearchError.");
}

}  // namespace ludus::bind
