// Shards of groups over worker threads.
//
// The caller sends a group; every worker visits the sends in their order, takes the group's shards
// one atomic increment each - first those it took last time, then whatever others left - and moves
// on when none is left. Who finishes a group's last shard closes the group and wakes the caller.
// Without threads the caller itself is the only worker, inside wait().
//
// Thread contract: send, wait, announce and stop are called from one thread (the pool's caller).
// Nothing here allocates after the constructor.
#pragma once

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "pool/layout.hpp"

namespace ludus {

// Work of a scheduler. Called from workers, one worker per shard at a time.
class ShardWork {
 public:
  virtual void play_shard(int worker, int group, int shard) noexcept = 0;
  virtual void close_group(int group) noexcept = 0;  // after its last shard, once a send

 protected:
  ~ShardWork() = default;
};

inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// Cores that this process may run on.
inline int usable_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class Scheduler {
 public:
  struct Times {
    std::uint64_t busy_ns = 0, wait_ns = 0;
  };

  Scheduler(ShardWork& work, const Layout& layout, int threads)
      : work_(work), layout_(layout), threads_(threads), lanes_(threads > 0 ? threads : 1) {
    const auto groups = layout.group_slots.size();
    groups_ = std::make_unique<Group[]>(groups);
    ring_ = std::make_unique<std::atomic<int>[]>(groups);
    capacity_ = static_cast<std::uint32_t>(groups);
    ready_.reserve(groups);
    clocks_ = std::make_unique<Clock[]>(static_cast<std::size_t>(lanes_));
    for (std::size_t g = 0; g < groups; ++g) {
      groups_[g].lanes = std::make_unique<Lane[]>(static_cast<std::size_t>(lanes_));
      const Range all = layout.group_shards[g];
      for (int w = 0; w < lanes_; ++w) {
        Lane& lane = groups_[g].lanes[static_cast<std::size_t>(w)];
        lane.begin = all.begin + all.size() * w / lanes_;
        lane.end = all.begin + all.size() * (w + 1) / lanes_;
      }
    }
    const int cores = usable_cores();
    worker_spins_ = threads < cores;
    caller_spins_ = threads > 0 && threads < cores;
  }

  ~Scheduler() { stop(); }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Starts the workers. Apart from the constructor, so that the work is whole before it is called.
  void start() {
    workers_.reserve(static_cast<std::size_t>(threads_));
    for (int w = 0; w < threads_; ++w) workers_.emplace_back([this, w] { run_worker(w); });
  }

  // Publishes everything written before it to the workers that play the group. Never blocks.
  void send(int group) {
    Group& g = groups_[static_cast<std::size_t>(group)];
    const Range all = layout_.group_shards[static_cast<std::size_t>(group)];
    g.done.store(false, std::memory_order_relaxed);
    g.remaining.store(all.size(), std::memory_order_relaxed);
    const std::uint32_t seq = sends_.load(std::memory_order_relaxed);
    for (int w = 0; w < lanes_; ++w) {
      Lane& lane = g.lanes[static_cast<std::size_t>(w)];
      lane.next.store(ticket(seq, lane.begin), std::memory_order_release);
    }
    ring_[seq % capacity_].store(group, std::memory_order_relaxed);
    sends_.store(seq + 1, std::memory_order_release);
    if (threads_ > 0) sends_.notify_all();
  }

  // A group that needs no work is ready again (its caller attached a new slab).
  void announce(int group) {
    const std::lock_guard lock(mutex_);
    if (std::find(ready_.begin(), ready_.end(), group) == ready_.end()) ready_.push_back(group);
  }

  // Takes `group`, or with -1 the group that has been ready longest, off the ready list. Returns
  // -1 when none is ready within about `patience_ns`.
  int wait(int group, std::uint64_t patience_ns) {
    if (threads_ == 0) return wait_serial(group, patience_ns);
    if (caller_spins_) {
      const std::uint64_t until = now_ns() + kSpinNs;
      do {
        if (const int g = take_ready(group); g >= 0) return g;
        for (int i = 0; i < 64; ++i) pause();
      } while (now_ns() < until);
    }
    std::unique_lock lock(mutex_);
    int found = -1;
    ready_changed_.wait_for(lock, std::chrono::nanoseconds(patience_ns), [&] {
      found = take_locked(group);
      return found >= 0;
    });
    return found;
  }

  // Workers leave at the next slot boundary or, inside a long match, soon after `stopping` turns.
  void stop() {
    if (stopping_.exchange(true)) return;
    sends_.fetch_add(1, std::memory_order_release);  // any change wakes; nothing is read from it
    sends_.notify_all();
    for (std::thread& t : workers_) t.join();
    workers_.clear();
  }

  [[nodiscard]] const std::atomic<bool>& stopping() const { return stopping_; }

  [[nodiscard]] Times times() const {
    Times sum;
    for (int w = 0; w < lanes_; ++w) {
      sum.busy_ns += clocks_[static_cast<std::size_t>(w)].busy.load(std::memory_order_relaxed);
      sum.wait_ns += clocks_[static_cast<std::size_t>(w)].wait.load(std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  static constexpr std::uint64_t kSpinNs = 20'000;

  struct alignas(64) Lane {  // a worker's own shards of a group; others may take from it
    std::atomic<std::uint64_t> next{~std::uint64_t{0}};  // ticket(send, next shard)
    int begin = 0, end = 0;
  };
  struct alignas(64) Group {
    std::atomic<int> remaining{0};
    std::atomic<bool> done{false};
    std::unique_ptr<Lane[]> lanes;
  };
  struct alignas(64) Clock {  // written by one worker, read by anyone
    std::atomic<std::uint64_t> busy{0}, wait{0};
  };

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }
  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  static std::uint64_t ticket(std::uint32_t send, int shard) {
    return static_cast<std::uint64_t>(send) << 32 | static_cast<std::uint32_t>(shard);
  }

  // The next untaken shard of the group for this worker, or -1. Only of the send that the worker
  // is visiting: by the time it looks, the group may be on its next one. The acquire pairs with
  // send's release of the same ticket: the worker that takes a shard sees what the caller wrote
  // before.
  int take_shard(Group& g, std::uint32_t send, int worker) {
    for (int i = 0; i < lanes_; ++i) {
      Lane& lane = g.lanes[static_cast<std::size_t>((worker + i) % lanes_)];
      std::uint64_t next = lane.next.load(std::memory_order_relaxed);
      while (next >> 32 == send) {
        const int shard = static_cast<int>(next & 0xffffffffU);
        if (shard >= lane.end) break;
        if (lane.next.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
          return shard;
        }
      }
    }
    return -1;
  }

  // Plays one shard of the send's group; false when none is left to take.
  bool play_one(std::uint32_t send, int worker) {
    const int group = ring_[send % capacity_].load(std::memory_order_relaxed);
    Group& g = groups_[static_cast<std::size_t>(group)];
    const int shard = take_shard(g, send, worker);
    if (shard < 0) return false;
    const std::uint64_t begin = now_ns();
    work_.play_shard(worker, group, shard);
    if (g.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      work_.close_group(group);
      finish(group, g);
    }
    add(clocks_[static_cast<std::size_t>(worker)].busy, now_ns() - begin);
    return true;
  }

  void finish(int group, Group& g) {
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(group);
      g.done.store(true, std::memory_order_release);
    }
    if (threads_ > 0) ready_changed_.notify_one();
  }

  // Every worker visits every send in order and leaves it when all its shards are taken. An entry
  // of the ring is written again only when its shards are taken: of the sends since, one group
  // came twice (there are no more groups than entries), so a worker finished a later send after
  // leaving this one. A worker that was left behind may therefore jump to the oldest entry.
  void run_worker(int worker) {
    Clock& clock = clocks_[static_cast<std::size_t>(worker)];
    std::uint32_t seen = 0;
    while (true) {
      const std::uint32_t sent = wait_for_send(seen, clock);
      if (stopping_.load(std::memory_order_acquire)) return;
      if (sent - seen > capacity_) seen = sent - capacity_;
      while (play_one(seen, worker)) {
        if (stopping_.load(std::memory_order_relaxed)) return;
      }
      ++seen;
    }
  }

  std::uint32_t wait_for_send(std::uint32_t seen, Clock& clock) {
    std::uint32_t sent = sends_.load(std::memory_order_acquire);
    if (sent != seen) return sent;
    const std::uint64_t begin = now_ns();
    if (worker_spins_) {
      while (sent == seen && now_ns() - begin < kSpinNs) {
        for (int i = 0; i < 64; ++i) pause();
        sent = sends_.load(std::memory_order_acquire);
      }
    }
    while (sent == seen && !stopping_.load(std::memory_order_acquire)) {
      sends_.wait(sent, std::memory_order_acquire);
      sent = sends_.load(std::memory_order_acquire);
    }
    add(clock.wait, now_ns() - begin);
    return sent;
  }

  int take_locked(int group) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      if (group >= 0 && ready_[i] != group) continue;
      const int found = ready_[i];
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
      return found;
    }
    return -1;
  }
  int take_ready(int group) {
    if (group >= 0 &&
        !groups_[static_cast<std::size_t>(group)].done.load(std::memory_order_acquire)) {
      return -1;
    }
    const std::lock_guard lock(mutex_);
    return take_locked(group);
  }

  int wait_serial(int group, std::uint64_t patience_ns) {
    const std::uint64_t until = now_ns() + patience_ns;
    while (true) {
      if (const int g = take_locked(group); g >= 0) return g;
      if (serial_seen_ == sends_.load(std::memory_order_relaxed)) return -1;
      if (!play_one(serial_seen_, 0)) ++serial_seen_;
      if (now_ns() > until) return take_locked(group);
    }
  }

  ShardWork& work_;
  const Layout& layout_;
  const int threads_;
  const int lanes_;
  bool worker_spins_ = false, caller_spins_ = false;
  std::uint32_t capacity_ = 1;
  std::unique_ptr<Group[]> groups_;
  std::unique_ptr<std::atomic<int>[]> ring_;
  std::unique_ptr<Clock[]> clocks_;
  std::atomic<std::uint32_t> sends_{0};
  std::uint32_t serial_seen_ = 0;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable ready_changed_;
  std::vector<int> ready_;  // groups ready and not yet received, in the order they became so
  std::vector<std::thread> workers_;
};

}  // namespace ludus
