// The pinned behaviour of every built-in game (tests/golden/games/signature.txt): it must come out
// of every compiler, optimisation level and sanitizer. Exit code 3 if anything differs.
#include <cstdio>
#include <fstream>
#include <string>

#include "game/playthrough.hpp"
#include "games/registry.hpp"

namespace ludus {
namespace {

// From the file that tools/golden.py writes: lines of a name and a number.
std::string pinned_signature(const std::string& game) {
  std::ifstream in(LUDUS_SOURCE_DIR "/tests/golden/games/signature.txt");
  for (std::string name, number; in >> name >> number;) {
    if (name == game) return number;
  }
  return "(none)";
}

int run() {
  bool good = true;
  BuiltinGames::for_each([&]<class G>() {
    const std::string found = hex16(game_signature<G>());
    const std::string pinned = pinned_signature(G::kName);
    std::printf("signature of %s: %s%s\n", G::kName, found.c_str(),
                found == pinned ? "" : ("  DIFFERS, pinned " + pinned).c_str());
    good &= found == pinned;
  });
  return good ? 0 : 3;
}

}  // namespace
}  // namespace ludus

int main() { return ludus::run(); }
