// Go's interface beyond the contract of games: for GTP, SGF and analyses.
#include "bind/go.hpp"

#include "base/json.hpp"
#include "game/any_match.hpp"
#include "games/go/go.hpp"

namespace ludus::bind {
namespace {

MatchOf<Go>& go_match(AnyMatch& match) {
  auto* go = dynamic_cast<MatchOf<Go>*>(&match);
  if (go == nullptr) throw ParamError("expected a match of go, found one of " + match.spec().name);
  return *go;
}

int checked(const MatchOf<Go>& m, int point) {
  if (point < 0 || point >= m.rules().points()) {
    throw ParamError("go: no point " + std::to_string(point));
  }
  return point;
}

int bounded(int playouts) {
  if (playouts < 0 || playouts > 1'000'000) throw ParamError("playouts: expected 0 to 1000000");
  return playouts;
}

constexpr std::uint64_t kReadingStream = 0x72656164;

}  // namespace

void bind_go(nb::module_& m) {
  m.def(
      "go_legal",
      [](AnyMatch& a, int seat, int move) {
        auto& g = go_match(a);
        return (seat == 0 || seat == 1) && Go::is_legal(g.rules(), g.raw(), seat, move);
      },
      nb::arg("match"), nb::arg("seat"), nb::arg("move"),
      "Whether a move is legal for a seat, whether or not it is its turn.");
  m.def(
      "go_margin",
      [](AnyMatch& a, const std::vector<int>& dead) {
        auto& g = go_match(a);
        for (const int p : dead) checked(g, p);
        return (dead.empty() ? Go::margin2(g.rules(), g.raw())
                             : Go::margin2_without(g.rules(), g.raw(), dead)) /
               2.0;
      },
      nb::arg("match"), nb::arg("dead") = std::vector<int>{},
      "Black's points minus White's and komi on the current board, without the dead stones.");
  m.def(
      "go_dead",
      [](AnyMatch& a, int playouts, std::uint64_t seed) {
        auto& g = go_match(a);
        nb::gil_scoped_release release;
        return Go::dead_stones(g.rules(), g.raw(), bounded(playouts),
                               Rng({seed, 0}, kReadingStream));
      },
      nb::arg("match"), nb::arg("playouts"), nb::arg("seed") = 1,
      "Points of dead stones: those that cannot live (Benson), and those that the opponent owns "
      "after three of four random continuations.");
  m.def(
      "go_ownership",
      [](AnyMatch& a, int playouts, std::uint64_t seed) {
        auto& g = go_match(a);
        if (playouts < 1) throw ParamError("playouts: expected 1 to 1000000");
        nb::gil_scoped_release release;
        return Go::ownership(g.rules(), g.raw(), bounded(playouts), Rng({seed, 0}, kReadingStream));
      },
      nb::arg("match"), nb::arg("playouts"), nb::arg("seed") = 1,
      "A point: +1 Black's .. -1 White's over random continuations.");
  m.def(
      "go_resume",
      [](AnyMatch& a, int seat) {
        if (seat != 0 && seat != 1) throw ParamError("go: no seat " + std::to_string(seat));
        if (a.records()) throw ParamError("go: a replay cannot hold a match resumed after passes");
        Go::resume(go_match(a).raw(), seat);
      },
      nb::arg("match"), nb::arg("seat"),
      "Resumes play after two passes with the given seat to move. Raises ParamError for a recorded "
      "match.");
  m.def(
      "go_ladder",
      [](AnyMatch& a, int point, bool owner_moves) {
        auto& g = go_match(a);
        return Go::ladder_takes(g.rules(), g.raw(), checked(g, point), owner_moves);
      },
      nb::arg("match"), nb::arg("point"), nb::arg("owner_moves"),
      "Whether a ladder takes the chain at a point.");
  m.def(
      "go_read_ladder",
      [](AnyMatch& a, int point, bool owner_moves, int budget) {
        auto& g = go_match(a);
        checked(g, point);
        if (budget < 1 || budget > 1'000'000) throw ParamError("budget: expected 1 to 1000000");
        nb::gil_scoped_release release;
        const Go::Ladder ladder = Go::read_ladder(g.rules(), g.raw(), point, owner_moves, budget);
        JsonWriter j;
        j.open('{').field("taken", ladder.taken).field("settled", ladder.settled);
        j.field("reads", ladder.reads);
        const auto points = [&](const char* name, const std::vector<int>& moves) {
          j.key(name).open('[');
          for (const int move : moves) j.value(move);
          j.close(']');
        };
        points("line", ladder.line);
        points("tries", ladder.tries);
        points("right", ladder.right);
        j.close('}');
        return std::move(j).text();
      },
      nb::arg("match"), nb::arg("point"), nb::arg("owner_moves"), nb::arg("budget"),
      "The ladder of the chain at a point, as JSON: taken, settled (the budget of moves was "
      "enough), "
      "reads, line, tries (first moves that are read) and right (those that take or save it).");
}

}  // namespace ludus::bind
