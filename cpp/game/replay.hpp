// Recorded matches. A replay is what must be given to the rules to play the match again (version,
// parameters, seed, decisions) and what must come out of it (a state hash every k ticks, the
// outcome). A few kB each.
//
//   ReplayRecorder   follows a State while a match is played; allocates only when it must grow
//   encode/decode    to and from the bytes of a .ludus file; decoding trusts nothing
//   replay_verify    (game/replay_run.hpp) plays it again and compares
//
// File: magic "LUDUSREC", u32 format, then the fields of Replay in the order of encode_replay
// (integers as LEB128, text with its length, hashes as 8 bytes), then the Hash64 of all bytes
// before it. All little-endian. Format 1 is a match of compiled rules; format 2 one of a game that
// is played elsewhere (in Python), with the fields of HostedPart behind the others: such games have
// no state that could be hashed, so their hashes are of all that the match has shown until then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "game/game.hpp"

namespace ludus {

inline constexpr std::uint32_t kReplayFormat = 1;
inline constexpr std::uint32_t kHostedReplayFormat = 2;
inline constexpr std::size_t kMaxReplayBytes = std::size_t{1} << 26;

// Bytes that are no replay, or a replay that does not fit the rules. what() names the place.
struct ReplayError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One call of G::act or G::bot, made before the advance from `tick` to `tick + 1`.
struct Decision {
  std::uint32_t tick = 0;
  std::uint8_t seat = 0;
  std::int8_t bot =
      -1;  // index into GameSpec::bots, or -1 = an action, its heads in Replay::actions
  friend bool operator==(const Decision&, const Decision&) = default;
};

// Whether a match of a hosted game came out the same when it was played again: not tried, yes,
// no.
enum class Reproduced : std::uint8_t { unknown, yes, no };

// Additional fields of a replay of a hosted game.
struct HostedPart {
  Reproduced reproduced = Reproduced::unknown;
  std::vector<float> returns;  // sum of the rewards, one a seat
};

struct Replay {
  std::string game;
  int version = 1;                            // GameSpec::version
  std::map<std::string, std::string> params;  // as given; defaults are part of the version
  MatchSeed seed;
  int heads = 0;                      // of one action
  std::vector<std::string> players;   // who held each seat: "simple", "policy:0", "runs/x@best"
  std::vector<Decision> decisions;    // in the order they were made
  std::vector<std::int32_t> actions;  // heads of every decision that is an action, concatenated
  std::uint32_t ticks = 0;            // advances until the end
  std::uint32_t hash_every = 0;       // k >= 1
  std::vector<std::uint64_t> hashes;  // after ticks 0, k, 2k, ... <= ticks
  std::uint64_t final_hash = 0;       // after the last tick
  bool over = false;                  // whether the rules ended it, not a cut from outside
  std::vector<float> outcome;         // one a seat; zeros where it was cut off
  std::optional<HostedPart> hosted;   // of a game that is played elsewhere
};

// Names of players as a match that is recorded outside a pool may give them: UTF-8 text of at most
// kMaxPlayerBytes. Throws ParamError with the seat.
inline constexpr std::size_t kMaxPlayerBytes = 4096;
void check_players(std::span<const std::string> players);

[[nodiscard]] std::string encode_replay(const Replay& replay);
// Throws ReplayError with the offset and what was expected there.
[[nodiscard]] Replay decode_replay(std::span<const std::byte> data);
// Everything but decisions and hashes, as one JSON object.
[[nodiscard]] std::string replay_info_json(const Replay& replay);
// The decisions as one JSON object of columns: ticks, seats, bots (-1 = an action) and actions (the
// heads of every action in turn).
[[nodiscard]] std::string replay_decisions_json(const Replay& replay);

// Writes down one match after another. Belongs to the thread that plays the match.
//
//   recorder.prepare(...)              once a slot
//   recorder.start(seed, hash)         after every reset
//   recorder.action / recorder.bot     with every G::act / G::bot
//   recorder.advanced(tick, hash_fn)   after every G::advance; hash_fn() only runs every k ticks
//   recorder.finish(...)               once over: a Replay to encode or keep
class ReplayRecorder {
 public:
  // `expected_decisions` and `expected_ticks` are reserved at once; longer matches grow.
  void prepare(const GameSpec& spec, const Params& params, std::uint32_t hash_every,
               std::size_t expected_decisions, std::size_t expected_ticks);
  [[nodiscard]] bool prepared() const { return r_.hash_every != 0; }

  void start(MatchSeed seed, std::uint64_t hash);
  // Continues the replay that `finish` returned at a checkpoint of the same match.
  void resume(Replay so_far) { r_ = std::move(so_far); }
  void action(std::uint32_t tick, int seat, std::span<const std::int32_t> heads) {
    r_.decisions.push_back({tick, static_cast<std::uint8_t>(seat), -1});
    r_.actions.insert(r_.actions.end(), heads.begin(), heads.end());
  }
  void bot(std::uint32_t tick, int seat, int bot) {
    r_.decisions.push_back({tick, static_cast<std::uint8_t>(seat), static_cast<std::int8_t>(bot)});
  }
  template <class HashFn>
  void advanced(std::uint32_t tick, HashFn&& hash) {
    if (tick % r_.hash_every == 0) r_.hashes.push_back(hash());
  }
  // Valid until the next start.
  [[nodiscard]] const Replay& finish(std::uint32_t ticks, std::uint64_t hash, bool over,
                                     std::span<const float> outcome,
                                     std::vector<std::string> players);

 private:
  Replay r_;
};

}  // namespace ludus
