// Counts heap allocations of the calling thread and of the whole process. Linking allocations.cpp
// replaces operator new of the executable.
#pragma once

#include <cstdint>

namespace ludus {

// operator new calls so far, of any kind.
[[nodiscard]] std::uint64_t thread_allocations();
[[nodiscard]] std::uint64_t process_allocations();

// False if the sanitizer replaces operator new: both counts stay 0.
[[nodiscard]] bool allocations_are_counted();

}  // namespace ludus
