// ludus.native._core: the built-in games.
#include "bind/bind.hpp"
#include "bind/connect_four.hpp"
#include "bind/go.hpp"
#include "bind/hosted.hpp"
#include "bind/match.hpp"
#include "bind/pixels.hpp"
#include "bind/pool.hpp"
#include "bind/replay.hpp"
#include "bind/rulebook.hpp"
#include "bind/run.hpp"
#include "bind/search.hpp"
#include "bind/spec.hpp"
#include "host/builtin.hpp"

extern const char* const ludus_sources_digest;  // cmake/sources_digest.cmake writes it

namespace {

std::map<std::string, std::string> build_info() {
#if defined(__clang__)
  std::string compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
  std::string compiler = "gcc " __VERSION__;
#else
  std::string compiler = "unknown";
#endif
#if defined(NDEBUG)
  std::string asserts = "off";
#else
  std::string asserts = "on";
#endif
#if defined(__OPTIMIZE__)
  std::string optimised = "yes";
#else
  std::string optimised = "no";
#endif
  return {{"compiler", std::move(compiler)},
          {"standard", std::to_string(__cplusplus)},
          {"asserts", std::move(asserts)},
          {"optimised", std::move(optimised)},
          {"sources", ludus_sources_digest}};
}

}  // namespace

NB_MODULE(_core, m) {
  using namespace ludus;
  m.doc() = "The compiled core of Ludus. Import it through ludus.native only.";
  const GameSet& games = builtin_games();
  bind::bind_errors(m);
  m.def("build_info", &build_info, "How this module was built, for bug reports.");
  bind::bind_pixels(m);
  bind::bind_spec(m, games);
  bind::bind_match(m, games);
  bind::bind_connect_four(m);
  bind::bind_go(m);
  bind::bind_replay(m, games);
  bind::bind_run(m, games);
  bind::bind_pool(m, games);
  bind::bind_rulebook(m);
  bind::bind_search(m, games);
  bind::bind_hosted(m);
}
