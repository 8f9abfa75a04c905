// A library that a hosted engine loads before its own (LD_PRELOAD): a process that finds
// nothing to receive yields its processor.
//
// ViZDoom's engines wait for each other's packets by asking for them again and again. With more
// engines than processors the one that asks keeps the processor that the one that has to answer
// waits for, until its share of time is over.

#include <dlfcn.h>
#include <sched.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>

namespace {

using Receive = ssize_t (*)(int, void*, size_t, int, sockaddr*, socklen_t*);

std::atomic<Receive> the_next{nullptr};

Receive next_receive() {
  Receive next = the_next.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = reinterpret_cast<Receive>(dlsym(RTLD_NEXT, "recvfrom"));
    the_next.store(next, std::memory_order_relaxed);
  }
  return next;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t recvfrom(int socket, void* data,
                                                                   size_t size, int flags,
                                                                   sockaddr* from,
                                                                   socklen_t* from_size) {
  const ssize_t received = next_receive()(socket, data, size, flags, from, from_size);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    sched_yield();
    errno = EAGAIN;
  }
  return received;
}
