#include "games/pommerman/step.hpp"

#include <algorithm>

namespace ludus::pommerman {
namespace {

constexpr int kNobody = -1;

// Where every agent moves to, and who pushes what, while a step is being resolved. Agents are
// those alive when the step starts.
class Movement {
 public:
  explicit Movement(State& s) : s_(s), bombs_(0) {}

  void resolve() {
    agent_intents();
    bomb_intents();
    undo_crossings();
    undo_conflicts();
    if (kick()) undo_late_conflicts();
  }

  // Moves bombs and agents to the cells that were granted.
  void commit(int max_blast, StepEvents& events) {
    for (int b = 0; b < bombs_; ++b) {
      Bomb& bomb = s_.bomb[at(b)];
      if (bomb_to_[at(b)] == bomb.cell && kicker_[at(b)] == kNobody) {
        bomb.moving = kStop;
      } else {
        bomb.cell = bomb_to_[at(b)];
      }
    }
    for (int a = 0; a < kAgents; ++a) {
      Agent& agent = s_.agent[at(a)];
      if (agent.alive == 0 || agent_to_[at(a)] == agent.cell) continue;
      agent.cell = next_cell(agent.cell, s_.chosen[at(a)]);
      const std::uint8_t found = s_.board[agent.cell];
      if (!in(kPowerUps, found)) continue;
      ++events.picked_up[at(a)];
      if (found == kExtraBomb) agent.ammo = std::min<std::uint8_t>(agent.ammo + 1, kMaxAmmo);
      if (found == kIncrRange) {
        agent.blast = static_cast<std::uint8_t>(std::min(agent.blast + 1, max_blast));
      }
      if (found == kKick) agent.can_kick = 1;
    }
  }

 private:
  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

  template <class Fn>
  void each_alive(Fn&& fn) {
    for (int a = 0; a < kAgents; ++a) {
      if (s_.agent[at(a)].alive != 0) fn(a, s_.agent[at(a)]);
    }
  }

  // Agents leave their cells; bombs are laid; a wall is no place to want to go.
  void agent_intents() {
    each_alive([&](int a, Agent& agent) {
      s_.board[agent.cell] = kPassage;
      agent_to_[at(a)] = agent.cell;
      const std::uint8_t action = s_.chosen[at(a)];
      if (action == kLayBomb) {
        lay_bomb(a, agent);
      } else if (const Cell target = next_cell(agent.cell, action); !in(kWalls, s_.board[target])) {
        agent_to_[at(a)] = target;
      }
    });
    bombs_ = s_.bombs;
  }

  void lay_bomb(int a, Agent& agent) {
    if (agent.ammo == 0 || s_.bombs == kMaxBombs) return;
    for (int b = 0; b < s_.bombs; ++b) {
      if (s_.bomb[at(b)].cell == agent.cell) return;
    }
    --agent.ammo;
    s_.bomb[s_.bombs++] = {.cell = agent.cell,
                           .owner = static_cast<std::uint8_t>(a),
                           .life = kBombLife,
                           .blast = agent.blast,
                           .moving = kStop};
  }

  void bomb_intents() {
    for (int b = 0; b < bombs_; ++b) {
      const Bomb& bomb = s_.bomb[at(b)];
      s_.board[bomb.cell] = kPassage;
      bomb_to_[at(b)] = bomb.cell;
      kicker_[at(b)] = kNobody;
      if (bomb.moving == kStop) continue;
      any_bomb_moves_ = true;
      const Cell target = next_cell(bomb.cell, bomb.moving);
      if (!in(kWalls | kPowerUps, s_.board[target])) bomb_to_[at(b)] = target;
    }
  }

  // Two movers over the same border between two cells: an agent stops an agent, a bomb a bomb, an
  // agent a bomb.
  void undo_crossings() {
    struct Mover {
      int border;  // twice the smaller of the two cells, plus one if they are side by side
      int agent, bomb;
    };
    std::array<Mover, kAgents + kMaxBombs> movers;
    int n = 0;
    const auto border = [](Cell a, Cell b) {
      const int low = std::min(a, b);
      return 2 * low + (a + b - 2 * low == 1 ? 1 : 0);
    };
    const auto first_at = [&](int where) -> const Mover* {
      for (int m = 0; m < n; ++m) {
        if (movers[at(m)].border == where) return &movers[at(m)];
      }
      return nullptr;
    };
    each_alive([&](int a, const Agent& agent) {
      if (agent_to_[at(a)] == agent.cell) return;
      const int where = border(agent.cell, agent_to_[at(a)]);
      if (const Mover* first = first_at(where); first != nullptr) {
        agent_to_[at(a)] = agent.cell;
        agent_to_[at(first->agent)] = s_.agent[at(first->agent)].cell;
      } else {
        movers[at(n++)] = {where, a, kNobody};
      }
    });
    if (!any_bomb_moves_) return;
    for (int b = 0; b < bombs_; ++b) {
      const Cell here = s_.bomb[at(b)].cell;
      if (bomb_to_[at(b)] == here) continue;
      const int where = border(here, bomb_to_[at(b)]);
      if (const Mover* first = first_at(where); first != nullptr) {
        bomb_to_[at(b)] = here;
        if (first->bomb != kNobody) bomb_to_[at(first->bomb)] = s_.bomb[at(first->bomb)].cell;
      } else {
        movers[at(n++)] = {where, kNobody, b};
      }
    }
  }

  // Cells that several want go to no agent that is not there already. The counts only ever rise,
  // even when an agent stays behind: so does the original, and what is blocked depends on it.
  void undo_conflicts() {
    each_alive([&](int a, const Agent&) { ++agents_at_[agent_to_[at(a)]]; });
    for (int b = 0; b < bombs_; ++b) ++bombs_at_[bomb_to_[at(b)]];
    bool changed = true;
    while (changed) {
      changed = false;
      each_alive([&](int a, const Agent& agent) {
        const Cell to = agent_to_[at(a)];
        if (to == agent.cell || (agents_at_[to] <= 1 && bombs_at_[to] <= 1)) return;
        stay(a);
        changed = true;
      });
      if (!any_bomb_moves_) continue;
      for (int b = 0; b < bombs_; ++b) {
        const Cell to = bomb_to_[at(b)];
        if (to == s_.bomb[at(b)].cell || (agents_at_[to] <= 1 && bombs_at_[to] <= 1)) continue;
        stay_bomb(b);
        changed = true;
      }
    }
  }

  // Agents push the bombs that they walk into, or are stopped by them. True if anything changed.
  bool kick() {
    struct Delayed {
      int who;
      Cell cell;
    };
    std::array<Delayed, kMaxBombs> late_bombs;
    std::array<Delayed, kMaxBombs> late_agents;
    int n_bombs = 0;
    int n_agents = 0;
    for (int b = 0; b < bombs_; ++b) {
      const Cell to = bomb_to_[at(b)];
      if (agents_at_[to] == 0) continue;
      const int a = agent_wanting(to);
      if (a == kNobody) continue;
      Bomb& bomb = s_.bomb[at(b)];
      const Agent& agent = s_.agent[at(a)];
      if (to == agent.cell) {  // it stands still
        if (to != bomb.cell) late_bombs[at(n_bombs++)] = {b, bomb.cell};
        continue;
      }
      const std::uint8_t direction = s_.chosen[at(a)];
      const Cell beyond = next_cell(to, direction);
      if (agent.can_kick != 0 && agents_at_[beyond] == 0 && bombs_at_[beyond] == 0 &&
          !in(kWalls | kPowerUps, s_.board[beyond])) {
        bombs_at_[to] = 0;
        late_bombs[at(n_bombs++)] = {b, beyond};
        kicker_[at(b)] = a;
        kicked_[at(a)] = b;
        bomb.moving = direction;  // stays even if the kick is undone, until the commit clears it
      } else {
        late_bombs[at(n_bombs++)] = {b, bomb.cell};
        late_agents[at(n_agents++)] = {a, agent.cell};
      }
    }
    for (int i = 0; i < n_bombs; ++i) {
      bomb_to_[at(late_bombs[at(i)].who)] = late_bombs[at(i)].cell;
      ++bombs_at_[late_bombs[at(i)].cell];
    }
    for (int i = 0; i < n_agents; ++i) {
      agent_to_[at(late_agents[at(i)].who)] = late_agents[at(i)].cell;
      ++agents_at_[late_agents[at(i)].cell];
    }
    return n_bombs + n_agents > 0;
  }

  // Kicks that failed send others back in turn; a kick falls with its kicker or its bomb.
  void undo_late_conflicts() {
    bool changed = true;
    while (changed) {
      changed = false;
      each_alive([&](int a, const Agent& agent) {
        const Cell to = agent_to_[at(a)];
        if (to == agent.cell || (agents_at_[to] <= 1 && bombs_at_[to] == 0)) return;
        if (const int b = kicked_[at(a)]; b != kNobody) {
          stay_bomb(b);
          forget_kick(b);
        }
        stay(a);
        changed = true;
      });
      for (int b = 0; b < bombs_; ++b) {
        const Cell to = bomb_to_[at(b)];
        const int a = kicker_[at(b)];
        // A bomb kicked back to its own cell counts as kicked: when it is blocked its kicker must
        // step back.
        if (to == s_.bomb[at(b)].cell && a == kNobody) continue;
        if (bombs_at_[to] <= 1 && agents_at_[to] == 0) continue;
        stay_bomb(b);
        if (a != kNobody) {
          stay(a);
          forget_kick(b);
        }
        changed = true;
      }
    }
  }

  void stay(int a) {
    const Cell here = s_.agent[at(a)].cell;
    agent_to_[at(a)] = here;
    ++agents_at_[here];
  }
  void stay_bomb(int b) {
    const Cell here = s_.bomb[at(b)].cell;
    bomb_to_[at(b)] = here;
    ++bombs_at_[here];
  }
  void forget_kick(int b) {
    kicked_[at(kicker_[at(b)])] = kNobody;
    kicker_[at(b)] = kNobody;
  }
  [[nodiscard]] int agent_wanting(Cell cell) const {
    for (int a = 0; a < kAgents; ++a) {
      if (s_.agent[at(a)].alive != 0 && agent_to_[at(a)] == cell) return a;
    }
    return kNobody;
  }

  State& s_;
  int bombs_;
  bool any_bomb_moves_ = false;
  std::array<Cell, kAgents> agent_to_;
  std::array<Cell, kMaxBombs> bomb_to_;
  std::array<int, kAgents> kicked_ = {kNobody, kNobody, kNobody, kNobody};  // bomb of each agent
  std::array<int, kMaxBombs> kicker_;                                       // agent of each bomb
  std::array<std::uint8_t, kCells> agents_at_{};
  std::array<std::uint8_t, kCells> bombs_at_{};
};

// Flames that are over show what they hid; the others burn on.
void age_flames(State& s) {
  s.flames[0].each([&](int cell) {
    const auto c = static_cast<std::size_t>(cell);
    s.board[c] = s.hidden[c];  // 0 is both "nothing hidden" and kPassage
    s.hidden[c] = 0;
  });
  s.flames[0] = s.flames[1];
  s.flames[1] = s.flames[2];
  s.flames[2] = {};
  for (const CellSet& f : s.flames) {
    f.each([&](int cell) { s.board[static_cast<std::size_t>(cell)] = kFlames; });
  }
}

// The cells that one bomb reaches. Nothing but walls stops a ray, and a wooden wall only after it
// was reached.
int blast(const State& s, const Bomb& bomb, CellSet& reached) {
  int wood = 0;
  reached.add(bomb.cell);
  for (const int direction : {kUp, kDown, kLeft, kRight}) {
    Cell cell = bomb.cell;
    for (int d = 1; d < bomb.blast; ++d) {
      cell = next_cell(cell, direction);
      const std::uint8_t item = s.board[cell];
      if (item == kRigid || item == kOutside) break;
      reached.add(cell);
      if (item != kWood) continue;
      ++wood;
      break;
    }
  }
  return wood;
}

void refund(State& s, int owner) {
  std::uint8_t& ammo = s.agent[static_cast<std::size_t>(owner)].ammo;
  ammo = std::min<std::uint8_t>(ammo + 1, kMaxAmmo);
}

// Bombs whose time has come or that lie in flames explode, and set off those that they reach.
CellSet explode(State& s, StepEvents& events) {
  CellSet reached;
  bool any = false;
  for (int b = 0; b < s.bombs; ++b) {
    Bomb& bomb = s.bomb[static_cast<std::size_t>(b)];
    --bomb.life;
    if (s.board[bomb.cell] == kFlames) bomb.life = 0;
    any |= bomb.life == 0;
  }
  while (any) {
    int left = 0;
    for (int b = 0; b < s.bombs; ++b) {
      const Bomb& bomb = s.bomb[static_cast<std::size_t>(b)];
      if (bomb.life != 0) {
        s.bomb[static_cast<std::size_t>(left++)] = bomb;
        continue;
      }
      refund(s, bomb.owner);
      events.wood[bomb.owner] += static_cast<std::uint8_t>(blast(s, bomb, reached));
    }
    s.bombs = static_cast<std::uint8_t>(left);
    any = false;
    for (int b = 0; b < s.bombs; ++b) {
      Bomb& bomb = s.bomb[static_cast<std::size_t>(b)];
      if (!reached.has(bomb.cell)) continue;
      bomb.life = 0;
      any = true;
    }
  }
  return reached;
}

void redraw(State& s, const CellSet& reached) {
  for (int b = 0; b < s.bombs; ++b) s.board[s.bomb[static_cast<std::size_t>(b)].cell] = kBomb;
  s.flames[2] = reached;
  for (const CellSet& f : s.flames) {
    f.each([&](int cell) { s.board[static_cast<std::size_t>(cell)] = kFlames; });
  }
  for (std::size_t a = 0; a < kAgents; ++a) {
    Agent& agent = s.agent[a];
    if (agent.alive == 0) continue;
    if (s.board[agent.cell] == kFlames) {
      agent.alive = 0;
    } else {
      s.board[agent.cell] = static_cast<std::uint8_t>(kAgent0 + a);
    }
  }
}

}  // namespace

void step_world(State& s, int max_blast, StepEvents& events) {
  age_flames(s);
  Movement movement(s);
  movement.resolve();
  movement.commit(max_blast, events);
  redraw(s, explode(s, events));
}

void collapse_ring(State& s, int size, int ring) {
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const int edge = std::min({row, column, size - 1 - row, size - 1 - column});
      if (edge != ring) continue;
      const Cell cell = cell_at(row, column);
      if (in(kAnyAgent, s.board[cell])) {
        s.agent[static_cast<std::size_t>(s.board[cell] - kAgent0)].alive = 0;
      }
      int left = 0;
      for (int b = 0; b < s.bombs; ++b) {
        const Bomb& bomb = s.bomb[static_cast<std::size_t>(b)];
        if (bomb.cell == cell) {
          refund(s, bomb.owner);
        } else {
          s.bomb[static_cast<std::size_t>(left++)] = bomb;
        }
      }
      s.bombs = static_cast<std::uint8_t>(left);
      if (s.board[cell] == kFlames) {
        for (CellSet& f : s.flames) f.remove(cell);
      }
      s.hidden[cell] = 0;
      s.board[cell] = kRigid;
    }
  }
}

}  // namespace ludus::pommerman
