// rts_conformance FILE...: compares the RTS games with recorded matches of the original engine,
// tick by tick. Exit status 0 when all agree to the last tick.
#include <cstdio>
#include <fstream>

#include "tests/rts/trace.hpp"

int main(int argc, char** argv) {
  int games = 0;
  int agree = 0;
  for (int a = 1; a < argc; ++a) {
    std::ifstream in(argv[a]);
    if (!in) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[a]);
      return 2;
    }
    for (const ludus::rts::TraceResult& r : ludus::rts::compare_traces(in)) {
      ++games;
      agree += r.agrees ? 1 : 0;
      if (r.agrees) continue;
      std::printf("game %d (%s): agrees for %u ticks, first difference at tick %u %s %s\n", r.game,
                  r.name.c_str(), r.ticks, r.first_bad, r.difference.c_str(), r.end.c_str());
    }
  }
  std::printf("%d of %d games agree to the last tick\n", agree, games);
  return agree == games ? 0 : 1;
}
