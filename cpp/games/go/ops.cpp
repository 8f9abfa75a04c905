#include "games/go/ops.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "games/go/features.hpp"
#include "games/go/playout.hpp"

namespace ludus::go {
namespace {

// Bytes 0 or 1 from bits, eight at a time.
constexpr auto kSpread = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t b = 0; b < 256; ++b) {
    for (std::uint64_t i = 0; i < 8; ++i) table[b] |= (b >> i & 1) << (8 * i);
  }
  return table;
}();

template <int N>
struct Sized {
  using P = Position<N>;
  using B = Board<N>;
  using Set = Points<N>;
  using Rules = Go::Rules;
  using State = Go::State;
  static_assert(sizeof(P) <= sizeof(State::position));

  static P& at(State& s) { return *std::launder(reinterpret_cast<P*>(s.position.data())); }
  static const P& at(const State& s) {
    return *std::launder(reinterpret_cast<const P*>(s.position.data()));
  }

  static void clear(const Rules& r, State& s) {
    P& p = *new (s.position.data()) P;
    p.clear();
    for (const Go::Stone& stone : r.setup) p.board.play(stone.colour, stone.point, NoSink{});
    p.board.ko = B::kOff;
    p.board.captured = 0;
    p.path = p.board.hash;
    p.record(r.ko, r.first);
  }

  static bool legal(const Rules& r, const State& s, int seat, int move) {
    return at(s).legal(r.ko, r.suicide, seat, move);
  }

  static void mask(const Rules& r, const State& s, int seat, std::uint8_t* mask) {
    const Set set = at(s).legal_points(r.ko, r.suicide, seat);
    int left = N * N;
    for (std::uint64_t v : set.w) {
      for (int i = 0; i < 8 && left > 0; ++i, v >>= 8) {
        const std::uint64_t bytes = kSpread[v & 0xff];
        std::memcpy(mask, &bytes, static_cast<std::size_t>(left < 8 ? left : 8));
        mask += 8;
        left -= 8;
      }
    }
  }

  static int play(const Rules& r, State& s, int move) {
    P& p = at(s);
    p.play(r.ko, s.to_move, move);
    return p.board.captured;
  }

  // A uniformly random move of `from` that neither fills an eye of the seat nor takes the seat's
  // stones, or the pass.
  static int pick(const P& p, int seat, Set from, Rng& rng) {
    for (int n = from.count(); n > 0; --n) {
      const int point = from.nth(static_cast<int>(rng.below(static_cast<std::uint32_t>(n))));
      if (!p.board.eyelike(seat, point) && p.board.playable(seat, point, false)) return point;
      from.clear(point);
    }
    return P::kPass;
  }
  static int random_move(const Rules& r, const State& s, int seat, Rng& rng) {
    return pick(at(s), seat, at(s).legal_points(r.ko, r.suicide, seat), rng);
  }
  // Takes the largest chain in atari; else saves its own largest where that gives two liberties.
  static int tactical_move(const Rules& r, const State& s, int seat, Rng& rng) {
    const P& p = at(s);
    const Set legal = p.legal_points(r.ko, r.suicide, seat);
    int best = P::kPass;
    int worth = 0;
    for (const int c : {1 - seat, seat}) {
      Set left = p.board.stones[static_cast<std::size_t>(c)];
      while (left.any()) {
        const int head = p.board.head(left.first());
        const Set chain = p.board.chain(head);
        left = left - chain;
        const int last = p.board.only_liberty(head);
        if (last == B::kOff || !legal.has(last)) continue;
        const int stones = 2 * chain.count() + (c == seat ? 0 : 1);
        if (stones <= worth) continue;
        if (c == seat) {
          B next = p.board;
          next.play(seat, last, NoSink{});
          if (next.only_liberty(next.head(last)) != B::kOff) continue;
        }
        worth = stones;
        best = last;
      }
    }
    return best != P::kPass ? best : pick(p, seat, legal, rng);
  }

  static void observe(const Rules& r, const State& s, int seat, std::span<std::byte* const> out) {
    if (r.features == Go::Features::history) {
      write_history_planes<N>(at(s), seat, s.to_move, out[0]);
    } else {
      write_rich_planes<N>(at(s), r.ko, r.suicide, seat, s.to_move, out[0]);
    }
  }

  // Chinese counting takes off what is dead for certain, as players would agree to.
  static std::array<Set, 2> counted(const Rules& r, const State& s) {
    std::array<Set, 2> stones = at(s).board.stones;
    if (r.scoring == Go::Scoring::chinese) {
      for (std::size_t c = 0; c < 2; ++c) {
        const PassAlive<N> alive(at(s).board, static_cast<int>(c));
        stones[1 - c] = stones[1 - c] - alive.territory();
      }
    }
    return stones;
  }
  static int margin(const Rules& r, const State& s) { return area_margin<N>(counted(r, s)); }
  static void owner(const Rules& r, const State& s, std::span<std::int8_t> out) {
    const auto owned = area<N>(counted(r, s));
    std::ranges::fill(out, std::int8_t{0});
    owned[0].for_each([&](int p) { out[static_cast<std::size_t>(p)] = 1; });
    owned[1].for_each([&](int p) { out[static_cast<std::size_t>(p)] = -1; });
  }
  static int margin_without(const Rules&, const State& s, std::span<const int> dead) {
    std::array<Set, 2> stones = at(s).board.stones;
    for (const int p : dead) {
      stones[0].clear(p);
      stones[1].clear(p);
    }
    return area_margin<N>(stones);
  }

  static int stone(const State& s, int point) { return at(s).board.colour(point); }
  static int ko_point(const State& s) {
    return at(s).board.ko == B::kOff ? -1 : static_cast<int>(at(s).board.ko);
  }
  static int last_move(const State& s) { return at(s).recent[0]; }
  static std::size_t live_bytes(const State& s) { return at(s).live_bytes(); }
  static std::uint64_t path(const State& s) { return at(s).path; }

  static int playout(const Rules&, const State& s, Rng& rng, int& turns) {
    Playout<N> p;
    turns = p.run(at(s).board, s.to_move, rng);
    return area_margin<N>(p.board().stones);
  }
  static void owners(const Rules&, const State& s, int playouts, Rng rng, std::vector<int>& out) {
    out.assign(N * N, 0);
    Playout<N> p;
    for (int i = 0; i < playouts; ++i) {
      p.run(at(s).board, i % 2, rng);
      const auto owned = area<N>(p.board().stones);
      owned[0].for_each([&](int q) { ++out[static_cast<std::size_t>(q)]; });
      owned[1].for_each([&](int q) { --out[static_cast<std::size_t>(q)]; });
    }
  }
  static void settled(const Rules&, const State& s, std::vector<int>& alive,
                      std::vector<int>& dead) {
    const auto& stones = at(s).board.stones;
    for (std::size_t c = 0; c < 2; ++c) {
      const PassAlive<N> life(at(s).board, static_cast<int>(c));
      life.stones().for_each([&](int p) { alive.push_back(p); });
      (life.territory() & stones[1 - c]).for_each([&](int p) { dead.push_back(p); });
    }
  }
  static bool ladder_takes(const State& s, int point, bool owner_moves) {
    const B& b = at(s).board;
    if (b.empty(point)) return false;
    LadderReader<N> reader;
    const int n = b.liberties(b.head(point)).count();
    if (n > 2 || (owner_moves && n > 1)) return false;
    return owner_moves ? !reader.defender_escapes(b, point) : reader.attacker_takes(b, point);
  }

  static Go::Ladder read_ladder(const State& s, int point, bool owner_moves, int budget) {
    return LadderSolver<N>(budget).solve(at(s).board, point, owner_moves);
  }

  static constexpr Ops kOps{.clear = clear,
                            .legal = legal,
                            .mask = mask,
                            .play = play,
                            .random_move = random_move,
                            .tactical_move = tactical_move,
                            .observe = observe,
                            .margin = margin,
                            .owner = owner,
                            .margin_without = margin_without,
                            .stone = stone,
                            .ko_point = ko_point,
                            .last_move = last_move,
                            .live_bytes = live_bytes,
                            .path = path,
                            .playout = playout,
                            .owners = owners,
                            .settled = settled,
                            .ladder_takes = ladder_takes,
                            .read_ladder = read_ladder};
};

template <int... Sizes>
constexpr auto table(std::integer_sequence<int, Sizes...>) {
  return std::array<const Ops*, sizeof...(Sizes)>{&Sized<kMinSize + Sizes>::kOps...};
}

}  // namespace

const Ops& ops_of(int size) {
  static constexpr auto kTable = table(std::make_integer_sequence<int, kMaxSize - kMinSize + 1>{});
  return *kTable[static_cast<std::size_t>(size - kMinSize)];
}

}  // namespace ludus::go
