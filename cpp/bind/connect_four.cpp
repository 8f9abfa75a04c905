// The solver of Connect Four.
#include "bind/connect_four.hpp"

#include "games/connect_four/solver.hpp"

namespace ludus::bind {

void bind_connect_four(nb::module_& m) {
  nb::class_<ConnectFourSolver>(m, "ConnectFourSolver",
                                "Solves Connect Four exactly; remembers what it has seen.")
      .def(nb::init<int>(), nb::arg("mib") = 64)
      .def(
          "solve",
          [](ConnectFourSolver& s, const std::vector<int>& columns, bool sign_only) {
            nb::gil_scoped_release release;
            return s.solve(ConnectFourSolver::after(columns), sign_only);
          },
          nb::arg("columns"), nb::arg("sign_only") = false,
          "The score after these columns (0..6) for the seat to move: > 0 wins, 0 draws.")
      .def(
          "analyse",
          [](ConnectFourSolver& s, const std::vector<int>& columns, bool sign_only) {
            nb::gil_scoped_release release;
            const auto scores = s.analyse(ConnectFourSolver::after(columns), sign_only);
            return std::vector<int>(scores.begin(), scores.end());
          },
          nb::arg("columns"), nb::arg("sign_only") = false,
          "The score of each column for the seat to move; -1000 where it is full.")
      .def("nodes", &ConnectFourSolver::nodes, "Positions searched so far.")
      .def("forget", &ConnectFourSolver::forget);
}

}  // namespace ludus::bind
