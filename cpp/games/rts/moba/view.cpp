#include "games/rts/moba/view.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "games/rts/engine/view.hpp"

namespace ludus::rts {

namespace {

constexpr std::array<const char*, kFirstHero> kNames = {"ancient", "tower", "melee", "ranged"};
constexpr std::array<const char*, kFirstHero> kRoles = {"base", "tower", "troop", "troop"};

// Heroes as a list, one a seat: the dead too.
std::string heroes_json(const MobaRules& rules, const MobaWorld& w) {
  JsonWriter j;
  j.open('[');
  const auto now = static_cast<int>(w.world.tick);
  for (int seat = 0; seat < rules.seats(); ++seat) {
    const Hero& h = w.hero[static_cast<std::size_t>(seat)];
    j.open('{').field("seat", seat).field("class", kClassNames[h.hero_class]);
    j.field("id", h.alive() ? static_cast<int>(h.id) : -1);
    j.field("level", static_cast<int>(h.level)).field("xp", h.xp);
    j.field("gold", h.gold).field("worth", h.worth()).field("tier", static_cast<int>(h.tier));
    j.field("mana", static_cast<int>(h.mana)).field("max_mana", max_mana(rules, h));
    j.field("kills", static_cast<int>(h.kills)).field("deaths", static_cast<int>(h.deaths));
    j.field("helps", static_cast<int>(h.helps)).field("last_hits", static_cast<int>(h.last_hits));
    j.field("respawn", h.alive() ? 0 : std::max(0, static_cast<int>(h.back_at) - now));
    j.field("stunned", std::max(0, static_cast<int>(h.stunned_until) - now));
    j.field("slowed", std::max(0, static_cast<int>(h.slowed_until) - now));
    j.key("cooldowns").open('[');
    for (const std::uint16_t ready : h.ready) j.value(std::max(0, static_cast<int>(ready) - now));
    j.close(']').close('}');
  }
  j.close(']');
  return std::move(j).text();
}

}  // namespace

std::string view_moba(const MobaRules& rules, const MobaWorld& w) {
  std::array<const char*, kMobaTypes> names{};
  std::array<const char*, kMobaTypes> roles{};
  for (int t = 0; t < kMobaTypes; ++t) {
    const auto k = static_cast<std::size_t>(t);
    names[k] =
        is_hero(t) ? kClassNames[static_cast<std::size_t>((t - kFirstHero) / kTiers)] : kNames[k];
    roles[k] = is_hero(t) ? "worker" : kRoles[k];
  }
  ViewNames view{.game = "moba", .types = names, .roles = roles, .seats = rules.seats()};
  view.money = "money";
  view.seat_of = [&](int slot) {
    const int hero = is_hero(w.world.type[slot]) ? hero_of(rules, w, w.world.id[slot]) : -1;
    return hero >= 0 ? hero : rules.engine.owner_of(slot) * rules.heroes;
  };
  view.max_hp_of = [&](int slot) { return max_hp_of(rules, w, slot); };
  view.owner_of = [&](int seat) { return rules.team_of(seat); };
  view.money_of = [&](int seat) { return w.hero[static_cast<std::size_t>(seat)].gold; };
  view.more = "\"heroes\":" + heroes_json(rules, w);
  return view_world(rules.engine, w.world, view);
}

}  // namespace ludus::rts
