// SPDX-License-Identifier: MIT
// to_json: events, reports, plans, schedules, gates' snapshots and explanations as one line of JSON. for_each_field:
// the same members, one by one.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/gate/circuit_breaker_options.hpp>
#include <planb/gate/snapshot.hpp>
#include <planb/observe/detail/json_writer.hpp>
#include <planb/observe/detail/tell.hpp>
#include <planb/observe/detail/tell_explanation.hpp>
#include <planb/observe/detail/tell_gate.hpp>
#include <planb/observe/detail/tell_plan.hpp>
#include <planb/observe/detail/wall_text.hpp>
#include <planb/observe/explanation.hpp>
#include <planb/plan/plan.hpp>
#include <planb/report/event.hpp>
#include <planb/report/report.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/schedule/text.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// Whether a line has the time of day, and which: none, the moment of writing (true), or a given one.
class WallTime {
 public:
  constexpr WallTime() noexcept = default;
  constexpr WallTime(std::same_as<bool> auto now) noexcept : now_(now) {}  // NOLINT(google-explicit-constructor)
  template <class D>
  constexpr WallTime(std::chrono::time_point<std::chrono::system_clock, D> at) noexcept  // NOLINT
      : at_(std::chrono::floor<std::chrono::milliseconds>(at)) {}

  [[nodiscard]] std::optional<std::chrono::sys_time<std::chrono::milliseconds>> get() const noexcept {
    if (now_) return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    return at_;
  }

 private:
  bool now_ = false;
  std::optional<std::chrono::sys_time<std::chrono::milliseconds>> at_;
};

struct JsonOptions {
  // Of events, reports and snapshots: adds `time`, such as "2026-02-03T04:05:06.789Z". The other times are the run
  // clock's.
  WallTime wall = {};
  std::size_t max_text = 1000;  // texts are cut after so many bytes, and never within a character
};

namespace detail {

// An object on one line; `members` writes what is in it.
template <class F>
[[nodiscard]] std::string json_object(const JsonOptions& options, const F& members) {
  JsonWriter writer(options.max_text);
  writer.begin({});
  members(writer);
  writer.end();
  return writer.take();
}

}  // namespace detail

// An event as one line, {"event":"attempt_start","attempt":1,...}, with the names of its members. Valid whatever bytes
// a provider has sent. Durations and times are decimal seconds, exact to the nanosecond, and null for the longest one;
// enumerations are their labels; optionals without a value are left out. Throws nothing but std::bad_alloc.
[[nodiscard]] std::string to_json(const Event& event, const JsonOptions& options = {});

template <class E>
requires(detail::event_kind<E> != 0) [[nodiscard]] std::string
    to_json(const E& event, const JsonOptions& options = {}) {
  return detail::json_object(options, [&](detail::JsonWriter& writer) {
    writer.word("event", detail::event_word<E>);
    detail::tell_wall(writer, options.wall.get());
    detail::tell(writer, event);
  });
}

[[nodiscard]] std::string to_json(const RunReport& report, const JsonOptions& options = {});

[[nodiscard]] std::string to_json(const Cause& cause, const JsonOptions& options = {});

// What has no bound is null.
[[nodiscard]] std::string to_json(const Explanation& explanation, const JsonOptions& options = {});

[[nodiscard]] std::string to_json(const GateSnapshot& gate, const JsonOptions& options = {});
[[nodiscard]] std::string to_json(const CircuitSnapshot& breaker, const JsonOptions& options = {});

// A text that parse_schedule reads, in quotes.
[[nodiscard]] std::string to_json(const Schedule& schedule, const JsonOptions& options = {});

// {"steps":[{"name":...},...]}: the members that are given. Those that are functions, and gates, are true.
template <class Ctx, class Env>
[[nodiscard]] std::string to_json(const ExecutionPlan<Ctx, Env>& plan, const JsonOptions& options = {}) {
  return detail::json_object(options, [&](detail::JsonWriter& writer) {
    writer.begin_list("steps");
    for (const auto& step : plan.steps()) detail::tell_step(writer, detail::step_facts(step));
    writer.end_list();
  });
}

// Calls f(name, value) for each member of an event or a report, in the order of to_json. A member of a member has a
// name such as "cause.status" or "report.steps.0.attempts". Values are a std::string_view (good for that call), a bool,
// a std::int64_t, a Duration or a TimePoint: f takes all five, as a generic lambda does.
template <class E, class F>
requires(detail::event_kind<E> != 0 || std::same_as<E, Event> ||
         std::same_as<E, RunReport>) void for_each_field(const E& event, F&& f);

namespace detail {

template <class F>
class FlatFields final : public FieldSink {
 public:
  explicit FlatFields(F& f) noexcept : f_(f) {}
  ~FlatFields() = default;

  void text(std::string_view name, std::string_view value) override { call(name, value); }
  void word(std::string_view name, std::string_view value) override { call(name, value); }
  void number(std::string_view name, std::int64_t value) override { call(name, value); }
  void flag(std::string_view name, bool value) override { call(name, value); }
  void duration(std::string_view name, Duration value) override { call(name, value); }
  void time(std::string_view name, TimePoint value) override { call(name, value); }
  void nothing(std::string_view /*name*/) override {}
  void begin(std::string_view name) override {
    path_ += name;
    path_ += '.';
  }
  void end() override {
    path_.pop_back();
    path_.resize(path_.rfind('.') + 1);  // npos + 1 is zero
  }
  void begin_list(std::string_view name) override { begin(name); }
  void begin_element(std::size_t number) override { begin(std::to_string(number)); }
  void end_list() override { end(); }

 private:
  template <class T>
  void call(std::string_view name, const T& value) {
    if (path_.empty()) return static_cast<void>(f_(name, value));
    const std::size_t size = path_.size();
    path_ += name;
    f_(std::string_view(path_), value);
    path_.resize(size);
  }

  F& f_;
  std::string path_;
};

template <class F, class T>
concept TakesField = std::is_invocable_v<F&, std::string_view, const T&>;

}  // namespace detail

template <class E, class F>
requires(detail::event_kind<E> != 0 || std::same_as<E, Event> ||
         std::same_as<E, RunReport>) void for_each_field(const E& event, F&& f) {
  constexpr bool fits = detail::TakesField<F, std::string_view> && detail::TakesField<F, bool> &&
                        detail::TakesField<F, std::int64_t> && detail::TakesField<F, Duration> &&
                        detail::TakesField<F, TimePoint>;
  static_assert(
      fits,
      "planb: for_each_field calls f(std::string_view name, value) with values of the types std::string_view, "
      "bool, std::int64_t, Duration and TimePoint: hand over a generic lambda, or one for each type");
  if constexpr (fits) {
    if constexpr (std::same_as<E, Event>) {
      event.visit([&](const auto& e) { planb::for_each_field(e, f); });
    } else {
      detail::FlatFields<std::remove_reference_t<F>> sink(f);
      if constexpr (!std::same_as<E, RunReport>) sink.word("event", detail::event_word<E>);
      detail::tell(sink, event);
    }
  }
}

inline std::string to_json(const Event& event, const JsonOptions& options) {
  return event.visit([&](const auto& e) { return planb::to_json(e, options); });
}

inline std::string to_json(const RunReport& report, const JsonOptions& options) {
  return detail::json_object(options, [&](detail::JsonWriter& writer) {
    detail::tell_wall(writer, options.wall.get());
    detail::tell(writer, report);
  });
}

inline std::string to_json(const Cause& cause, const JsonOptions& options) {
  detail::JsonWriter writer(options.max_text);
  detail::tell(writer, {}, cause);
  return writer.take();
}

inline std::string to_json(const Explanation& explanation, const JsonOptions& options) {
  return detail::json_object(options, [&](detail::JsonWriter& writer) { detail::tell(writer, explanation); });
}

inline std::string to_json(const GateSnapshot& gate, const JsonOptions& options) {
  return detail::json_object(options, [&](detail::JsonWriter& writer) {
    detail::tell_wall(writer, options.wall.get());
    detail::tell(writer, gate);
  });
}

inline std::string to_json(const CircuitSnapshot& breaker, const JsonOptions& options) {
  return detail::json_object(options, [&](detail::JsonWriter& writer) {
    detail::tell_wall(writer, options.wall.get());
    detail::tell(writer, breaker);
  });
}

inline std::string to_json(const Schedule& schedule, const JsonOptions& options) {
  std::string out;
  detail::append_json_text(out, planb::to_string(schedule), options.max_text);
  return out;
}

}  // namespace planb::inline PLANB_ABI
