#include "bind/hosted.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bind/search.hpp"
#include "game/replay.hpp"
#include "host/hosted_game.hpp"

namespace ludus::bind {
namespace {

DType dtype_of(const std::string& name) {
  constexpr std::array<std::pair<const char*, DType>, 7> kNames = {{{"bits", DType::bits},
                                                                    {"u8", DType::u8},
                                                                    {"i8", DType::i8},
                                                                    {"u16", DType::u16},
                                                                    {"i16", DType::i16},
                                                                    {"i32", DType::i32},
                                                                    {"f32", DType::f32}}};
  for (const auto& [known, dtype] : kNames) {
    if (name == known) return dtype;
  }
  throw SearchError("search: dtype " + name);
}

// Fields of a GameSpec that a search reads, of ludus.flow.
GameSpec spec_of(const nb::handle& given) {
  GameSpec s;
  s.name = nb::cast<std::string>(given.attr("name"));
  s.seats = nb::cast<int>(given.attr("seats"));
  s.turn_based = nb::cast<bool>(given.attr("turn_based"));
  s.perfect_information = nb::cast<bool>(given.attr("perfect_information"));
  s.deterministic = nb::cast<bool>(given.attr("deterministic"));
  s.max_ticks = nb::cast<int>(given.attr("max_ticks"));
  for (const nb::handle t : given.attr("observation")) {
    TensorSpec tensor;
    tensor.name = nb::cast<std::string>(t.attr("name"));
    tensor.dtype = dtype_of(nb::cast<std::string>(t.attr("dtype")));
    for (const nb::handle n : t.attr("shape")) tensor.shape.push_back(nb::cast<int>(n));
    s.observation.push_back(std::move(tensor));
  }
  for (const nb::handle h : given.attr("heads")) {
    HeadSpec head;
    head.name = nb::cast<std::string>(h.attr("name"));
    head.size = nb::cast<int>(h.attr("size"));
    s.heads.push_back(std::move(head));
  }
  return s;
}

using StepTuple = std::tuple<int, float, float>;

// One Source of ludus.games.searchable, and the arrays in which its methods leave what they show.
struct Bridge {
  GameSpec spec;
  nb::object begin, clone, play, observe;
  nb::object keep;  // the arrays
  const std::uint8_t* mask = nullptr;
  std::vector<std::pair<const std::byte*, std::size_t>> tensors;

  explicit Bridge(const nb::object& source)
      : spec(spec_of(source.attr("spec"))),
        begin(source.attr("begin")),
        clone(source.attr("clone")),
        play(source.attr("play")),
        observe(source.attr("observe")) {
    const nb::list obs(source.attr("obs"));
    nb::list arrays;
    for (const nb::handle a : obs) arrays.append(a);
    const auto [base, rows] = tensor_pointers(spec, arrays);
    if (rows != 1) throw SearchError("search: a source's arrays have one row");
    for (std::size_t i = 0; i < base.size(); ++i) {
      tensors.emplace_back(base[i], spec.observation[i].bytes());
    }
    const auto shown = nb::cast<SearchArray>(source.attr("mask"));
    if (shown.nbytes() != spec.mask_bytes()) throw SearchError("search: a source's mask");
    mask = static_cast<const std::uint8_t*>(shown.data());
    arrays.append(source.attr("mask"));
    keep = arrays;
  }
  HostedStep step(const StepTuple& returned, std::uint8_t* out) const {
    const auto [seat, first, second] = returned;
    if (seat >= 0) std::memcpy(out, mask, spec.mask_bytes());
    return {seat, {first, second}};
  }
};

// The game object of one position. The core calls it with or without the GIL.
class PythonMatch final : public HostedMatch {
 public:
  PythonMatch(const Bridge& bridge, nb::object game) : bridge_(bridge), game_(std::move(game)) {}
  PythonMatch(const PythonMatch&) = delete;
  PythonMatch& operator=(const PythonMatch&) = delete;
  ~PythonMatch() override {
    const nb::gil_scoped_acquire locked;
    game_.reset();
  }
  [[nodiscard]] std::unique_ptr<HostedMatch> clone() const override {
    const nb::gil_scoped_acquire locked;
    return std::make_unique<PythonMatch>(bridge_, bridge_.clone(game_));
  }
  HostedStep play(int seat, std::int32_t move, std::uint8_t* mask) override {
    const nb::gil_scoped_acquire locked;
    return bridge_.step(nb::cast<StepTuple>(bridge_.play(game_, seat, move)), mask);
  }
  void observe(int seat, std::span<std::byte* const> tensors) const override {
    const nb::gil_scoped_acquire locked;
    bridge_.observe(game_, seat);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::memcpy(tensors[i], bridge_.tensors[i].first, bridge_.tensors[i].second);
    }
  }

 private:
  const Bridge& bridge_;
  nb::object game_;
};

class PythonSource final : public HostedSource {
 public:
  explicit PythonSource(const nb::object& source) : bridge_(std::make_unique<Bridge>(source)) {}
  PythonSource(const PythonSource&) = delete;
  PythonSource& operator=(const PythonSource&) = delete;
  ~PythonSource() override {
    const nb::gil_scoped_acquire locked;
    bridge_.reset();
  }
  [[nodiscard]] const GameSpec& spec() const override { return bridge_->spec; }
  std::unique_ptr<HostedMatch> begin(MatchSeed seed, HostedStep& step,
                                     std::uint8_t* mask) override {
    const nb::gil_scoped_acquire locked;
    nb::object made = bridge_->begin(seed.seed, seed.match);
    const auto [game, returned] = nb::cast<std::pair<nb::object, StepTuple>>(made);
    step = bridge_->step(returned, mask);
    return std::make_unique<PythonMatch>(*bridge_, game);
  }

 private:
  std::unique_ptr<Bridge> bridge_;
};

}  // namespace

void bind_hosted(nb::module_& m) {
  m.def(
      "make_hosted_search",
      [](const nb::object& source, const SettingDict& settings, int slots,
         const std::string& evaluator, int rollouts, std::uint64_t seed, std::size_t cache) {
        SearchOptions o;
        Settings s(settings);
        read_search(s, o);
        s.finish();
        return new TreesHandle{hosted_search(std::make_unique<PythonSource>(source), o,
                                             {evaluator, rollouts, seed, cache}, slots),
                               nb::none()};
      },
      nb::arg("source"), nb::arg("settings"), nb::arg("slots"), nb::arg("evaluator"),
      nb::arg("rollouts") = 1, nb::arg("seed") = 0, nb::arg("cache") = 0,
      nb::sig("def make_hosted_search(source: typing.Any, settings: "
              "collections.abc.Mapping[str, float], slots: int, evaluator: str, rollouts: int = 1, "
              "seed: int = 0, cache: int = 0) -> SearchHandle"),
      "make_search over a Source of ludus.games.searchable. Raises SearchError.");
  m.def(
      "make_hosted_self_play",
      [](const nb::object& source, const SettingDict& settings, std::uint64_t seed,
         const std::string& evaluator, int rollouts, std::size_t cache) {
        SearchOptions o;
        SelfPlayOptions p;
        Settings s(settings);
        read_search(s, o);
        read_self_play(s, p);
        s.finish();
        p.seed = seed;
        return new SelfPlayHandle{hosted_self_play(std::make_unique<PythonSource>(source), o, p,
                                                   {evaluator, rollouts, seed, cache}),
                                  nb::none()};
      },
      nb::arg("source"), nb::arg("settings"), nb::arg("seed"), nb::arg("evaluator"),
      nb::arg("rollouts") = 1, nb::arg("cache") = 0,
      nb::sig("def make_hosted_self_play(source: typing.Any, settings: "
              "collections.abc.Mapping[str, float], seed: int, evaluator: str, rollouts: int = 1, "
              "cache: int = 0) -> SelfPlayHandle"),
      "make_self_play over a Source of ludus.games.searchable. Raises SearchError.");
  m.def(
      "read_hosted_positions",
      [](const nb::object& source, std::uint64_t seed, const Column<std::uint64_t>& match,
         const Column<std::uint16_t>& actions, const Column<std::int64_t>& offset,
         const Column<std::int64_t>& first, const Column<std::int32_t>& wanted,
         const Column<std::int32_t>& rows, const nb::list& obs, const SearchArray& mask) {
        const auto reader = hosted_positions(std::make_unique<PythonSource>(source));
        read_positions(*reader, seed, span_of(match), span_of(actions), span_of(offset),
                       span_of(first), span_of(wanted), span_of(rows), obs, mask);
      },
      nb::arg("source"), nb::arg("seed"), nb::arg("match"), nb::arg("actions"), nb::arg("offset"),
      nb::arg("first"), nb::arg("wanted"), nb::arg("rows"), nb::arg("obs"), nb::arg("mask"),
      nb::sig(
          "def read_hosted_positions(source: typing.Any, seed: int, match: typing.Any, actions: "
          "typing.Any, offset: typing.Any, first: typing.Any, wanted: typing.Any, rows: "
          "typing.Any, obs: list[typing.Any], mask: typing.Any) -> None"),
      "read_positions over a Source of ludus.games.searchable. Raises SearchError.");
  m.def(
      "hosted_state",
      [](std::uint64_t seed, std::uint64_t match, const std::vector<std::int32_t>& moves) {
        const std::vector<std::byte> bytes = hosted_state({seed, match}, moves);
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("seed"), nb::arg("match"), nb::arg("moves"),
      "A match of a game written in Python after these moves, as SearchHandle.set_state takes it.");
  m.def(
      "replay_encode",
      [](const std::string& game, int version, const ParamDict& params, std::uint64_t seed,
         std::uint64_t match, std::vector<std::string> players, int heads,
         const std::vector<std::uint32_t>& ticks, const std::vector<std::uint8_t>& seats,
         std::vector<std::int32_t> actions, std::uint32_t length, std::uint32_t hash_every,
         std::vector<std::uint64_t> hashes, std::uint64_t final_hash, bool over,
         std::vector<float> outcome, std::vector<float> returns, int reproduced) {
        const std::size_t n = players.size();
        if (seats.size() != ticks.size() || outcome.size() != n || returns.size() != n ||
            heads < 0 || actions.size() != ticks.size() * static_cast<std::size_t>(heads) ||
            !std::is_sorted(ticks.begin(), ticks.end()) || hash_every < 1 ||
            hashes.size() != length / hash_every + 1 || reproduced < 0 || reproduced > 2) {
          throw ReplayError("replay: columns that do not fit each other");
        }
        Replay r;
        r.game = game;
        r.version = version;
        r.params = params;
        r.seed = {seed, match};
        r.heads = heads;
        r.players = std::move(players);
        for (std::size_t i = 0; i < ticks.size(); ++i)
          r.decisions.push_back({ticks[i], seats[i], -1});
        r.actions = std::move(actions);
        r.ticks = length;
        r.hash_every = hash_every;
        r.hashes = std::move(hashes);
        r.final_hash = final_hash;
        r.over = over;
        r.outcome = std::move(outcome);
        r.hosted = {static_cast<Reproduced>(reproduced), std::move(returns)};
        const std::string data = encode_replay(r);
        static_cast<void>(
            decode_replay(std::as_bytes(std::span(data))));  // refuses unreadable bytes
        return nb::bytes(data.data(), data.size());
      },
      nb::kw_only(), nb::arg("game"), nb::arg("version"), nb::arg("params"), nb::arg("seed"),
      nb::arg("match"), nb::arg("players"), nb::arg("heads"), nb::arg("ticks"), nb::arg("seats"),
      nb::arg("actions"), nb::arg("length"), nb::arg("hash_every"), nb::arg("hashes"),
      nb::arg("final_hash"), nb::arg("over"), nb::arg("outcome"), nb::arg("returns"),
      nb::arg("reproduced"),
      "The bytes of a replay of a game written in Python; see ludus.games.taped. Raises "
      "ReplayError.");
  m.def(
      "replay_hashes",
      [](const nb::bytes& data) {
        return decode_replay({static_cast<const std::byte*>(data.data()), data.size()}).hashes;
      },
      nb::arg("data"),
      "The hashes of a replay, every hash_every ticks from 0. Raises ReplayError.");
}

}  // namespace ludus::bind
