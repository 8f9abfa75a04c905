// A rulebook: a whole real-time strategy game as data. Unit types, costs, build permissions, attack
// permissions, terrain, start, end, waves, rewards and scripted bots, read from text and compiled
// into arrays when the rules are made. docs/games/rts.md has every key.
#pragma once

#include <string>
#include <vector>

#include "game/params.hpp"
#include "games/rts/engine/start_positions.hpp"
#include "games/rts/engine/types.hpp"

namespace ludus::rts {

inline constexpr int kMaxWaves = 8;
inline constexpr int kMaxBookBots = 8;
inline constexpr std::size_t kMaxBookBytes = 1U << 16;

// Who has won when the tick limit is reached.
enum class AtLimit : std::uint8_t { draw, seat_0, seat_1, richer, stronger };

// `count` units, and `grow` more with each wave, come to a seat at (x, y) every so often, and
// attack.
struct BookWave {
  std::int32_t seat = 1, type = 0, first = 0, every = 0, count = 0,
               grow = 0;  // ticks; every 0: once
  float x = 0.0F, y = 0.0F;
};

struct BookRewards {
  float win = 1.0F, loss = -1.0F, draw = 0.0F;
  float kill = 0.0F, lost = 0.0F;  // for 100 of the cost of a unit that fell
  float income = 0.0F;             // for 100 of money that came in
  float tick = 0.0F;

  [[nodiscard]] bool shaped() const {
    return kill != 0.0F || lost != 0.0F || income != 0.0F || tick != 0.0F;
  }
};

// Everything that a match needs to be played, and that may differ from match to match. Trivially
// copyable: a match under random rules carries its own.
struct Numbers {
  EngineRules engine;
  StartPositions start_positions;
  std::array<std::int32_t, kMaxTypes> extra_tries{}, extra_tenths{};
  BookRewards rewards;
  std::int32_t money_to_win = 0;  // 0: money does not win
  std::array<BookWave, kMaxWaves> wave{};
  std::int32_t waves = 0;
};

// A scripted bot: gather with so many, have one of each of these buildings, train those, and go.
struct BookBot {
  std::string name;
  std::int32_t gatherers = 3;
  std::uint16_t builds = 0, trains = 0;  // bit t: type t
  std::int32_t attack_at = 5;            // troops
  bool skirmish = false;                 // hit and run instead of charging
};

// A number of the rules that is drawn for every match.
struct Drawn {
  std::string key;
  std::size_t offset;  // in Numbers
  enum class Kind : std::uint8_t { i32, u16, u32, f32 } kind;
  double low, high;  // in the units of the field
};

struct Book {
  std::string title = "RTS";
  Numbers numbers;
  std::vector<std::string> names;  // of the types
  std::vector<std::string> wave_names;
  std::vector<int> start_order;  // types in the order in which extra units are drawn
  std::string terrain;           // rows joined by commas, or "": all cells are free
  bool clean = true;             // the ruleset without the original's quirks
  AtLimit at_limit = AtLimit::draw;
  int frame_skip = 50;
  int pixels = 0;  // of a cell along one axis in the tensor `pixels`; 0: there is none
  std::uint32_t first_decision = 0;  // before this tick no seat may act
  std::vector<BookBot> bots;
  std::vector<Drawn> drawn;

  // Compiled from the above.
  bool starts_on_map = false;                  // the terrain contains where bases and resources are
  std::array<std::uint32_t, kMaxSide> wall{};  // bit x of row y
  struct Place {
    int x = -1, y = -1;
  };
  std::array<Place, kStartSeats> base_at{}, resource_at{};
  std::uint16_t gatherers = 0;  // types that gather
  std::uint16_t troops = 0;     // types that attack and do not gather
  std::uint16_t buildable = 0;  // types that some type builds
  std::vector<int> build_menu;  // those, in rising number

  [[nodiscard]] const EngineRules& engine() const { return numbers.engine; }
  [[nodiscard]] int types() const { return numbers.engine.types; }
};

// Names of the rulebooks that are built in, and their text.
[[nodiscard]] std::vector<std::string> builtin_books();
[[nodiscard]] std::string builtin_book(const std::string& name);  // "" if there is none

// The rulebook in `text`: the name of a built-in one, or lines `key=value`. `randomise`:
// lines `key=low,high`. Throws ParamError with every mistake, one a line: the key, its value, what
// was expected and the nearest valid one.
[[nodiscard]] Book read_book(const std::string& text, const std::string& randomise);

// Every key and value, one a line, as read_book takes them.
[[nodiscard]] std::string print_book(const Book& book);

// JSON schema of a rulebook's TOML form.
[[nodiscard]] std::string book_schema();

}  // namespace ludus::rts
