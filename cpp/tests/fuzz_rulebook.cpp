// Damaged rulebooks never crash: fuzz_rulebook [MUTATIONS] [SEED]. Each mutation of a good one is
// refused with a ParamError with the reason, or it is a rulebook: then its spec can be made, its
// printed form reads back, and a match under it is played, observed and viewed. Anything else ends
// the program. Meant for ASan builds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "game/match.hpp"
#include "games/rts/rulebook/rts.hpp"

namespace ludus {
namespace {

struct Sample {
  std::string book, randomise;
};

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const std::string& name : rts::builtin_books()) {
    const rts::Book book = rts::read_book(name, "");
    out.push_back({rts::print_book(book), ""});
    out.push_back({"extends=" + name + "\nstart.money=900\n",
                   "start.money=0,5000\ngather.amount=1,50\nbullet.speed=0.1,2\n"});
  }
  std::string rows;
  for (int y = 0; y < 12; ++y) {
    std::string row(12, '.');
    if (y == 1) row = ".0a.........";
    if (y == 10) row = ".........b1.";
    if (y == 5 || y == 6) row = "...xxxxxx...";
    rows += (y == 0 ? "" : ",") + row;
  }
  out.push_back({"extends=extended\nmap.side=12\nmap.terrain=" + rows +
                     "\nwaves.raid.type=dragon\nwaves.raid.seat=1\nwaves.raid.first=5\n"
                     "waves.raid.every=30\nwaves.raid.count=3\nwaves.raid.grow=2\nwaves.raid.x=6\n"
                     "waves.raid.y=3\nreward.kill=0.1\nreward.lost=-0.1\nreward.income=0.01\n"
                     "units.pikeman.hp=80\nunits.pikeman.accepts=move,attack\n"
                     "units.barrack.builds=spearman,pikeman\nattack.pikeman.dragon=0.5\n",
                 "units.pikeman.hp=1,30000\nwaves.raid.count=0,32\nattack.archer.dragon=0,10\n"});
  return out;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& l : lines) text += l + "\n";
  return text;
}

const char* const kValues[] = {"0",    "-1",     "1",     "30000",      "30001",
                               "1e6",  "0.5",    "1e309", "nan",        "inf",
                               "true", "",       ",",     "move",       "64",
                               "20",   "32",     "10",    "60000",      "0.01",
                               "4096", "random", "1e-40", "2147483648", "9223372036854775807"};

// Whole values are changed as often as single bytes: most of what gets past the parser is values.
std::string mutate(const std::string& good, const std::string& other, Rng& rng) {
  std::vector<std::string> lines = split(good);
  const std::vector<std::string> others = split(other);
  const std::uint32_t times = 1 + rng.below(4);
  for (std::uint32_t i = 0; i < times && !lines.empty(); ++i) {
    std::string& line = lines[rng.below(static_cast<std::uint32_t>(lines.size()))];
    const std::size_t equals = std::min(line.find('='), line.size());
    const auto value = [&](const std::string& v) { line = line.substr(0, equals) + "=" + v; };
    switch (rng.below(8)) {
      case 0:
      case 1:
        value(kValues[rng.below(std::size(kValues))]);
        break;
      case 2: {
        const std::string& from = lines[rng.below(static_cast<std::uint32_t>(lines.size()))];
        value(from.substr(std::min(from.find('='), from.size() - 1) + 1));
        break;
      }
      case 3:
        if (!line.empty()) {
          line[rng.below(static_cast<std::uint32_t>(line.size()))] =
              static_cast<char>(rng.below(256));
        }
        break;
      case 4:
        if (!line.empty()) line.erase(rng.below(static_cast<std::uint32_t>(line.size())), 1);
        break;
      case 5:
        lines.erase(lines.begin() + rng.below(static_cast<std::uint32_t>(lines.size())));
        break;
      case 6:
        if (!others.empty()) {
          lines.push_back(others[rng.below(static_cast<std::uint32_t>(others.size()))]);
        }
        break;
      default:
        value(std::to_string(rng.below(rng.coin() ? 100 : 40000)));
        break;
    }
  }
  return join(lines);
}

struct Counts {
  std::uint64_t refused = 0, played = 0, ticks = 0;
};

[[noreturn]] void fail(const std::string& what, const Sample& s) {
  std::fprintf(stderr, "fuzz_rulebook: %s; the rulebook:\n%s\nrandomise:\n%s\n", what.c_str(),
               s.book.c_str(), s.randomise.c_str());
  std::exit(1);
}

// A short match of bots and random decisions, with everything looked at.
std::uint64_t play(const Rts::Rules& rules, const Sample& sample, std::uint64_t match,
                   std::uint32_t ticks) {
  const GameSpec spec = Rts::spec(rules);
  std::vector<std::vector<std::byte>> rows;
  std::vector<std::byte*> tensors;
  for (const TensorSpec& t : spec.observation) rows.emplace_back(t.bytes());
  for (auto& r : rows) tensors.push_back(r.data());
  std::vector<std::uint8_t> mask(spec.mask_bytes());
  Rts::State s{};
  Rng rng({7, match}, 9);
  Rts::reset(rules, s, {3, match});
  std::array<float, 2> out{};
  while (!Rts::status(rules, s).over && Rts::tick(s) < ticks) {
    if (Rts::tick(s) % 10 == 0) {
      for (int seat = 0; seat < 2; ++seat) {
        Rts::observe(rules, s, seat, tensors);
        Rts::legal(rules, s, seat, mask.data());
        if (std::ranges::count(mask, 1) == 0) fail("nothing is legal", sample);
        if (rng.coin()) {
          Rts::bot(rules, s, seat,
                   static_cast<int>(rng.below(static_cast<std::uint32_t>(spec.bots.size()))));
        } else {
          const std::array<std::int32_t, 1> a = {
              static_cast<std::int32_t>(rng.below(static_cast<std::uint32_t>(mask.size())))};
          Rts::act(rules, s, seat, a);
        }
      }
    }
    Rts::advance(rules, s);
    Rts::rewards(rules, s, out);
    if (!std::isfinite(out[0]) || !std::isfinite(out[1])) fail("a reward is not finite", sample);
  }
  (void)Rts::view(rules, s);
  (void)Rts::hash(rules, s);
  return Rts::tick(s);
}

}  // namespace
}  // namespace ludus

int main(int argc, char** argv) {
  using namespace ludus;
  const std::uint64_t mutations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::vector<Sample> good = samples();
  const auto n = static_cast<std::uint32_t>(good.size());
  Rng rng({seed, 0}, 1);
  Counts counts;
  for (std::uint64_t i = 0; i < mutations; ++i) {
    const Sample& from = good[rng.below(n)];
    Sample bad = from;
    const bool random_too = !from.randomise.empty() && rng.below(3) == 0;
    bad.book = mutate(from.book, good[rng.below(n)].book, rng);
    if (random_too) bad.randomise = mutate(from.randomise, good[rng.below(n)].randomise, rng);
    try {
      const Rts::Rules rules =
          Rts::make_rules(Params({{"rulebook", bad.book}, {"randomise", bad.randomise}}));
      const std::string printed = rts::print_book(rules.book);
      if (rts::print_book(rts::read_book(printed, "")) != printed) fail("printed otherwise", bad);
      counts.ticks += play(rules, bad, i, rng.below(32) == 0 ? 1500 : 60);
      ++counts.played;
    } catch (const ParamError& e) {
      if (std::string_view(e.what()).find("rts.rulebook") != 0) fail(e.what(), bad);
      ++counts.refused;
    }
  }
  std::printf("fuzz_rulebook: %llu refused, %llu played, %llu ticks\n",
              static_cast<unsigned long long>(counts.refused),
              static_cast<unsigned long long>(counts.played),
              static_cast<unsigned long long>(counts.ticks));
  if (counts.refused == 0 || counts.played == 0) {
    std::fprintf(stderr, "fuzz_rulebook: a kind of answer never came\n");
    return 1;
  }
  return 0;
}
