#include <array>
#include <cstring>
#include <limits>

#include "base/hash.hpp"
#include "game/match.hpp"
#include "game/replay_run.hpp"
#include "games/registry.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

using T = TicTacToe;

Replay sample(std::uint64_t match = 3) {
  const Params params{{"opens", "random"}};
  MatchContext<T> c(params);
  const std::array<SeatDriver, 2> drivers = {SeatDriver{.bot = 1}, SeatDriver{.bot = -1}};
  return record_match<T>(c, params, {.seed = 11, .match = match}, drivers, 2);
}

std::span<const std::byte> bytes(const std::string& s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}

std::string reseal(std::string s) {
  Hash64 h;
  h.add_bytes(s.data(), s.size() - 8);
  for (int i = 0; i < 8; ++i) s[s.size() - 8 + i] = static_cast<char>(h.value() >> (8 * i) & 0xff);
  return s;
}

std::string refusal(const std::string& data) {
  try {
    (void)decode_replay(bytes(data));
  } catch (const ReplayError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("replay: what is written is what is read") {
  for (std::uint64_t m = 0; m < 50; ++m) {
    const Replay r = sample(m);
    const Replay q = decode_replay(bytes(encode_replay(r)));
    CHECK(q.game == "tic_tac_toe");
    CHECK(q.params == r.params);
    CHECK(q.seed.match == m);
    CHECK(q.players == std::vector<std::string>{"perfect", "uniform"});
    CHECK(q.decisions == r.decisions);
    CHECK(q.actions == r.actions);
    CHECK(q.hashes == r.hashes);
    CHECK(q.outcome == r.outcome);
    CHECK(q.ticks == r.ticks);
    CHECK(encode_replay(q) == encode_replay(r));
    const ReplayCheck check = replay_verify<T>(q);
    CHECK(check.same);
    CHECK(check.last_same == r.ticks);
  }
}

TEST_CASE("replay: a flipped bit anywhere is refused, and so is every prefix") {
  const std::string good = encode_replay(sample());
  CHECK(refusal(good) == "");
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      CHECK(refusal(bad) != "");
    }
    CHECK(refusal(good.substr(0, i)) != "");
  }
  CHECK(refusal(good + '\0') != "");
}

TEST_CASE("replay: refusals say where and what") {
  const std::string good = encode_replay(sample());
  CHECK(refusal("not a replay") == "replay: byte 0: expected the magic LUDUSREC");
  std::string newer = good;
  newer[8] = 9;
  CHECK(refusal(reseal(newer)) == "replay: byte 8: format 9, this build reads 1 and 2");
  std::string longer = good.substr(0, good.size() - 8) + "xx" + good.substr(good.size() - 8);
  CHECK(refusal(reseal(longer)).find("2 bytes too many") != std::string::npos);
  std::string name = good;
  name[12] = '\x7f';
  CHECK(refusal(reseal(name)) != "");
}

TEST_CASE("replay: a decision behind the last tick is refused, for no tick played it") {
  for (const std::uint32_t late : {0U, 1U, 2U, 1000U}) {
    for (const int bot : {-1, 1}) {
      Replay r = sample();
      const Decision behind{
          .tick = r.ticks + late, .seat = 1, .bot = static_cast<std::int8_t>(bot)};
      r.decisions.push_back(behind);
      if (bot < 0) r.actions.push_back(0);
      const std::string why = refusal(encode_replay(r));
      CHECK(why.find("tick of a decision is ") != std::string::npos);
    }
  }
  Replay empty = sample();
  empty.ticks = 0;
  empty.decisions.resize(1);
  empty.actions.resize(empty.decisions[0].bot < 0 ? 1 : 0);
  empty.hashes.resize(1);
  CHECK(refusal(encode_replay(empty)).find("no tick played it") != std::string::npos);
}

TEST_CASE("replay: a decision of a seat that the match does not have is refused") {
  const auto refused = [](const Replay& r) {
    return refusal(encode_replay(r)).find("a decision of a seat that the match does not have") !=
           std::string::npos;
  };
  CHECK_FALSE(refused(sample()));
  for (const int seat : {2, 3, 14, 15}) {
    for (const bool last : {false, true}) {
      Replay r = sample();
      Decision& d = last ? r.decisions.back() : r.decisions.front();
      d.seat = static_cast<std::uint8_t>(seat);
      CHECK(refused(r));
    }
  }
  Replay single = sample();  // a match of one seat, in which the other one decides
  single.players.resize(1);
  single.outcome.resize(1);
  CHECK(refused(single));
  Replay hosted = sample();
  hosted.hosted.emplace();
  hosted.hosted->returns = {0.0F, 0.0F};
  CHECK(refusal(encode_replay(hosted)) == "");
  hosted.decisions.back().seat = 2;
  CHECK(refused(hosted));
}

TEST_CASE("replay: numbers that no match has are refused") {
  const auto found = [](const Replay& r, const char* why) {
    return refusal(encode_replay(r)).find(why) != std::string::npos;
  };
  for (const float outcome : {1.5F, -1.01F, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()}) {
    Replay r = sample();
    r.outcome.back() = outcome;
    CHECK(found(r, "an outcome outside [-1, 1]"));
  }
  Replay never = sample();
  never.hash_every = 0;
  CHECK(found(never, "ticks between hashes is 0"));
  Replay fewer = sample();
  fewer.hashes.clear();
  fewer.ticks = 1000000;  // as many ticks would have a hash more than there are bytes
  CHECK(found(fewer, "ends inside the hashes"));
  Replay bot = sample();
  for (const int seat : {0, 1}) {
    bot.decisions.front().seat = static_cast<std::uint8_t>(seat | 0x40);  // a bit without a meaning
    CHECK(found(bot, "unknown kind of decision"));
  }
}

TEST_CASE("replay: what was decided for a tick that was not played is not recorded") {
  const GameSpec spec = T::spec(T::make_rules({}));
  const std::array<std::int32_t, 1> first = {4}, queued = {7};
  const std::array<float, 2> drawn{};
  for (const bool bot : {false, true}) {
    ReplayRecorder recorder;
    recorder.prepare(spec, {}, 1, 8, 8);
    recorder.start({1, 2}, 0);
    recorder.action(0, 0, first);
    recorder.advanced(1, [] { return std::uint64_t{5}; });
    if (bot) {
      recorder.bot(1, 1, 0);
    } else {
      recorder.action(1, 1, queued);
    }
    const Replay& r = recorder.finish(1, 5, false, drawn, {"one", "two"});  // cut off here
    CHECK(r.decisions == std::vector<Decision>{{.tick = 0, .seat = 0, .bot = -1}});
    CHECK(r.actions == std::vector<std::int32_t>{4});
    CHECK(refusal(encode_replay(r)) == "");
  }
}

TEST_CASE("replay: a match of a hosted game states what rules cannot promise") {
  Replay r = sample();
  r.game = "gymnasium/CartPole-v1";
  CHECK(refusal(encode_replay(r)) != "");  // only hosted games have such names
  r.hosted = HostedPart{Reproduced::no, {12.5F, -1.0F}};
  const std::string good = encode_replay(r);
  CHECK(refusal(good) == "");
  const Replay back = decode_replay(bytes(good));
  REQUIRE(back.hosted);
  CHECK(back.hosted->reproduced == Reproduced::no);
  CHECK(back.hosted->returns == r.hosted->returns);
  CHECK(back.hashes == r.hashes);
  CHECK(replay_info_json(back).find("\"reproduced\":\"no\",\"returns\":[12.5,-1]") !=
        std::string::npos);
  CHECK_THROWS_AS(replay_verify<T>(back), ReplayError);
  for (std::size_t i = 0; i < good.size(); ++i) CHECK(refusal(good.substr(0, i)) != "");
  for (const char* path :
       {"/root/game", "../mine/it", "./game", "a/../../b", "mine.py", "a b", ""}) {
    r.game = path;
    CHECK(refusal(encode_replay(r)).find("no path") != std::string::npos);
  }
  r.game = "duel";
  r.hosted->returns[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK(refusal(encode_replay(r)).find("not finite") != std::string::npos);
}

TEST_CASE("replay: a name that could be a path, and text that is no text, are refused") {
  const std::string good = encode_replay(sample());
  const std::size_t game = good.find("tic_tac_toe");
  const std::size_t player = good.find("perfect");
  for (const char* path : {"./c_tac_toe", "tic/tac/toe", "TIC_tac_toe", "tic_tac_t.o"}) {
    std::string bad = good;
    bad.replace(game, 11, path);
    CHECK(refusal(reseal(bad)).find("expected lower case letters") != std::string::npos);
  }
  // Lone continuation, overlong, surrogate, beyond the last code point, cut off.
  for (const char* text : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    std::string bad = good;
    bad.replace(player + 1, std::strlen(text), text);
    CHECK(refusal(reseal(bad)).find("player is not UTF-8 text") != std::string::npos);
  }
  std::string euro = good;
  euro.replace(player, 7, "\xe2\x82\xac\xf0\x9f\x8e\xb2");
  CHECK(refusal(reseal(euro)) == "");
}

TEST_CASE("replay: verification finds the first difference") {
  Replay r = sample();
  r.hashes[1] ^= 1;
  ReplayCheck check = replay_verify<T>(r);
  CHECK_FALSE(check.same);
  CHECK(check.last_same == 0);
  CHECK(check.difference == "the state hash differs after tick 2");
  r = sample();
  r.outcome[0] = r.outcome[0] == 0.0F ? 1.0F : -r.outcome[0];
  CHECK(replay_verify<T>(r).difference.starts_with("the outcome differs"));
  r = sample();
  r.seed.match += 1;
  CHECK_FALSE([&] {
    try {
      return replay_verify<T>(r).same;
    } catch (const ReplayError&) {
      return false;
    }
  }());
}

TEST_CASE("replay: rules refuse what does not fit them") {
  const auto why = [](const Replay& r) -> std::string {
    try {
      (void)replay_verify<T>(r);
    } catch (const ReplayError& e) {
      return e.what();
    }
    return "";
  };
  Replay r = sample();
  r.version = 2;
  CHECK(why(r) == "replay: recorded under version 2 of tic_tac_toe, this build plays version 1");
  r = sample();
  r.params["opens"] = "seat9";
  CHECK(why(r).find("did you mean seat0?") != std::string::npos);
  r = sample();
  r.game = "go";
  CHECK(why(r) == "replay: recorded for go, not tic_tac_toe");
  r = sample();
  r.actions[0] = 99;
  CHECK(why(r).find("cell 99 is not in [0, 9)") != std::string::npos);
  r = sample();
  r.decisions[0].bot = 7;
  CHECK(why(r) == "replay: a bot that the game does not have");
  r = sample();
  r.decisions[0].seat ^= 1;
  CHECK(why(r).find("may not decide") != std::string::npos);
}

TEST_CASE("replay: frames are the views of the match") {
  const Replay r = sample();
  const auto frames = replay_frames<T>(r, 1);
  CHECK(frames.size() == r.ticks + 1);
  CHECK(frames.front().starts_with("{\"tick\":0,"));
  CHECK(replay_frames<T>(r, 4).size() == r.ticks / 4 + 1 + (r.ticks % 4 != 0 ? 1 : 0));
}

}  // namespace
}  // namespace ludus
