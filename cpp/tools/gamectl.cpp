// gamectl: every game from the command line, without Python. Results go to stdout, errors to
// stderr. Exit codes: 0 done, 1 failed, 2 bad usage, 3 a check said no.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "game/spec_json.hpp"
#include "host/builtin.hpp"
#include "tools/arguments.hpp"

namespace ludus {
namespace {

constexpr const char* kUsage =
    "usage: gamectl COMMAND ...\n"
    "  list                         names of all games\n"
    "  show GAME                    the game's spec as JSON\n"
    "  perft GAME DEPTH             decision paths of each depth up to DEPTH\n"
    "  playthrough GAME             a match with everything observable, as text\n"
    "  bench GAME                   bots against bots: ticks/s, ns per tick\n"
    "  record GAME FILE             plays one match of bots and writes its replay\n"
    "  replay-info FILE             what a replay holds\n"
    "  replay-verify FILE           plays it again and compares every hash\n"
    "  check GAME                   conformance checks\n"
    "  soak GAME                    the same for --seconds, with ever new seeds\n"
    "  signature                    one number for the behaviour of all games\n"
    "options: --param NAME=VALUE --seed N --match N --bots A,B --frame-skip N,M --threads N\n"
    "         --matches N --ticks N --steps N --hash-every N --seconds N\n";

const std::vector<std::string> kOptions = {"param",      "seed",       "match",   "bots",
                                           "frame-skip", "threads",    "matches", "ticks",
                                           "steps",      "hash-every", "seconds"};

struct Common {
  Params params;
  MatchSeed seed;
  std::vector<std::string> bots;
  std::vector<int> frame_skip;
};

constexpr std::int64_t kBig = std::int64_t{1} << 62;

Common common(const Arguments& args) {
  Common c;
  c.params = Params(args.params());
  c.seed = {static_cast<std::uint64_t>(args.integer("seed", 1, 0, kBig)),
            static_cast<std::uint64_t>(args.integer("match", 0, 0, kBig))};
  c.bots = args.list("bots");
  for (const std::string& f : args.list("frame-skip")) {
    c.frame_skip.push_back(static_cast<int>(parse_integer("--frame-skip", f, 1, 1'000'000)));
  }
  return c;
}

// The drivers asked for; by default the game's first bot in every seat.
std::vector<SeatDriver> drivers(const GameSpec& spec, const Common& c, bool uniform = false) {
  std::vector<std::string> bots = c.bots;
  if (bots.empty()) {
    bots.push_back(uniform || spec.bots.empty() ? "uniform" : spec.bots.front().name);
  }
  return seat_drivers(spec, bots, c.frame_skip);
}

Replay load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ReplayError(path + ": cannot be read");
  in.seekg(0, std::ios::end);
  if (in.tellg() > static_cast<std::streamoff>(kMaxReplayBytes)) {
    throw ReplayError(path + ": too long for a replay");
  }
  in.seekg(0);
  const std::string data((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  try {
    return decode_replay(std::as_bytes(std::span(data.data(), data.size())));
  } catch (const ReplayError& e) {
    throw ReplayError(path + ": " + e.what());
  }
}

const AnyGame& game(const Arguments& args) { return builtin_games().at(args.word(1, "GAME")); }

int show(const Arguments& args) {
  std::puts(spec_json(game(args).spec(Params(args.params()))).c_str());
  return 0;
}

int run_perft(const Arguments& args) {
  const Common c = common(args);
  const auto depth = static_cast<int>(parse_integer("DEPTH", args.word(2, "DEPTH"), 1, 64));
  const int skip = c.frame_skip.empty() ? 0 : c.frame_skip[0];
  for (int d = 1; d <= depth; ++d) {
    const std::uint64_t paths = game(args).perft(c.params, c.seed, skip, d);
    std::printf("%d %llu\n", d, static_cast<unsigned long long>(paths));
  }
  return 0;
}

int run_playthrough(const Arguments& args) {
  const Common c = common(args);
  const auto steps = static_cast<int>(args.integer("steps", 20, 1, 1'000'000));
  const auto seats = drivers(game(args).spec(c.params), c, true);
  std::fputs(game(args).playthrough(c.params, c.seed, seats, steps).c_str(), stdout);
  return 0;
}

int run_bench(const Arguments& args) {
  const Common c = common(args);
  const auto threads = static_cast<int>(args.integer("threads", 1, 1, 1024));
  const auto matches = static_cast<int>(args.integer("matches", 16, 1, 1 << 20));
  const auto ticks = static_cast<std::uint64_t>(args.integer("ticks", 2'000'000, 1, kBig));
  const AnyGame& g = game(args);
  const auto seats = drivers(g.spec(c.params), c);
  const BenchResult r = g.bench(c.params, seats, threads, matches, ticks, c.seed.seed);
  std::puts(bench_json(g.name(), r).c_str());
  return 0;
}

int record(const Arguments& args) {
  const Common c = common(args);
  const auto every = static_cast<std::uint32_t>(args.integer("hash-every", 100, 1, 1 << 30));
  const std::string& path = args.word(2, "FILE");
  const auto seats = drivers(game(args).spec(c.params), c);
  const std::string data = encode_replay(game(args).record(c.params, c.seed, seats, every));
  std::ofstream out(path, std::ios::binary);
  out.write(data.data(), static_cast<std::streamsize>(data.size()));
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
  return 0;
}

int verify(const Arguments& args) {
  const Replay r = load(args.word(1, "FILE"));
  const ReplayCheck check = builtin_games().at(r.game).verify(r);
  if (check.same) {
    std::printf("same: %u ticks\n", check.ticks);
    return 0;
  }
  std::printf("different: %s (last equal hash after tick %u)\n", check.difference.c_str(),
              check.last_same);
  return 3;
}

int check(const Arguments& args) {
  const Common c = common(args);
  const auto matches = static_cast<int>(args.integer("matches", 20, 1, 1 << 30));
  const auto ticks = static_cast<std::uint32_t>(args.integer("ticks", 0, 0, 1 << 30));
  const Findings f = game(args).conformance(c.params, {c.seed.seed, 0}, matches, ticks);
  std::puts(f.json().c_str());
  return f.clean() ? 0 : 3;
}

int soak(const Arguments& args) {
  const Common c = common(args);
  const auto seconds = args.integer("seconds", 60, 1, kBig);
  const AnyGame& g = game(args);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t rounds = 0;
  while (std::chrono::steady_clock::now() < end) {
    const std::uint64_t seed = c.seed.seed + rounds++;
    const Findings f = g.conformance(c.params, {seed, 0}, 4, 0);
    if (!f.clean()) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), f.json().c_str());
      return 3;
    }
  }
  std::printf("clean: %llu rounds of 4 matches\n", static_cast<unsigned long long>(rounds));
  return 0;
}

int list() {
  for (const std::string& name : builtin_games().names()) std::puts(name.c_str());
  return 0;
}

int run(const Arguments& args) {
  const std::string command = args.words().empty() ? "" : args.words()[0];
  if (command == "list") return list();
  if (command == "show") return show(args);
  if (command == "perft") return run_perft(args);
  if (command == "playthrough") return run_playthrough(args);
  if (command == "bench") return run_bench(args);
  if (command == "record") return record(args);
  if (command == "replay-info") {
    std::puts(replay_info_json(load(args.word(1, "FILE"))).c_str());
    return 0;
  }
  if (command == "replay-verify") return verify(args);
  if (command == "check") return check(args);
  if (command == "soak") return soak(args);
  if (command == "signature") {
    std::puts(hex16(builtin_games().signature()).c_str());
    return 0;
  }
  throw UsageError(command.empty() ? "no command" : "unknown command '" + command + "'");
}

}  // namespace
}  // namespace ludus

int main(int argc, char** argv) {
  try {
    const std::span<const char* const> all(argv, static_cast<std::size_t>(argc));
    return ludus::run(ludus::Arguments(all.subspan(1), ludus::kOptions));
  } catch (const ludus::UsageError& e) {
    std::cerr << "gamectl: " << e.what() << "\n" << ludus::kUsage;
    return 2;
  } catch (const ludus::ParamError& e) {
    std::cerr << "gamectl: " << e.what() << "\n";
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "gamectl: " << e.what() << "\n";
    return 1;
  }
}
