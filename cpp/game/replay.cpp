#include "game/replay.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/hash.hpp"
#include "base/json.hpp"

namespace ludus {
namespace {

constexpr std::string_view kMagic = "LUDUSREC";
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxText = 1U << 16;
constexpr std::size_t kMaxParams = 256;
constexpr std::uint32_t kMaxTicks = 1U << 30;

std::uint64_t checksum(std::string_view bytes) {
  Hash64 h;
  h.add_bytes(bytes.data(), bytes.size());
  return h.value();
}

std::uint64_t zigzag(std::int32_t v) {
  return (static_cast<std::uint32_t>(v) << 1) ^ static_cast<std::uint32_t>(v >> 31);
}

// Whether a name is valid for a game: it may end up in commands and paths.
bool is_name(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Whether a name is valid for a hosted game: `family/name`, or a word. Never a path that leads up
// or to a root, never the name of a file.
bool is_hosted_name(std::string_view s) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !s.empty() && plain(s.front()) && s.find("..") == std::string_view::npos &&
         !s.ends_with(".py") && std::ranges::all_of(s, [&](char c) {
           return plain(c) || c == '-' || c == '.' || c == ':' || c == '/';
         });
}

// UTF-8 without overlong forms, surrogates and what lies beyond U+10FFFF.
bool is_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto lead = static_cast<unsigned char>(s[i++]);
    const int more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return false;
    std::uint32_t code = more == 0 ? lead : lead & (0x3fU >> more);
    for (int k = 0; k < more; ++k) {
      if (i == s.size() || (s[i] & 0xc0) != 0x80) return false;
      code = code << 6 | (static_cast<unsigned char>(s[i++]) & 0x3fU);
    }
    if (more == 2 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) return false;
    if (more == 3 && (code < 0x10000 || code > 0x10ffff)) return false;
  }
  return true;
}

class Writer {
 public:
  void fixed(std::uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(v >> (8 * i) & 0xff);
  }
  void integer(std::uint64_t v) {
    while (v >= 0x80) {
      out += static_cast<char>((v & 0x7f) | 0x80);
      v >>= 7;
    }
    out += static_cast<char>(v);
  }
  void text(std::string_view s) {
    integer(s.size());
    out += s;
  }
  std::string out;
};

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}

  [[noreturn]] void refuse(const std::string& what) const {
    throw ReplayError("replay: byte " + std::to_string(at_) + ": " + what);
  }
  [[nodiscard]] std::size_t left() const { return data_.size() - at_; }

  std::uint64_t fixed(int bytes, const char* what) {
    if (left() < static_cast<std::size_t>(bytes)) refuse(std::string("ends inside ") + what);
    std::uint64_t v = 0;
    for (int i = 0; i < bytes; ++i) {
      v |= static_cast<std::uint64_t>(static_cast<unsigned char>(data_[at_ + i])) << (8 * i);
    }
    at_ += static_cast<std::size_t>(bytes);
    return v;
  }
  std::uint64_t integer(std::uint64_t max, const char* what) {
    std::uint64_t v = 0;
    const std::size_t start = at_;
    for (int shift = 0;; shift += 7) {
      if (left() == 0) refuse(std::string("ends inside ") + what);
      const auto byte = static_cast<unsigned char>(data_[at_++]);
      if (shift == 63 && byte > 1) refuse(std::string(what) + " does not fit 64 bits");
      v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (v > max) {
      at_ = start;
      refuse(std::string(what) + " is " + std::to_string(v) + ", expected at most " +
             std::to_string(max));
    }
    return v;
  }
  std::string text(std::size_t max, const char* what) {
    const std::size_t n = integer(max, what);
    if (left() < n) refuse(std::string("ends inside ") + what);
    std::string s(data_.substr(at_, n));
    if (!is_utf8(s)) refuse(std::string(what) + " is not UTF-8 text");
    at_ += n;
    return s;
  }

 private:
  std::string_view data_;
  std::size_t at_ = 0;
};

// A decision is one byte (seat, kind, whether its tick equals the previous one's) and what follows.
constexpr unsigned kSeatBits = 0x0f;
constexpr unsigned kBotBit = 0x10;
constexpr unsigned kSameTickBit = 0x20;

void write_decisions(Writer& w, const Replay& r) {
  w.integer(r.decisions.size());
  std::uint32_t tick = 0;
  std::size_t next = 0;
  for (const Decision& d : r.decisions) {
    w.fixed(d.seat | (d.bot >= 0 ? kBotBit : 0) | (d.tick == tick ? kSameTickBit : 0), 1);
    if (d.tick != tick) w.integer(d.tick - tick);
    tick = d.tick;
    if (d.bot >= 0) {
      w.integer(static_cast<std::uint64_t>(d.bot));
      continue;
    }
    for (int h = 0; h < r.heads; ++h) w.integer(zigzag(r.actions.at(next++)));
  }
}

void read_decisions(Reader& in, Replay& r) {
  const std::uint64_t count = in.integer(in.left(), "number of decisions");
  r.decisions.reserve(count);  // each takes two bytes or more, so this is bounded by the file
  std::uint32_t tick = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto tag = static_cast<unsigned>(in.fixed(1, "a decision"));
    Decision d;
    d.seat = static_cast<std::uint8_t>(tag & kSeatBits);
    if ((tag & ~(kSeatBits | kBotBit | kSameTickBit)) != 0) in.refuse("unknown kind of decision");
    if (d.seat >= r.players.size()) in.refuse("a decision of a seat that the match does not have");
    if ((tag & kSameTickBit) == 0) {
      const auto step =
          static_cast<std::uint32_t>(in.integer(r.ticks - tick, "tick of a decision"));
      if (step == 0) in.refuse("a decision repeats its tick in the long form");
      tick += step;
    }
    if (tick >= r.ticks) {
      in.refuse("tick of a decision is " + std::to_string(tick) + ", no tick played it");
    }
    d.tick = tick;
    if ((tag & kBotBit) != 0) {
      d.bot = static_cast<std::int8_t>(in.integer(127, "bot of a decision"));
    } else {
      for (int h = 0; h < r.heads; ++h) {
        const auto z = static_cast<std::uint32_t>(in.integer(0xffffffffU, "action of a decision"));
        r.actions.push_back(static_cast<std::int32_t>((z >> 1) ^ (0U - (z & 1U))));
      }
    }
    r.decisions.push_back(d);
  }
}

void read_body(Reader& in, Replay& r, bool hosted) {
  r.game = in.text(kMaxName, "name of the game");
  if (!hosted && !is_name(r.game)) {
    in.refuse("name of the game: expected lower case letters, digits and _");
  }
  if (hosted && !is_hosted_name(r.game)) {
    in.refuse("name of the game: expected letters, digits and _ - . : /, no path");
  }
  r.version = static_cast<int>(in.integer(1U << 30, "version of the game"));
  const std::uint64_t params = in.integer(kMaxParams, "number of parameters");
  std::string last;
  for (std::uint64_t i = 0; i < params; ++i) {
    std::string name = in.text(kMaxName, "name of a parameter");
    if (i > 0 && name <= last) in.refuse("parameters are not in rising order");
    last = name;
    r.params.emplace(std::move(name), in.text(kMaxText, "value of a parameter"));
  }
  r.seed.seed = in.fixed(8, "seed");
  r.seed.match = in.fixed(8, "number of the match");
  r.heads = static_cast<int>(in.integer(kMaxHeads, "number of heads"));
  const std::uint64_t seats = in.integer(kMaxSeats, "number of seats");
  for (std::uint64_t s = 0; s < seats; ++s) r.players.push_back(in.text(kMaxText, "player"));
  r.ticks = static_cast<std::uint32_t>(in.integer(kMaxTicks, "number of ticks"));
  read_decisions(in, r);
  r.hash_every = static_cast<std::uint32_t>(in.integer(kMaxTicks, "ticks between hashes"));
  if (r.hash_every == 0) in.refuse("ticks between hashes is 0");
  const std::uint64_t hashes = std::uint64_t{r.ticks / r.hash_every} + 1;
  if (hashes > in.left() / 8) in.refuse("ends inside the hashes");
  r.hashes.reserve(hashes);
  for (std::uint64_t i = 0; i < hashes; ++i) r.hashes.push_back(in.fixed(8, "a hash"));
  r.final_hash = in.fixed(8, "final hash");
  r.over = in.integer(1, "end flag") != 0;
  for (std::uint64_t s = 0; s < seats; ++s) {
    const float v = std::bit_cast<float>(static_cast<std::uint32_t>(in.fixed(4, "outcome")));
    if (!(std::fabs(v) <= 1.0F)) in.refuse("an outcome outside [-1, 1]");
    r.outcome.push_back(v);
  }
  if (!hosted) return;
  r.hosted.emplace();
  r.hosted->reproduced = static_cast<Reproduced>(in.integer(2, "whether it was reproduced"));
  for (std::uint64_t s = 0; s < seats; ++s) {
    const float v = std::bit_cast<float>(static_cast<std::uint32_t>(in.fixed(4, "returns")));
    if (!std::isfinite(v)) in.refuse("returns that are not finite");
    r.hosted->returns.push_back(v);
  }
}

}  // namespace

void check_players(std::span<const std::string> players) {
  for (std::size_t seat = 0; seat < players.size(); ++seat) {
    const std::string& name = players[seat];
    if (name.size() > kMaxPlayerBytes) {
      throw ParamError("player of seat " + std::to_string(seat) + ": " +
                       std::to_string(name.size()) + " bytes, expected at most " +
                       std::to_string(kMaxPlayerBytes));
    }
    if (!is_utf8(name)) {
      throw ParamError("player of seat " + std::to_string(seat) + ": not UTF-8 text");
    }
  }
}

std::string encode_replay(const Replay& r) {
  Writer w;
  w.out = kMagic;
  w.fixed(r.hosted ? kHostedReplayFormat : kReplayFormat, 4);
  w.text(r.game);
  w.integer(static_cast<std::uint64_t>(r.version));
  w.integer(r.params.size());
  for (const auto& [name, value] : r.params) {
    w.text(name);
    w.text(value);
  }
  w.fixed(r.seed.seed, 8);
  w.fixed(r.seed.match, 8);
  w.integer(static_cast<std::uint64_t>(r.heads));
  w.integer(r.players.size());
  for (const std::string& p : r.players) w.text(std::string_view(p).substr(0, kMaxText));
  w.integer(r.ticks);
  write_decisions(w, r);
  w.integer(r.hash_every);
  for (const std::uint64_t h : r.hashes) w.fixed(h, 8);
  w.fixed(r.final_hash, 8);
  w.integer(r.over ? 1 : 0);
  for (const float v : r.outcome) w.fixed(std::bit_cast<std::uint32_t>(v), 4);
  if (r.hosted) {
    w.integer(static_cast<std::uint64_t>(r.hosted->reproduced));
    for (const float v : r.hosted->returns) w.fixed(std::bit_cast<std::uint32_t>(v), 4);
  }
  w.fixed(checksum(w.out), 8);
  return std::move(w.out);
}

Replay decode_replay(std::span<const std::byte> data) {
  const std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.size());
  if (bytes.size() > kMaxReplayBytes) {
    throw ReplayError("replay: " + std::to_string(bytes.size()) + " bytes, expected at most " +
                      std::to_string(kMaxReplayBytes));
  }
  if (!bytes.starts_with(kMagic)) throw ReplayError("replay: byte 0: expected the magic LUDUSREC");
  if (bytes.size() < kMagic.size() + 4 + 8) throw ReplayError("replay: cut off in its header");
  // The format is read before the checksum so that a newer file is named as such.
  Reader in(bytes.substr(0, bytes.size() - 8));
  in.fixed(8, "magic");
  const std::uint64_t format = in.fixed(4, "format");
  Reader tail(bytes.substr(bytes.size() - 8));
  const bool intact = tail.fixed(8, "checksum") == checksum(bytes.substr(0, bytes.size() - 8));
  if (!intact) {
    throw ReplayError("replay: the checksum of its " + std::to_string(bytes.size()) +
                      " bytes is wrong: the file is damaged or cut off");
  }
  if (format != kReplayFormat && format != kHostedReplayFormat) {
    throw ReplayError("replay: byte 8: format " + std::to_string(format) + ", this build reads " +
                      std::to_string(kReplayFormat) + " and " +
                      std::to_string(kHostedReplayFormat));
  }
  Replay r;
  read_body(in, r, format == kHostedReplayFormat);
  if (in.left() != 0) in.refuse(std::to_string(in.left()) + " bytes too many");
  return r;
}

std::string replay_info_json(const Replay& r) {
  JsonWriter j;
  j.open('{').field("format", r.hosted ? kHostedReplayFormat : kReplayFormat);
  j.field("game", r.game).field("version", r.version);
  j.key("params").open('{');
  for (const auto& [name, value] : r.params) j.field(name, value);
  j.close('}').field("seed", r.seed.seed).field("match", r.seed.match);
  j.key("players").open('[');
  for (const std::string& p : r.players) j.value(p);
  j.close(']').field("ticks", r.ticks).field("decisions", r.decisions.size());
  j.field("hash_every", r.hash_every).field("final_hash", std::to_string(r.final_hash));
  j.field("over", r.over).key("outcome").open('[');
  for (const float v : r.outcome) j.value(v);
  j.close(']');
  if (r.hosted) {
    constexpr std::array<const char*, 3> kWords = {"unknown", "yes", "no"};
    j.field("reproduced", kWords[static_cast<std::size_t>(r.hosted->reproduced)]);
    j.key("returns").open('[');
    for (const float v : r.hosted->returns) j.value(v);
    j.close(']');
  }
  j.close('}');
  return std::move(j).text();
}

std::string replay_decisions_json(const Replay& r) {
  JsonWriter j;
  const auto column = [&](const char* name, auto&& value) {
    j.key(name).open('[');
    for (const Decision& d : r.decisions) j.value(value(d));
    j.close(']');
  };
  j.open('{').field("heads", r.heads);
  column("ticks", [](const Decision& d) { return d.tick; });
  column("seats", [](const Decision& d) { return static_cast<int>(d.seat); });
  column("bots", [](const Decision& d) { return static_cast<int>(d.bot); });
  j.key("actions").open('[');
  for (const std::int32_t a : r.actions) j.value(a);
  j.close(']').close('}');
  return std::move(j).text();
}

void ReplayRecorder::prepare(const GameSpec& spec, const Params& params, std::uint32_t hash_every,
                             std::size_t expected_decisions, std::size_t expected_ticks) {
  r_ = Replay{};
  r_.game = spec.name;
  r_.version = spec.version;
  r_.params = params.values();
  r_.heads = static_cast<int>(spec.heads.size());
  r_.hash_every = std::max(hash_every, 1U);
  r_.decisions.reserve(expected_decisions);
  r_.actions.reserve(expected_decisions * spec.heads.size());
  r_.hashes.reserve(expected_ticks / r_.hash_every + 2);
}

void ReplayRecorder::start(MatchSeed seed, std::uint64_t hash) {
  r_.seed = seed;
  r_.decisions.clear();
  r_.actions.clear();
  r_.hashes.clear();
  r_.hashes.push_back(hash);
}

const Replay& ReplayRecorder::finish(std::uint32_t ticks, std::uint64_t hash, bool over,
                                     std::span<const float> outcome,
                                     std::vector<std::string> players) {
  r_.ticks = ticks;
  r_.final_hash = hash;
  r_.over = over;
  r_.outcome.assign(outcome.begin(), outcome.end());
  r_.players = std::move(players);
  // A decision that was queued when the match was cut off has no tick that played it.
  while (!r_.decisions.empty() && r_.decisions.back().tick >= ticks && ticks < kMaxTicks) {
    if (r_.decisions.back().bot < 0) {
      r_.actions.resize(r_.actions.size() - static_cast<std::size_t>(r_.heads));
    }
    r_.decisions.pop_back();
  }
  return r_;
}

}  // namespace ludus
