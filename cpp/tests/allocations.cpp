#include "tests/allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t in_thread = 0;
std::atomic<std::uint64_t> in_process = 0;

[[maybe_unused]] void* counted(std::size_t size, std::size_t align) {
  ++in_thread;
  in_process.fetch_add(1, std::memory_order_relaxed);
  if (size == 0) size = 1;
  void* p = align <= alignof(std::max_align_t)
                ? std::malloc(size)
                : std::aligned_alloc(align, (size + align - 1) / align * align);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

namespace ludus {

std::uint64_t thread_allocations() { return in_thread; }
std::uint64_t process_allocations() { return in_process.load(std::memory_order_relaxed); }

}  // namespace ludus

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LUDUS_OWN_NEW 0  // Clang's thread sanitizer brings its own, and two cannot be linked
#endif
#endif
#ifndef LUDUS_OWN_NEW
#define LUDUS_OWN_NEW 1
#endif

namespace ludus {
bool allocations_are_counted() { return LUDUS_OWN_NEW != 0; }
}  // namespace ludus

#if LUDUS_OWN_NEW
void* operator new(std::size_t n) { return counted(n, 0); }
void* operator new[](std::size_t n) { return counted(n, 0); }
void* operator new(std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif
