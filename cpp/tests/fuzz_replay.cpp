// Damaged replays never crash: fuzz_replay [MUTATIONS] [SEED]. Each mutation of a good file
// must be refused with a ReplayError; if its checksum is made right again, the decoder and then the
// rules must refuse it or play it to the end. Anything else ends the program. Replays of hosted
// games (format 2) are read by all that needs no rules, come out the same when they are written
// again, and are never played by compiled rules. Meant for ASan builds.
#include <cstdio>
#include <cstdlib>

#include "base/hash.hpp"
#include "host/builtin.hpp"

namespace ludus {
namespace {

std::span<const std::byte> bytes(const std::string& s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}

std::vector<std::string> seeds_of(const AnyGame& game) {
  const GameSpec spec = game.spec({});
  std::vector<std::string> out;
  for (std::uint64_t m = 0; m < 4; ++m) {
    Params params;
    if (m == 3) {
      for (const ParamSpec& p : spec.params) params.set(p.name, p.default_value);
    }
    const int bots = static_cast<int>(spec.bots.size());
    std::vector<SeatDriver> drivers;
    for (int s = 0; s < spec.seats; ++s) {
      drivers.push_back({static_cast<int>(m) % (bots + 1) - 1, spec.default_frame_skip});
    }
    const std::uint32_t max_ticks = m == 0 ? 0 : 300;
    Replay recorded = game.record(params, {3, m}, drivers, 50, max_ticks);
    out.push_back(encode_replay(recorded));
    recorded.hosted = HostedPart{static_cast<Reproduced>(m % 3), recorded.outcome};
    out.push_back(encode_replay(recorded));
    recorded.game = m % 2 == 0 ? "gymnasium/my_package:MyEnv-v0" : "openspiel/connect_four";
    out.push_back(encode_replay(recorded));
  }
  return out;
}

void reseal(std::string& s) {
  if (s.size() < 8) return;
  Hash64 h;
  h.add_bytes(s.data(), s.size() - 8);
  for (std::size_t i = 0; i < 8; ++i) {
    s[s.size() - 8 + i] = static_cast<char>(h.value() >> (8 * i) & 0xff);
  }
}

// Positions near the front are as likely as all others together: that is where the structure is.
std::size_t position(Rng& rng, std::size_t size) {
  const auto n = static_cast<std::uint32_t>(std::max<std::size_t>(size, 1));
  return rng.coin() ? rng.below(n) : rng.below(std::min(n, 160U));
}

std::string mutate(const std::string& good, const std::string& other, Rng& rng) {
  std::string s = good;
  const std::uint32_t times = 1 + rng.below(3);
  for (std::uint32_t i = 0; i < times; ++i) {
    const std::size_t at = position(rng, s.size());
    switch (rng.below(6)) {
      case 0:
        s[at] = static_cast<char>(s[at] ^ (1 << rng.below(8)));
        break;
      case 1:
        s[at] = static_cast<char>(rng.below(256));
        break;
      case 2:
        s.resize(std::max<std::size_t>(at, 1));
        break;
      case 3:
        s.insert(at, std::string(1 + rng.below(8), static_cast<char>(rng.below(256))));
        break;
      case 4:
        s.erase(at, 1 + rng.below(8));
        break;
      case 5:
        s.resize(at);
        s.append(other, std::min(position(rng, other.size()), other.size()));
        break;
    }
    if (s.empty()) s.assign(1, 'L');
  }
  return s;
}

struct Answers {
  std::uint64_t refused = 0;
  std::uint64_t played = 0;
  std::uint64_t refused_by_rules = 0;
  std::uint64_t hosted = 0;
};

[[noreturn]] void fail(const char* what, const std::string& data) {
  std::fprintf(stderr, "fuzz_replay: %s; the file:\n", what);
  for (const char c : data) std::fprintf(stderr, "%02x", static_cast<unsigned char>(c));
  std::fprintf(stderr, "\n");
  std::exit(1);
}

// A hosted replay that the decoder accepted: its name leads to no file, its strings are complete,
// and neither of the two functions that need rules takes it.
void read_hosted(const AnyGame& game, const Replay& r, const std::string& data) {
  if (r.game.empty() || r.game.front() == '/' || r.game.front() == '.' ||
      r.game.find("..") != std::string::npos || r.game.ends_with(".py") ||
      std::ranges::any_of(r.game, [](unsigned char c) { return c <= ' ' || c >= 0x7f; })) {
    fail("a hosted game has a name that it cannot have", data);
  }
  (void)replay_info_json(r);
  (void)replay_decisions_json(r);
  const std::string again = encode_replay(r);
  if (encode_replay(decode_replay(bytes(again))) != again) fail("written again it differs", data);
  const auto refuses = [&](auto&& play) {
    try {
      play();
    } catch (const ReplayError&) {
      return true;
    }
    return false;
  };
  if (!refuses([&] { (void)game.verify(r); }) || !refuses([&] { (void)game.frames(r, 50); })) {
    fail("compiled rules played a hosted game", data);
  }
}

Answers fuzz(const AnyGame& game, std::uint64_t mutations, std::uint64_t seed) {
  const std::vector<std::string> seeds = seeds_of(game);
  Rng rng({seed, 0}, 1);
  Answers counts;
  for (std::uint64_t i = 0; i < mutations; ++i) {
    const auto n = static_cast<std::uint32_t>(seeds.size());
    const std::string& good = seeds[rng.below(n)];
    std::string bad = mutate(good, seeds[rng.below(n)], rng);
    const bool sealed = rng.below(4) != 0;
    if (sealed) reseal(bad);
    if (!sealed && std::ranges::find(seeds, bad) != seeds.end()) continue;
    Replay r;
    try {
      r = decode_replay(bytes(bad));
      if (!sealed) fail("a damaged file was accepted", bad);
    } catch (const ReplayError&) {
      ++counts.refused;
      continue;
    }
    if (r.hosted) {
      read_hosted(game, r, bad);
      ++counts.hosted;
      continue;
    }
    // Playing to the end is slow for long matches: the rules see all short ones and some long ones.
    if (r.ticks > 400 && rng.below(64) != 0) continue;
    try {
      (void)game.verify(r);
      (void)replay_info_json(r);
      ++counts.played;
      if (i % 4 == 0) (void)game.rows(r, {}, {});
    } catch (const ReplayError&) {
      ++counts.refused_by_rules;
    }
  }
  return counts;
}

}  // namespace
}  // namespace ludus

int main(int argc, char** argv) {
  using namespace ludus;
  const std::uint64_t mutations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto games = builtin_games().all();
  for (const AnyGame* game : games) {
    const Answers c = fuzz(*game, mutations / games.size() + 1, seed);
    std::printf("%s: %llu refused, %llu refused by the rules, %llu played, %llu hosted\n",
                game->name().c_str(), static_cast<unsigned long long>(c.refused),
                static_cast<unsigned long long>(c.refused_by_rules),
                static_cast<unsigned long long>(c.played),
                static_cast<unsigned long long>(c.hosted));
    if (c.refused == 0 || c.played == 0 || c.refused_by_rules == 0 || c.hosted == 0) {
      std::fprintf(stderr, "fuzz_replay: %s: a kind of answer never came\n", game->name().c_str());
      std::exit(1);
    }
  }
  return 0;
}
