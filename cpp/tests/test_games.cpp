// Rules of every built-in game.
#include "game/conformance.hpp"
#include "game/perft.hpp"
#include "games/tic_tac_toe/tic_tac_toe.hpp"
#include "host/builtin.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

TEST_CASE("games: every built-in game conforms") {
  for (const AnyGame* game : builtin_games().all()) {
    const Findings f = game->conformance({}, {5, 0}, 6, 2500);
    INFO(game->name(), ": ", f.json());
    CHECK(f.clean());
  }
}

TEST_CASE("games: conformance finds a broken game") {
  // Tic-tac-toe that forgets which seat opened when it resets, and counts its ticks twice.
  struct Broken : TicTacToe {
    static void reset(const Rules& rules, State& s, MatchSeed seed) {
      const std::uint8_t before = s.to_move;
      TicTacToe::reset(rules, s, seed);
      s.to_move = before & 1;
    }
    static void advance(const Rules& rules, State& s) {
      TicTacToe::advance(rules, s);
      ++s.tick;
    }
    static void legal(const Rules&, const State&, int, std::uint8_t* mask) {
      std::fill_n(mask, 9, std::uint8_t{1});
    }
  };
  Conformance<Broken> c(Params{}, 5, 0);
  const std::string report = c.run(4).json();
  for (const char* check : {"reset", "ticks", "legal"}) {
    INFO(report);
    CHECK(report.find("{\"check\":\"" + std::string(check) + "\",\"passed\":false") !=
          std::string::npos);
  }
}

TEST_CASE("games: conformance finds a count that is wrong, or undeclared") {
  struct Miscounted : TicTacToe {
    static GameSpec spec(const Rules& rules) {
      GameSpec s = TicTacToe::spec(rules);
      s.counted_cells = 9;
      return s;
    }
    static std::optional<float> final_score(const Rules&, const State&,
                                            std::span<std::int8_t> owner) {
      std::ranges::fill(owner, std::int8_t{2});
      return 0.5F;
    }
  };
  struct Undeclared : Miscounted {
    static GameSpec spec(const Rules& rules) { return TicTacToe::spec(rules); }
  };
  const std::string wrong = Conformance<Miscounted>(Params{}, 5, 0).run(4).json();
  CHECK(wrong.find("{\"check\":\"count\",\"passed\":false,\"detail\":\"tick ") !=
        std::string::npos);
  CHECK(wrong.find("an owner that is not +1, 0 or -1") != std::string::npos);
  const std::string undeclared = Conformance<Undeclared>(Params{}, 5, 0).run(1).json();
  CHECK(undeclared.find("counted_cells and count() go together") != std::string::npos);
}

TEST_CASE("games: conformance finds a bot whose choice is not what it plays") {
  struct Other : TicTacToe {  // always the first empty cell
    static void bot_choice(const Rules& rules, State& s, int seat, int bot,
                           std::span<std::int32_t> action) {
      TicTacToe::bot_choice(rules, s, seat, bot, action);
      action[0] = std::countr_one(static_cast<unsigned>(s.marks[0] | s.marks[1]));
    }
  };
  struct Blocked : TicTacToe {  // a cell that the mask rules out
    static void bot_choice(const Rules&, State& s, int, int, std::span<std::int32_t> action) {
      action[0] = std::countr_zero(static_cast<unsigned>(s.marks[0] | s.marks[1] | 1U << 9));
    }
  };
  const std::string other = Conformance<Other>(Params{}, 5, 0).run(8).json();
  CHECK(other.find("bot_choice and act leave another state than bot") != std::string::npos);
  Conformance<Other> in_parts(Params{}, 5, 0);
  (void)in_parts.run(1);
  (void)in_parts.run(4, 1);
  CHECK(in_parts.run(3, 5).json() == other);
  CHECK(Conformance<Other>(Params{}, 5, 0).run(1, 2).json() !=
        Conformance<Other>(Params{}, 5, 0).run(1, 3).json());
  const std::string blocked = Conformance<Blocked>(Params{}, 5, 0).run(8).json();
  CHECK(blocked.find("a bot's choice is not legal") != std::string::npos);
}

TEST_CASE("games: perft of tic-tac-toe is known") {
  // Sequences of n marks in which no one had three in a row before the last.
  constexpr std::uint64_t kPaths[] = {9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872};
  for (int d = 1; d <= 9; ++d) CHECK(perft<TicTacToe>({}, {}, 0, d) == kPaths[d - 1]);
}

TEST_CASE("games: a name that does not exist is answered with the nearest one") {
  CHECK_THROWS_WITH_AS((void)builtin_games().at("tictactoe"),
                       "unknown game 'tictactoe' (did you mean tic_tac_toe?)", ParamError);
}

}  // namespace
}  // namespace ludus
