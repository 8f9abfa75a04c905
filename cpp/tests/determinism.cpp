// One number for MiniRTS, SIMPLE against SIMPLE at frame skip 50, hashed after each of 100,000
// ticks: it must come out of every compiler, optimisation level, sanitizer and number of threads.
// The matches are played directly and through the pool; ctest runs this in every build
// (tools/determinism.sh makes them all).
//
//   determinism        prints what it finds; exit code 3 if anything differs from kGolden
#include <cstdio>

#include "base/hash.hpp"
#include "game/match.hpp"
#include "game/playthrough.hpp"
#include "games/rts/minirts/minirts.hpp"
#include "pool/pool.hpp"

namespace ludus {
namespace {

constexpr std::uint64_t kTicks = 100'000;
constexpr std::uint64_t kSeed = 42;
constexpr int kFrameSkip = 50;
// Changes with the behaviour of MiniRTS, and only then: see GameSpec::version.
constexpr const char* kGolden = "69064d6cc6a82948";

// Folds the hashes of the first kTicks ticks of matches 0, 1, 2, ...
class Digest {
 public:
  // The replay of the next match, with a hash for each tick; false once there are enough ticks.
  bool add(const Replay& r) {
    for (std::size_t i = 1; i < r.hashes.size() && ticks_ < kTicks; ++i) {
      hash_.add(r.hashes[i]);
      ++ticks_;
    }
    return ticks_ < kTicks;
  }
  [[nodiscard]] bool complete() const { return ticks_ == kTicks; }
  [[nodiscard]] std::string text() const { return hex16(hash_.value()); }
  [[nodiscard]] int matches() const { return matches_; }
  void count() { ++matches_; }

 private:
  Hash64 hash_;
  std::uint64_t ticks_ = 0;
  int matches_ = 0;
};

Digest direct() {
  MatchContext<MiniRts> c{Params{}};
  const int simple = bot_index(c.spec, "simple");
  const std::array<SeatDriver, 2> drivers = {SeatDriver{simple, kFrameSkip},
                                             SeatDriver{simple, kFrameSkip}};
  Digest d;
  for (bool more = true; more; d.count()) {
    const MatchSeed seed{kSeed, static_cast<std::uint64_t>(d.matches())};
    more = d.add(record_match<MiniRts>(c, {}, seed, drivers, 1));
  }
  return d;
}

// The same matches, eight slots at a time in two groups.
Digest through_pool(int threads, int matches) {
  const MatchContext<MiniRts> c{Params{}};
  PoolOptions o;
  const SeatPlan plan{{{bot_index(c.spec, "simple"), -1, 1.0}}, kFrameSkip, -1, 0};
  o.lineup.plans = {plan, plan};
  o.slots = 8;
  o.groups = 2;
  o.threads = threads;
  o.seed = kSeed;
  o.num_matches = static_cast<std::uint64_t>(matches);
  o.record = {.all = true, .matches = {}, .hash_every = 1};
  Pool<MiniRts> pool({}, o);
  std::vector<std::string> replays(static_cast<std::size_t>(matches));
  for (bool more = true; more;) {
    more = false;
    for (int group = 0; group < o.groups; ++group) {
      if (pool.group_finished(group)) continue;
      while (pool.recv(group, 1'000'000'000) < 0) {
      }
      pool.drain_results(group, [&](RawResult& r) { replays.at(r.match) = std::move(r.replay); });
      if (pool.group_finished(group)) continue;
      pool.send(group);
      more = true;
    }
  }
  Digest d;
  for (const std::string& data : replays) {
    d.add(decode_replay(std::as_bytes(std::span(data.data(), data.size()))));
    d.count();
  }
  return d;
}

int run() {
  bool good = true;
  const auto report = [&](const char* how, int threads, const Digest& d) {
    const bool same = d.complete() && d.text() == kGolden;
    std::printf("%s %d: %s%s\n", how, threads, d.text().c_str(), same ? "" : "  DIFFERS");
    good &= same;
  };
  const Digest plain = direct();
  report("direct, threads", 1, plain);
  for (const int threads : {1, 2, 8}) {
    report("pool, threads", threads, through_pool(threads, plain.matches()));
  }
  if (!good) std::printf("expected %s\n", kGolden);
  return good ? 0 : 3;
}

}  // namespace
}  // namespace ludus

int main() { return ludus::run(); }
