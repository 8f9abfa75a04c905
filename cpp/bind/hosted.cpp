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
      [](const nb::object& source, std::uint64_t seed, nb::handle query, const nb::list& obs,
         const SearchArray& mask) {
        const auto reader = hosted_positions(std::make_unique<PythonSource>(source));
        read_positions(*reader, seed, query, obs, mask);
      },
      nb::arg("source"), nb::arg("seed"), nb::arg("query"), nb::arg("obs"), nb::arg("mask"),
      nb::sig("def read_hosted_positions(source: typing.Any, seed: int, query: typing.Any, obs: "
              "list[typing.Any], mask: typing.Any) -> None"),
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
      [](nb::handle replay) {
        const auto ticks = field<std::vector<std::uint32_t>>(replay, "ticks");
        const auto seats = field<std::vector<std::uint8_t>>(replay, "seats");
        const auto reproduced = field<int>(replay, "reproduced");
        Replay r;
        r.game = field<std::string>(replay, "game");
        r.version = field<int>(replay, "version");
        r.params = field<ParamDict>(replay, "params");
        r.seed = {field<std::uint64_t>(replay, "seed"), field<std::uint64_t>(replay, "match")};
        r.heads = field<int>(replay, "heads");
        r.players = field<std::vector<std::string>>(replay, "players");
        r.actions = field<std::vector<std::int32_t>>(replay, "actions");
        r.ticks = field<std::uint32_t>(replay, "length");
        r.hash_every = field<std::uint32_t>(replay, "hash_every");
        r.hashes = field<std::vector<std::uint64_t>>(replay, "hashes");
        r.final_hash = field<std::uint64_t>(replay, "final_hash");
        r.over = field<bool>(replay, "over");
        r.outcome = field<std::vector<float>>(replay, "outcome");
        auto returns = field<std::vector<float>>(replay, "returns");
        const std::size_t n = r.players.size();
        if (seats.size() != ticks.size() || r.outcome.size() != n || returns.size() != n ||
            r.heads < 0 || r.actions.size() != ticks.size() * static_cast<std::size_t>(r.heads) ||
            !std::is_sorted(ticks.begin(), ticks.end()) || r.hash_every < 1 ||
            r.hashes.size() != r.ticks / r.hash_every + 1 || reproduced < 0 || reproduced > 2) {
          throw ReplayError("replay: columns that do not fit each other");
        }
        for (std::size_t i = 0; i < ticks.size(); ++i)
          r.decisions.push_back({ticks[i], seats[i], -1});
        r.hosted = {static_cast<Reproduced>(reproduced), std::move(returns)};
        const std::string data = encode_replay(r);
        static_cast<void>(
            decode_replay(std::as_bytes(std::span(data))));  // refuses what is invalid
        return nb::bytes(data.data(), data.size());
      },
      nb::arg("replay"), nb::sig("def replay_encode(replay: typing.Any) -> bytes"),
      "The bytes of a replay of a game written in Python, a ludus.flow.hosted_replay.HostedReplay. "
      "Raises ReplayError.");
  m.def(
      "replay_hashes",
      [](const nb::bytes& data) {
        return decode_replay({static_cast<const std::byte*>(data.data()), data.size()}).hashes;
      },
      nb::arg("data"),
      "The hashes of a replay, every hash_every ticks from 0. Raises ReplayError.");
}

}  // namespace ludus::bind
