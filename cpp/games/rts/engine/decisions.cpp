#include "games/rts/engine/decisions.hpp"

#include <utility>

#include "game/game.hpp"

namespace ludus::rts {

namespace {

constexpr const char* kName = "commands";
constexpr std::array<int, 3> kDistances = {2, 4, 8};  // cells
constexpr std::array<const char*, 8> kDirections = {"w", "e", "n", "s", "nw", "sw", "ne", "se"};
constexpr std::array<int, 8> kDirectionX = {-1, 1, 0, 0, -1, -1, 1, 1};
constexpr std::array<int, 8> kDirectionY = {0, 0, -1, 1, -1, 1, -1, 1};
static_assert(kPlaces == 1 + static_cast<int>(kDistances.size() * kDirections.size()));

}  // namespace

ParamSpec commands_param(const char* meaning, bool combined) {
  std::vector<std::string> levels = {"strategic", "tactical", "units"};
  if (combined) levels.insert(levels.begin() + 1, "combined");
  return {kName, ParamKind::text, "strategic", 0, 0, std::move(levels), meaning};
}

Commands read_commands(const Params& params, const std::vector<ParamSpec>& declared) {
  const std::string text = params.text(kName, declared);
  return text == "units"      ? Commands::units
         : text == "combined" ? Commands::combined
         : text == "tactical" ? Commands::tactical
                              : Commands::strategic;
}

std::vector<HeadSpec> combined_heads(std::span<const char* const> orders) {
  std::vector<HeadSpec> heads;
  for (const char* order : orders.subspan(1)) {
    HeadSpec head;
    head.name = order;
    head.size = 2;
    head.labels = {"no", "yes"};
    head.meaning = "whether this order is given";
    head.lenient = true;
    heads.push_back(std::move(head));
  }
  return heads;
}

std::uint32_t read_combined(const char* game, std::span<const char* const> orders,
                            std::span<const std::int32_t> action) {
  std::uint32_t set = 0;
  for (std::size_t h = 0; h + 1 < orders.size(); ++h) {
    if (action[h] != 0 && action[h] != 1) {
      refuse_choice(game, combined_heads(orders)[h], action[h], "expected 0 or 1");
    }
    set |= static_cast<std::uint32_t>(action[h]) << (h + 1);
  }
  return set;
}

void write_combined(std::uint32_t set, std::span<std::int32_t> action) {
  for (std::size_t h = 0; h < action.size(); ++h) {
    action[h] = static_cast<std::int32_t>(set >> (h + 1) & 1U);
  }
}

void legal_combined(std::uint32_t useful, std::size_t orders, std::uint8_t* mask) {
  for (std::size_t a = 1; a < orders; ++a) {
    *mask++ = 1;
    *mask++ = static_cast<std::uint8_t>(useful >> a & 1);
  }
}

void refuse_choice(const char* game, const HeadSpec& head, std::int32_t choice, const char* why) {
  throw GameError(std::string(game) + ": " + head.name + " = " + std::to_string(choice) + ": " +
                  why);
}

HeadSpec row_head(const char* name, int rows, int others, std::vector<int> depends_on,
                  const char* meaning) {
  HeadSpec head;
  head.name = name;
  head.size = rows + others;
  head.points_at = "units";
  head.rows = rows;
  head.depends_on = std::move(depends_on);
  head.meaning = meaning;
  return head;
}

Point middle_of_sector(const EngineRules& engine, int sector) {
  const auto across = [&](int n) {
    return static_cast<float>((2 * n + 1) * engine.side / (2 * kSectorsAcross));
  };
  return {across(sector % kSectorsAcross), across(sector / kSectorsAcross)};
}

HeadSpec sector_head(std::vector<int> depends_on, const char* meaning) {
  HeadSpec head;
  head.name = "sector";
  head.size = kSectors;
  for (int s = 0; s < kSectors; ++s) {
    head.labels.push_back(std::string("x")
                              .append(std::to_string(s % kSectorsAcross))
                              .append("_y")
                              .append(std::to_string(s / kSectorsAcross)));
  }
  head.depends_on = std::move(depends_on);
  head.meaning = meaning;
  return head;
}

// 1.. are the directions at the first distance, and so on.
Cell cell_of_place(Cell from, int place) {
  const int n = place - 1;
  const int d = place == kHere ? 0 : kDistances[static_cast<std::size_t>(n / 8)];
  const auto direction = static_cast<std::size_t>(n & 7);
  return {from.x + d * kDirectionX[direction], from.y + d * kDirectionY[direction]};
}

HeadSpec place_head(std::vector<int> depends_on, const char* meaning) {
  HeadSpec head;
  head.name = "place";
  head.size = kPlaces;
  head.labels = {"here"};
  for (const int d : kDistances) {
    for (const char* direction : kDirections) {
      head.labels.push_back(std::string(direction).append(std::to_string(d)));
    }
  }
  head.depends_on = std::move(depends_on);
  head.meaning = meaning;
  return head;
}

}  // namespace ludus::rts
