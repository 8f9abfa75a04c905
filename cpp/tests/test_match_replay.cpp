// Matches that are played from outside and record themselves.
#include "game/mask.hpp"
#include "host/builtin.hpp"
#include "tests/doctest.hpp"

namespace ludus {
namespace {

TEST_CASE("match replay: a match of every game that is played from outside gives its replay") {
  // Random choices, refused ones, and bots; now and then a clone of before takes its place.
  for (const AnyGame* game : builtin_games().all()) {
    INFO(game->name());
    const std::unique_ptr<AnyMatch> start = game->match({}, {5, 2}, true);
    const GameSpec& spec = start->spec();
    const MaskLayout layout(spec);
    Rng rng({77, 0}, 1);
    std::unique_ptr<AnyMatch> match = start->clone();
    std::unique_ptr<AnyMatch> before = start->clone();
    for (int step = 0; step < 700 && !match->status().over; ++step) {
      if (step % 90 == 30) before = match->clone();
      if (step % 90 == 70) match = before->clone();
      for (int seat = 0; seat < spec.seats; ++seat) {
        const std::vector<std::int32_t> missing;
        CHECK_THROWS_AS(match->act(seat, missing), GameError);
        if ((match->to_act() >> seat & 1U) == 0) continue;
        if (!spec.bots.empty() && rng.below(2) == 0) {
          match->bot(seat,
                     static_cast<int>(rng.below(static_cast<std::uint32_t>(spec.bots.size()))));
          continue;
        }
        std::vector<std::int32_t> action(spec.heads.size());
        const std::vector<std::uint8_t> mask = match->legal(seat);
        layout.draw(mask.data(), rng, action);
        match->act(seat, action);
      }
      if (step % 200 == 150) CHECK(game->verify(match->replay({})).same);  // decided, not played
      match->advance();
    }
    const std::string file = encode_replay(match->replay({}));
    const Replay r = decode_replay(std::as_bytes(std::span(file.data(), file.size())));
    const ReplayCheck check = game->verify(r);
    INFO(check.difference);
    CHECK(check.same);
    CHECK(r.ticks == match->tick());
    CHECK(r.final_hash == match->hash());
    CHECK(r.over == match->status().over);
    match->reset({5, 3});
    CHECK(match->replay({}).decisions.empty());
    CHECK(game->verify(match->replay({})).same);
  }
}

TEST_CASE(
    "match replay: a match gives none unless it was made to, nor under names that are no text") {
  const AnyGame& game = builtin_games().at("tic_tac_toe");
  CHECK_FALSE(game.match({}, {1, 0})->records());
  CHECK_THROWS_AS((void)game.match({}, {1, 0})->replay({}), ParamError);
  const std::unique_ptr<AnyMatch> match = game.match({}, {1, 0}, true);
  CHECK(match->records());
  CHECK(match->replay({"you", "perfect"}).players[1] == "perfect");
  CHECK_THROWS_AS((void)match->replay({"one"}), ParamError);
  CHECK_THROWS_AS((void)match->replay({"one", "\xc0\xaf"}), ParamError);
  CHECK_THROWS_AS((void)match->replay({std::string(kMaxPlayerBytes + 1, 'a'), "b"}), ParamError);
  CHECK_THROWS_AS(match->advance(), GameError);  // no one has decided
  CHECK(match->replay({}).decisions.empty());
}

}  // namespace
}  // namespace ludus
