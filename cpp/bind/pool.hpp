// Pools for Python: ludus.pool.native wraps this class; its docstrings say what the user meets.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/bind.hpp"
#include "host/any_game.hpp"

namespace ludus::bind {

using HostArray = nb::ndarray<nb::device::cpu, nb::c_contig>;

using TagArray = nb::ndarray<std::uint64_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;
using ControllerArray = nb::ndarray<std::int32_t, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

// (bot index, policy id, weight, name) and (controllers, frame skip, handover bot, handover ticks).
using ControllerTuple = std::tuple<int, int, double, std::string>;
using PlanTuple = std::tuple<std::vector<ControllerTuple>, int, int, std::uint32_t>;

// StoredSlot.
using SlotTuple = std::tuple<std::uint64_t, nb::bytes, std::vector<std::pair<int, int>>>;

inline Lineup to_lineup(const std::vector<PlanTuple>& plans, bool rotate) {
  Lineup lineup;
  lineup.rotate = rotate;
  for (const auto& [controllers, frame_skip, handover_bot, handover_ticks] : plans) {
    SeatPlan plan{{}, frame_skip, handover_bot, handover_ticks};
    for (const auto& [bot, policy, weight, name] : controllers)
      plan.controllers.push_back({bot, policy, weight, name});
    lineup.plans.push_back(std::move(plan));
  }
  return lineup;
}

inline Autoreset to_autoreset(const std::string& name) {
  if (name == "same_step") return Autoreset::same_step;
  if (name == "next_step") return Autoreset::next_step;
  if (name == "off") return Autoreset::off;
  throw PoolError("autoreset '" + name + "', expected same_step, next_step or off");
}

// A game's own message may hold any bytes.
inline nb::object to_text(const std::string& s) {
  return nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

// A pool with the Python objects whose memory it borrows: they outlive its workers.
class PoolHandle {
 public:
  explicit PoolHandle(std::unique_ptr<AnyPool> pool)
      : slabs_(static_cast<std::size_t>(pool->options().groups)), pool_(std::move(pool)) {
    for (const BotSpec& b : pool_->spec().bots) bots_.push_back(nb::str(b.name.c_str()));
    const Layout& l = pool_->layout();
    for (int p = 0; p < l.policies; ++p) {
      policies_.push_back(nb::str(("policy:" + std::to_string(p)).c_str()));
    }
    for (int turn = 0; turn < l.seats; ++turn) {
      nb::list plans;
      for (int seat = 0; seat < l.seats; ++seat) plans.append(l.plan(turn, seat));
      plans_.push_back(nb::tuple(plans));
    }
  }
  ~PoolHandle() { close(); }

  AnyPool& pool() { return *pool_; }

  void close() {
    const nb::gil_scoped_release unlocked;
    pool_->close();
  }

  void attach(int group, const nb::list& obs, const nb::dict& arrays, nb::object keep) {
    const GameSpec& spec = pool_->spec();
    SlabView view;
    view.rows = pool_->layout().rows;
    const auto get = [&](const char* name) {
      if (!arrays.contains(name)) throw PoolError(std::string("slab: no array '") + name + "'");
      return nb::handle(arrays[name]);
    };
    const HostArray reward = host_array(get("reward"), "reward");
    if (reward.ndim() != 2) throw PoolError("slab: reward must be [T, R]");
    view.steps = static_cast<int>(reward.shape(0));
    const auto steps = static_cast<std::size_t>(view.steps);
    if (obs.size() != spec.observation.size())
      throw PoolError("slab: wrong number of observation tensors");
    for (std::size_t i = 0; i < obs.size(); ++i) {
      const TensorSpec& t = spec.observation[i];
      const HostArray a = host_array(obs[i], ("obs." + t.name).c_str());
      if (a.ndim() < 2 || a.shape(0) != steps + 1 || a.shape(1) != rows() ||
          a.nbytes() != (steps + 1) * rows() * t.bytes()) {
        throw PoolError("slab: obs." + t.name + " does not have the shape of the game's spec");
      }
      view.obs[i] = static_cast<std::byte*>(a.data());
    }
    view.reward = check<float>(reward, "reward", steps, 1);
    view.mask =
        check<std::uint8_t>(host_array(get("mask"), "mask"), "mask", steps + 1, spec.mask_bytes());
    view.active = check<std::uint8_t>(host_array(get("active"), "active"), "active", steps + 1, 1);
    view.is_first =
        check<std::uint8_t>(host_array(get("is_first"), "is_first"), "is_first", steps + 1, 1);
    view.policy = check<std::int16_t>(host_array(get("policy"), "policy"), "policy", steps + 1, 1);
    view.terminated =
        check<std::uint8_t>(host_array(get("terminated"), "terminated"), "terminated", steps, 1);
    view.truncated =
        check<std::uint8_t>(host_array(get("truncated"), "truncated"), "truncated", steps, 1);
    view.actions = check<std::int32_t>(host_array(get("actions"), "actions"), "actions", steps,
                                       spec.heads.size());
    pool_->attach(group, view);
    slabs_[static_cast<std::size_t>(group)] = std::move(keep);
  }

  // (group, t, finished rows, results, active rows of each policy)
  nb::tuple recv(int group) {
    constexpr std::uint64_t kPatienceNs = 100'000'000;  // between two looks at Ctrl-C
    while (true) {
      int found = -1;
      {
        const nb::gil_scoped_release unlocked;
        found = pool_->recv(group, kPatienceNs);
      }
      if (found >= 0) {
        nb::list counts;
        for (const std::int32_t n : pool_->policy_counts(found)) counts.append(n);
        return nb::make_tuple(found, pool_->time(found), pool_->finals(found),
                              pool_->results_waiting(found), counts);
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }

  // The fields of ludus.flow.MatchResult, in its order. Built by hand: with short matches this is
  // most of what a step costs in Python.
  nb::list results(int group) {
    const int seats = pool_->layout().seats;
    nb::list out;
    pool_->drain_results(group, [&](RawResult& r) {
      const auto per_seat = [&](auto&& value) {
        nb::object t = nb::steal(PyTuple_New(seats));
        for (int s = 0; s < seats; ++s) {
          nb::object v = value(static_cast<std::size_t>(s));
          PyTuple_SET_ITEM(t.ptr(), s, v.release().ptr());
        }
        return t;
      };
      const auto number = [](double v) { return nb::steal(PyFloat_FromDouble(v)); };
      out.append(nb::make_tuple(
          r.match, r.slot, pool_->options().seed, r.ticks, r.decisions,
          per_seat([&](std::size_t s) { return number(static_cast<double>(r.outcome[s])); }),
          per_seat([&](std::size_t s) { return number(r.returns[s]); }),
          per_seat([&](std::size_t s) { return player_name(r.player[s]); }),
          plans_[static_cast<std::size_t>(r.slot % seats)], r.truncated, to_text(r.error),
          nb::bytes(r.replay.data(), r.replay.size()), r.tag));
      r.replay = {};  // its memory is not needed again
    });
    return out;
  }

  void set_orders(const ControllerArray& controllers, const TagArray& tags) {
    const auto plans = static_cast<std::size_t>(controllers.shape(1));
    if (controllers.shape(0) != tags.shape(0) || tags.shape(0) > kMaxSlots) {
      throw PoolError("set_orders: as many tags as slots");
    }
    Orders orders(static_cast<int>(tags.shape(0)), plans);
    for (int slot = 0; slot < orders.slots(); ++slot) {
      const auto s = static_cast<std::size_t>(slot);
      orders.set_tag(slot, tags.data()[s]);
      for (std::size_t p = 0; p < plans; ++p) {
        orders.set(slot, p, controllers.data()[s * plans + p]);
      }
    }
    pool_->set_orders(std::move(orders));
  }

  void in_play(int group, const TagArray& tags, const ControllerArray& controllers) {
    pool_->in_play(group, {tags.data(), tags.size()}, {controllers.data(), controllers.size()});
  }

  // (next match, bytes of the match in play, its players) of each slot: StoredSlot.
  std::vector<SlotTuple> snapshot_parts(const nb::bytes& data) {
    std::vector<SlotTuple> out;
    for (StoredSlot& s :
         pool_->snapshot_parts({static_cast<const char*>(data.data()), data.size()})) {
      out.emplace_back(s.next, nb::bytes(s.match.data(), s.match.size()), std::move(s.players));
    }
    return out;
  }

  nb::bytes snapshot_join(const std::vector<SlotTuple>& slots) {
    std::vector<StoredSlot> parts;
    for (const auto& [next, match, players] : slots) {
      parts.push_back({next, {static_cast<const char*>(match.data()), match.size()}, players});
    }
    const std::string data = pool_->snapshot_join(parts);
    return nb::bytes(data.data(), data.size());
  }

  // (slot, match, tick, message) of the first match that threw in the group's last step, once.
  nb::object failure(int group) {
    const std::optional<MatchFailure> f = pool_->failure(group);
    if (!f) return nb::none();
    return nb::make_tuple(f->slot, f->match, f->tick, to_text(f->message));
  }

 private:
  [[nodiscard]] nb::object player_name(std::int32_t player) const {
    return player >= 0 ? policies_[static_cast<std::size_t>(player)]
                       : bots_[static_cast<std::size_t>(-1 - player)];
  }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(pool_->layout().rows); }

  static HostArray host_array(nb::handle object, const char* name) {
    HostArray array;
    if (!nb::try_cast<HostArray>(object, array, false)) {
      throw PoolError(std::string("slab: ") + name +
                      " must be a writable C-contiguous array in host memory");
    }
    return array;
  }

  template <class T>
  T* check(const HostArray& a, const char* name, std::size_t steps, std::size_t width) const {
    if (a.dtype() != nb::dtype<T>() || a.ndim() < 2 || a.shape(0) != steps ||
        a.shape(1) != rows() || a.nbytes() != steps * rows() * width * sizeof(T)) {
      throw PoolError(std::string("slab: ") + name + " has the wrong dtype or shape");
    }
    return static_cast<T*>(a.data());
  }

  std::vector<nb::object> bots_, policies_;  // names as results give them
  std::vector<nb::object> plans_;            // [slot % seats] plans of the seats
  std::vector<nb::object> slabs_;            // before pool_: it dies after the workers
  std::unique_ptr<AnyPool> pool_;
};

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> borrowed(std::span<T> data, nb::handle owner) {
  return {data.data(), {data.size()}, owner};
}

inline void bind_pool_handle(nb::module_& m) {
  nb::exception<PoolError>(m, "PoolError", PyExc_ValueError);
  nb::class_<PoolHandle>(m, "PoolHandle", "A pool of one game. Use ludus.pool.native.NativePool.")
      .def_prop_ro("rows", [](PoolHandle& h) { return h.pool().layout().rows; })
      .def_prop_ro("policies", [](PoolHandle& h) { return h.pool().layout().policies; })
      .def_prop_ro("row_slot", [](PoolHandle& h) { return h.pool().layout().row_slot; })
      .def_prop_ro("row_seat", [](PoolHandle& h) { return h.pool().layout().row_seat; })
      .def("group_rows",
           [](PoolHandle& h, int group) {
             const Range r = h.pool().layout().group_rows.at(static_cast<std::size_t>(group));
             return std::make_tuple(r.begin, r.end);
           })
      .def("policy_rows",
           [](nb::handle self, int group, int policy) {
             return borrowed(nb::cast<PoolHandle&>(self).pool().policy_rows(group, policy), self);
           })
      .def("final_rows",
           [](nb::handle self, int group) {
             return borrowed(std::span(nb::cast<PoolHandle&>(self).pool().final_buffer(group).rows),
                             self);
           })
      .def("final_bytes",
           [](nb::handle self, int group, int tensor) {
             auto& bytes = nb::cast<PoolHandle&>(self).pool().final_buffer(group).obs.at(
                 static_cast<std::size_t>(tensor));
             return borrowed(std::span(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()),
                             self);
           })
      .def("attach", &PoolHandle::attach, nb::arg("group"), nb::arg("obs"), nb::arg("arrays"),
           nb::arg("keep"),
           nb::sig("def attach(self, group: int, obs: list[typing.Any], "
                   "arrays: dict[str, typing.Any], keep: object) -> None"))
      .def("send", [](PoolHandle& h, int group) { h.pool().send(group); })
      .def("recv", &PoolHandle::recv, nb::arg("group"),
           nb::sig("def recv(self, group: int) -> tuple[int, int, int, int, list[int]]"))
      .def("results", &PoolHandle::results, nb::arg("group"),
           nb::sig("def results(self, group: int) -> list[tuple[int, int, int, int, int, "
                   "tuple[float, ...], tuple[float, ...], tuple[str, ...], tuple[int, ...], "
                   "bool, str, bytes, int]]"))
      .def("failure", &PoolHandle::failure, nb::arg("group"),
           nb::sig("def failure(self, group: int) -> tuple[int, int, int, str] | None"))
      .def("group_finished",
           [](PoolHandle& h, int group) { return h.pool().group_finished(group); })
      .def("set_handover",
           [](PoolHandle& h, int plan, std::uint32_t ticks) { h.pool().set_handover(plan, ticks); })
      .def("set_spirit", [](PoolHandle& h, double spirit) { h.pool().set_spirit(spirit); })
      .def("set_mixture", [](PoolHandle& h, int plan,
                             const std::vector<double>& w) { h.pool().set_mixture(plan, w); })
      .def("set_orders", &PoolHandle::set_orders, nb::arg("controllers"), nb::arg("tags"),
           nb::sig("def set_orders(self, controllers: typing.Any, tags: typing.Any) -> None"))
      .def("in_play", &PoolHandle::in_play, nb::arg("group"), nb::arg("tags"),
           nb::arg("controllers"),
           nb::sig("def in_play(self, group: int, tags: typing.Any, "
                   "controllers: typing.Any) -> None"))
      .def("reset", [](PoolHandle& h, const std::vector<int>& slots) { h.pool().reset(slots); })
      .def("random_actions",
           [](PoolHandle& h, int group, std::uint64_t seed) {
             const nb::gil_scoped_release unlocked;
             h.pool().random_actions(group, seed);
           })
      .def("slot_hash", [](PoolHandle& h, int slot) { return h.pool().slot_hash(slot); })
      .def("slot_state",
           [](PoolHandle& h, int slot) {
             const std::string state = h.pool().slot_state(slot);
             return nb::bytes(state.data(), state.size());
           })
      .def("slot_view", [](PoolHandle& h, int slot) { return h.pool().slot_view(slot); })
      .def("stats",
           [](PoolHandle& h) {
             const PoolCounters c = h.pool().counters();
             return std::make_tuple(c.counts.ticks, c.counts.decisions, c.counts.bot_decisions,
                                    c.counts.matches, c.counts.errors, c.times.busy_ns,
                                    c.times.wait_ns, c.recv_wait_ns);
           })
      .def("snapshot",
           [](PoolHandle& h) {
             const std::string data = h.pool().snapshot();
             return nb::bytes(data.data(), data.size());
           })
      .def("restore",
           [](PoolHandle& h, const nb::bytes& data) {
             h.pool().restore({static_cast<const char*>(data.data()), data.size()});
           })
      .def("snapshot_parts", &PoolHandle::snapshot_parts, nb::arg("data"))
      .def("snapshot_join", &PoolHandle::snapshot_join, nb::arg("slots"))
      .def("close", &PoolHandle::close);
}

// From a ludus.flow.pool_options.PoolOptions. `inputs` names tensors there, and is a set of bits
// here.
inline PoolOptions to_options(nb::handle options, Lineup lineup, std::uint32_t inputs) {
  PoolOptions o;
  o.lineup = std::move(lineup);
  o.slots = field<int>(options, "slots");
  o.groups = field<int>(options, "groups");
  o.threads = field<int>(options, "threads");
  o.seed = field<std::uint64_t>(options, "seed");
  o.num_matches =
      field<std::optional<std::uint64_t>>(options, "num_matches").value_or(PoolOptions::kEndless);
  o.autoreset = to_autoreset(field<std::string>(options, "autoreset"));
  o.truncate_ticks = field<std::uint32_t>(options, "truncate_ticks");
  o.raise_errors = field<std::string>(options, "on_error") == "raise";
  o.inputs = inputs;
  o.record.hash_every = field<std::uint32_t>(options, "hash_every");
  o.spirit = field<double>(options, "spirit");
  o.zero_sum = field<bool>(options, "zero_sum");
  const nb::object record = options.attr("record");
  if (nb::isinstance<nb::str>(record)) {
    o.record.all = true;
  } else {
    for (const nb::handle match : record) {
      std::uint64_t number = 0;
      if (!nb::try_cast(match, number)) throw nb::type_error("record: expected match numbers");
      o.record.matches.push_back(number);
    }
    std::sort(o.record.matches.begin(), o.record.matches.end());
  }
  return o;
}

inline void bind_pool(nb::module_& m, const GameSet& games) {
  bind_pool_handle(m);
  m.def(
      "make_pool",
      [&games](const std::string& game, const ParamDict& params,
               const std::vector<PlanTuple>& plans, bool rotate, nb::handle options,
               std::uint32_t inputs) {
        return new PoolHandle(games.at(game).pool(
            Params(params), to_options(options, to_lineup(plans, rotate), inputs)));
      },
      nb::arg("game"), nb::arg("params"), nb::arg("plans"), nb::arg("rotate"), nb::arg("options"),
      nb::arg("inputs") = ~std::uint32_t{0},
      "Makes a pool by ludus.flow.pool_options.PoolOptions; bit i of inputs: tensor i is in use. "
      "Raises ParamError or PoolError.");
}

}  // namespace ludus::bind
