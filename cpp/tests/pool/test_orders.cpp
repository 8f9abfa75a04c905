// Standing orders: which controllers play the matches that a slot starts, and under which tag.
#include "tests/doctest.hpp"
#include "tests/pool/harness.hpp"
#include "tests/pool/uneven.hpp"

using namespace ludus;
using namespace ludus::test;

namespace {

PoolOptions two_mixtures(int slots, int groups, int threads) {
  PoolOptions o;
  o.lineup.plans = {plan({a_policy(0), a_policy(1), a_bot(0)}, 1),
                    plan({a_bot(1), a_policy(2), a_bot(0)}, 2), plan({a_bot(1)}, 3)};
  o.slots = slots;
  o.groups = groups;
  o.threads = threads;
  o.seed = 12;
  return o;
}

Params length(int ticks) { return Params({{"length", std::to_string(ticks)}}); }

// Differs in every slot and round; every fourth slot draws.
Orders orders_of(const PoolOptions& o, int round) {
  Orders orders(o.slots, o.lineup.plans.size());
  for (int slot = 0; slot < o.slots; ++slot) {
    if ((slot + round) % 4 == 3) continue;
    orders.set(slot, 0, (slot + round) % 3);
    if (slot % 2 == 0) orders.set(slot, 1, (slot / 2 + round) % 3);
    orders.set_tag(slot, static_cast<std::uint64_t>(1000 * round + slot + 1));
  }
  return orders;
}

std::int32_t player_of(const Controller& c) { return c.policy >= 0 ? c.policy : -1 - c.bot; }

Orders orders_in_play(AnyPool& pool, int group) {
  const auto slots =
      static_cast<std::size_t>(pool.layout().group_slots[static_cast<std::size_t>(group)].size());
  const std::size_t plans = pool.options().lineup.plans.size();
  std::vector<std::uint64_t> tags(slots);
  std::vector<std::int32_t> controllers(slots * plans);
  pool.in_play(group, tags, controllers);
  Orders out(static_cast<int>(slots), plans);
  for (std::size_t s = 0; s < slots; ++s) {
    out.set_tag(static_cast<int>(s), tags[s]);
    for (std::size_t p = 0; p < plans; ++p) {
      out.set(static_cast<int>(s), p, controllers[s * plans + p]);
    }
  }
  return out;
}

// Follows each slot's match by hand: the order that was in force at the send in which it started.
class Follower {
 public:
  explicit Follower(AnyPool& pool)
      : pool_(pool),
        standing_(pool.options().slots, pool.options().lineup.plans.size()),
        in_force_(standing_),
        began_(standing_),
        open_(static_cast<std::size_t>(pool.options().slots)) {}

  void order(const Orders& orders) {
    pool_.set_orders(orders);
    standing_ = orders;
  }

  void sent(int group) {
    const Range slots = pool_.layout().group_slots[static_cast<std::size_t>(group)];
    in_force_.copy_slots(standing_, slots);
    for (int s = slots.begin; s < slots.end; ++s) {
      if (!open_[static_cast<std::size_t>(s)]) began_.copy_slots(in_force_, {s, s + 1});
    }
  }

  void received(int group) {
    pool_.drain_results(group, [&](const RawResult& r) {
      REQUIRE(r.tag == began_.tag(r.slot));
      for (int seat = 0; seat < pool_.layout().seats; ++seat) {
        const auto p = static_cast<std::size_t>(pool_.layout().plan(r.slot, seat));
        const std::int32_t ordered = began_.controller(r.slot, p);
        if (ordered < 0) continue;
        const auto& list = pool_.options().lineup.plans[p].controllers;
        REQUIRE(r.player[static_cast<std::size_t>(seat)] ==
                player_of(list[static_cast<std::size_t>(ordered)]));
        ++checked;
      }
      began_.copy_slots(in_force_, {r.slot, r.slot + 1});
      most_in_a_step = std::max(most_in_a_step, r.slot == last_slot_ ? ++run_ : (run_ = 1));
      last_slot_ = r.slot;
    });
    last_slot_ = -1;
    const Range slots = pool_.layout().group_slots[static_cast<std::size_t>(group)];
    const Orders now = orders_in_play(pool_, group);
    for (int s = slots.begin; s < slots.end; ++s) {
      const int mine = s - slots.begin;
      const bool open = now.controller(mine, 0) >= 0;
      open_[static_cast<std::size_t>(s)] = open;
      REQUIRE(now.tag(mine) == (open ? began_.tag(s) : 0));
      for (std::size_t p = 0; open && p < standing_.plans(); ++p) {
        const std::int32_t ordered = began_.controller(s, p);
        if (ordered >= 0) REQUIRE(now.controller(mine, p) == ordered);
        REQUIRE(now.controller(mine, p) >= 0);
      }
    }
  }

  int checked = 0, most_in_a_step = 0;

 private:
  AnyPool& pool_;
  Orders standing_, in_force_, began_;
  std::vector<bool> open_;  // a match is in play
  int last_slot_ = -1, run_ = 0;
};

// Three slabs; new orders before the second and the third.
Run play_orders(AnyPool& pool, TestSlab& slab) {
  Run all;
  for (int round = 0; round < 3; ++round) {
    if (round > 0) pool.set_orders(orders_of(pool.options(), round));
    const Run run = drive(pool, slab);
    all.results.insert(all.results.end(), run.results.begin(), run.results.end());
  }
  return all;
}

void put_checksum(std::string& bytes) {
  Hash64 h;
  h.add_bytes(bytes.data(), bytes.size() - 8);
  const std::uint64_t sum = h.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
}

}  // namespace

TEST_CASE("orders: a result carries the tag and the players of the order it started under") {
  for (const int ticks : {2, 12}) {
    for (const Autoreset autoreset : {Autoreset::same_step, Autoreset::next_step}) {
      for (const int threads : {0, 3}) {
        PoolOptions o = two_mixtures(13, 3, threads);
        o.autoreset = autoreset;
        Pool<Uneven> pool(length(ticks), o);
        TestSlab slab(pool.spec(), 40, pool.layout().rows);
        Follower follower(pool);
        for (int round = 0; round < 6; ++round) {
          if (round > 0) follower.order(orders_of(o, round));
          for (int g = 0; g < o.groups; ++g) {
            pool.attach(g, slab.view);
            if (round == 0) follower.sent(g);
          }
          for (int t = 0; t <= 40; ++t) {
            for (int g = 0; g < o.groups; ++g) {
              REQUIRE(pool.recv(g, kWait) == g);
              if (round == 0 || t > 0) follower.received(g);
              if (t == 40) continue;
              if (t == 17 && g == 1) follower.order(orders_of(o, round + 50));
              pool.random_actions(g, 3);
              pool.send(g);
              follower.sent(g);
            }
          }
        }
        CHECK(follower.checked > 200);
        if (ticks == 2) CHECK(follower.most_in_a_step > 2);
      }
    }
  }
}

TEST_CASE("orders: -1 is no order, and an order leaves every draw of the others where it was") {
  PoolOptions o = two_mixtures(10, 2, 1);
  o.lineup.plans[1] = plan({a_policy(1), a_policy(2, 0.0)}, 1);
  o.lineup.plans[1].handover_bot = 1;
  o.lineup.plans[1].handover_ticks = 9;
  Pool<Uneven> none(length(12), o), drawn(length(12), o), first(length(12), o);
  drawn.set_orders(Orders(10, 3));
  Orders same(10, 3);  // of the controller that is drawn without an order
  for (int slot = 0; slot < 10; ++slot) same.set(slot, 1, 0);
  first.set_orders(same);
  TestSlab slab_none(none.spec(), 150, none.layout().rows);
  TestSlab slab_drawn(none.spec(), 150, none.layout().rows);
  TestSlab slab_first(none.spec(), 150, none.layout().rows);
  const Run run = drive(none, slab_none);
  CHECK(run.results.size() > 50);
  for (auto* other : {&slab_drawn, &slab_first}) {
    const Run again = drive(other == &slab_drawn ? drawn : first, *other);
    CHECK(texts_of(again) == texts_of(run));
    CHECK(other->policy == slab_none.policy);
    CHECK(other->active == slab_none.active);
    CHECK(other->reward == slab_none.reward);
    CHECK(again.final_obs == run.final_obs);
  }
}

TEST_CASE("orders: changed between slabs they give the same matches for any threads and groups") {
  std::vector<std::string> expected;
  std::vector<std::int16_t> policies;
  for (const int threads : {0, 1, 3}) {
    for (const int groups : {1, 2, 5}) {
      Pool<Uneven> pool(length(9), two_mixtures(14, groups, threads));
      TestSlab slab(pool.spec(), 30, pool.layout().rows);
      const Run run = play_orders(pool, slab);
      if (expected.empty()) {
        expected = texts_of(run);
        policies = slab.policy;
      }
      CHECK(texts_of(run) == expected);
      CHECK(slab.policy == policies);
    }
  }
  CHECK(expected.size() > 100);
}

TEST_CASE("orders: a snapshot carries them, and the tags of the matches in play") {
  const PoolOptions o = two_mixtures(12, 2, 1);
  Pool<Uneven> pool(length(12), o);
  TestSlab slab(pool.spec(), 31, pool.layout().rows);
  pool.set_orders(orders_of(o, 1));
  drive(pool, slab);
  pool.set_orders(orders_of(o, 2));  // not yet sent
  const std::string bytes = pool.snapshot();
  const Run run = drive(pool, slab);
  int old_tags = 0;
  for (const RawResult& r : run.results) old_tags += r.tag > 1000 && r.tag < 2000 ? 1 : 0;
  CHECK(old_tags > 5);  // of matches that were in play
  for (const auto& [groups, threads] : {std::pair{1, 0}, std::pair{4, 3}}) {
    Pool<Uneven> copy(length(12), two_mixtures(12, groups, threads));
    TestSlab again(copy.spec(), 31, copy.layout().rows);
    copy.set_orders(orders_of(o, 7));
    drive(copy, again);
    copy.restore(bytes);
    CHECK(texts_of(drive(copy, again)) == texts_of(run));
    CHECK(again.policy == slab.policy);
  }
}

TEST_CASE("orders: a snapshot of before there were any restores without them") {
  const PoolOptions o = two_mixtures(6, 1, 0);
  Pool<Uneven> pool(length(12), o);
  TestSlab slab(pool.spec(), 21, pool.layout().rows);
  drive(pool, slab);
  std::string bytes = pool.snapshot();
  constexpr std::size_t kSlot = sizeof(MatchControl) + sizeof(Uneven::State);
  std::string old = bytes.substr(0, bytes.size() - 8 - 6 * (kSlot + 8) - 6 * (3 * 4 + 8));
  for (std::size_t slot = 0; slot < 6; ++slot) {
    old += bytes.substr(bytes.size() - 8 - (6 - slot) * (kSlot + 8), kSlot);
  }
  old[kSnapshotMagic.size()] = 1;  // the format
  old += std::string(8, '\0');
  put_checksum(old);
  Pool<Uneven> copy(length(12), o);
  copy.set_orders(orders_of(o, 1));
  copy.restore(old);
  TestSlab again(copy.spec(), 21, copy.layout().rows);
  CHECK(texts_of(drive(copy, again)) == texts_of(drive(pool, slab)));
  CHECK(copy.snapshot() == pool.snapshot());
}

TEST_CASE("orders: forged ones in a snapshot are refused and change nothing") {
  const PoolOptions o = two_mixtures(6, 1, 0);
  Pool<Uneven> pool(length(12), o);
  Orders orders(6, 3);
  orders.set(0, 0, 2);
  orders.set_tag(0, 0x1122334455667788ULL);
  pool.set_orders(orders);
  const std::uint64_t mark = 0x1122334455667788ULL;
  TestSlab slab(pool.spec(), 1, pool.layout().rows);
  pool.attach(0, slab.view);
  REQUIRE(pool.recv(0, kWait) == 0);
  const std::string bytes = pool.snapshot();
  const std::size_t tags = bytes.find(std::string(reinterpret_cast<const char*>(&mark), 8));
  REQUIRE(tags != std::string::npos);
  const std::size_t controllers = tags - 6 * 3 * 4;
  const auto refusal = [&](std::size_t at, auto value) {
    std::string bad = bytes;
    std::memcpy(bad.data() + at, &value, sizeof value);
    put_checksum(bad);
    try {
      pool.restore(bad);
    } catch (const PoolError& e) {
      CHECK(pool.snapshot() == bytes);
      return std::string(e.what());
    }
    return std::string();
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.starts_with("restore: byte ") && text.ends_with(part);
  };
  CHECK(says(refusal(controllers, std::int32_t{3}),
             ": orders: slot 0, plan 0: controller 3, expected -1..2"));
  CHECK(says(refusal(controllers + 8 + 12, std::int32_t{1}),
             ": orders: slot 1, plan 2: controller 1, expected -1..0"));
  CHECK(says(refusal(controllers + 4, std::int32_t{-2}),
             ": orders: slot 0, plan 1: controller -2, expected -1..2"));
  CHECK(says(refusal(controllers + 4, std::int32_t{1 << 30}),
             ": orders: slot 0, plan 1: controller 1073741824, expected -1..2"));
  CHECK(says(refusal(tags + 8, std::uint64_t{5}), ": orders: slot 1 has tag 5 and no order"));
  CHECK(refusal(controllers, std::int32_t{1}) == "");
}

namespace {

// Seats 0 and 2 against seat 1.
struct Allied : Uneven {
  static GameSpec spec(const Rules& r) {
    GameSpec s = Uneven::spec(r);
    s.teams = {0, 1, 0};
    return s;
  }
};

}  // namespace

TEST_CASE("orders: wrong ones are refused and change nothing; a team plays by one") {
  PoolOptions o = two_mixtures(5, 2, 0);
  o.lineup.plans[2] = plan({a_policy(0), a_policy(1), a_bot(0)}, 1);
  Pool<Allied> pool(length(9), o);
  const auto refusal = [&](auto&& change, int slots = 5, std::size_t plans = 3) {
    Orders orders(slots, plans);
    change(orders);
    try {
      pool.set_orders(orders);
    } catch (const PoolError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refusal([](Orders& x) { x.set(4, 1, 3); }) ==
        "set_orders: slot 4, plan 1: controller 3, expected -1..2");
  CHECK(refusal([](Orders& x) { x.set_tag(2, 8); }) == "set_orders: slot 2 has tag 8 and no order");
  CHECK(refusal([](Orders& x) { x.set(1, 0, 1); }) ==
        "set_orders: slot 1, plan 2: controller -1, its team has 1");
  CHECK(refusal([](Orders&) {}, 4) == "set_orders: expected [5 slots, 3 plans]");
  CHECK(refusal([](Orders&) {}, 5, 2) == "set_orders: expected [5 slots, 3 plans]");
  const auto team = [](Orders& x) {
    for (int slot = 0; slot < 5; ++slot) {
      x.set(slot, 0, slot % 3);
      x.set(slot, 2, slot % 3);
      x.set_tag(slot, 1);
    }
  };
  REQUIRE(refusal(team) == "");
  TestSlab slab(pool.spec(), 60, pool.layout().rows);
  for (const RawResult& r : drive(pool, slab).results) {
    CHECK(r.tag == 1);
    for (int seat = 0; seat < 3; ++seat) {
      if (pool.layout().plan(r.slot, seat) == 1) continue;
      CHECK(r.player[static_cast<std::size_t>(seat)] ==
            player_of(o.lineup.plans[0].controllers[static_cast<std::size_t>(r.slot % 3)]));
    }
  }
}
