// pommerman_conformance FILE...: compares Pommerman's step with recorded transitions of the
// original. Exit status 0 when every one is reproduced.
#include <cstdio>
#include <fstream>

#include "tests/pommerman/trace.hpp"

int main(int argc, char** argv) {
  ludus::pommerman::TraceResult all;
  for (int a = 1; a < argc; ++a) {
    std::ifstream in(argv[a]);
    if (!in) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[a]);
      return 2;
    }
    try {
      const ludus::pommerman::TraceResult r = ludus::pommerman::compare_traces(in);
      for (const std::string& d : r.differences) std::printf("%s: %s\n", argv[a], d.c_str());
      all.records += r.records;
      all.steps += r.steps;
      all.wrong += r.wrong;
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", argv[a], e.what());
      return 2;
    }
  }
  std::printf("%d of %d steps of %d records reproduced\n", all.steps - all.wrong, all.steps,
              all.records);
  return all.wrong == 0 && all.steps > 0 ? 0 : 1;
}
