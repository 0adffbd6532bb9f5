// SPDX-License-Identifier: MIT
// The events of a run, and the handlers that take them.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/function.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/awaited.hpp>
#include <planb/error/detail/call_user.hpp>
#include <planb/gate/reason.hpp>
#include <planb/report/reasons.hpp>
#include <planb/report/report.hpp>
#include <planb/time/clock.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// What follows a failed attempt, as the failed step decided it. Entering the next step, or a stop, may still change it.
struct NextMove {
  enum Kind : unsigned char { retry, next_step, end };

  Kind kind = end;
  Duration delay{};                          // of a retry
  RunEnd run_end = RunEnd::exhausted;        // of an end
  LeaveReason reason = LeaveReason::none;    // of all but a retry
  std::optional<GateReason> gate_reason = std::nullopt;  // of LeaveReason::gate_closed
};

[[nodiscard]] constexpr std::string_view to_label(NextMove::Kind value) noexcept {
  switch (value) {
    case NextMove::retry: return "retry";
    case NextMove::next_step: return "next_step";
    case NextMove::end: return "end";
  }
  return {};
}

// Each event has the label of its run, RunOptions::label.
struct AttemptStart {
  int attempt = 0;       // across all steps, from 1
  int step_attempt = 0;  // within the step, from 1
  int step_index = 0;    // from 0
  std::string step_name = {};
  TimePoint at{};
  Duration gate_wait{};  // how long the step waited for its gate before this attempt
  std::string label = {};
};

// Of a stream: an attempt's first output is about to reach the consumer. Once per attempt that has output.
struct FirstOutput {
  int attempt = 0;
  int step_attempt = 0;
  int step_index = 0;
  std::string step_name = {};
  TimePoint at{};
  Duration after{};  // since the attempt's start
  std::string label = {};
};

struct AttemptSuccess {
  int attempt = 0;
  int step_attempt = 0;
  int step_index = 0;
  std::string step_name = {};
  TimePoint at{};
  Duration duration{};  // since the attempt's start
  std::string label = {};
};

struct AttemptFailure {
  int attempt = 0;
  int step_attempt = 0;
  int step_index = 0;
  std::string step_name = {};
  TimePoint at{};
  Duration duration{};
  Cause cause = {};
  std::optional<Verdict> verdict = std::nullopt;  // a classifier's or an acceptance check's; none: nobody was asked
  NextMove next = {};
  std::string label = {};
};

// A step was passed over without an attempt.
struct StepSkipped {
  int step_index = 0;
  std::string step_name = {};
  TimePoint at{};
  SkipReason reason = SkipReason::declined;
  std::optional<TimePoint> opens_at = std::nullopt;  // of a closed gate: when it may be tried again
  std::optional<GateReason> gate_reason = std::nullopt;  // of a closed gate: why it refuses,
  std::string gate_text = {};                            // in its own words where it has some,
  std::string gate = {};                                 // and its name
  std::string label = {};
};

// The run is over: once for every run that began, after everything else, and before its result or exception reaches the
// caller.
struct RunFinish {
  RunEnd end = RunEnd::succeeded;
  RunReport report = {};  // where there was no memory for it, one without steps
  TimePoint at{};
  Duration duration{};  // since the run began
  std::string label = {};
};

namespace detail {

struct EventAccess;

// A bit for each kind of event; none for what is no event.
template <class E>
inline constexpr unsigned event_kind = 0;
template <>
inline constexpr unsigned event_kind<AttemptStart> = 1;
template <>
inline constexpr unsigned event_kind<FirstOutput> = 2;
template <>
inline constexpr unsigned event_kind<AttemptSuccess> = 4;
template <>
inline constexpr unsigned event_kind<AttemptFailure> = 8;
template <>
inline constexpr unsigned event_kind<StepSkipped> = 16;
template <>
inline constexpr unsigned event_kind<RunFinish> = 32;

}  // namespace detail

// One of the six. Owns what it holds, so a handler may store it.
class Event {
 public:
  template <class E>
  requires(detail::event_kind<E> != 0) explicit Event(E event) noexcept : kind_(detail::event_kind<E>) {
    ::new (room()) E(std::move(event));
  }

  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();

  // Calls f with the event that it is.
  template <class F>
  decltype(auto) visit(F&& f) const {
    switch (kind_) {
      case detail::event_kind<AttemptStart>: return std::forward<F>(f)(attempt_start_);
      case detail::event_kind<FirstOutput>: return std::forward<F>(f)(first_output_);
      case detail::event_kind<AttemptSuccess>: return std::forward<F>(f)(attempt_success_);
      case detail::event_kind<AttemptFailure>: return std::forward<F>(f)(attempt_failure_);
      case detail::event_kind<StepSkipped>: return std::forward<F>(f)(step_skipped_);
      default: return std::forward<F>(f)(run_finish_);
    }
  }

  // The event as a T, or null. Not of a temporary.
  template <class T>
  [[nodiscard]] const T* get_if() const& noexcept {
    static_assert(detail::event_kind<T> != 0, "planb: get_if<T>() of an Event: T is none of the six events");
    return kind_ == detail::event_kind<T> ? std::launder(static_cast<const T*>(room())) : nullptr;
  }
  template <class T>
  const T* get_if() const&& = delete;

 private:
  friend struct detail::EventAccess;

  [[nodiscard]] void* room() noexcept { return std::addressof(attempt_start_); }
  [[nodiscard]] const void* room() const noexcept { return std::addressof(attempt_start_); }

  unsigned char kind_;  // of detail::event_kind
  union {               // not a std::variant: that costs every file that includes this
    AttemptStart attempt_start_;
    FirstOutput first_output_;
    AttemptSuccess attempt_success_;
    AttemptFailure attempt_failure_;
    StepSkipped step_skipped_;
    RunFinish run_finish_;
  };
};

namespace detail {

struct EventAccess {
  // The cause of a failure of which everybody has been notified.
  [[nodiscard]] static Cause take_cause(Event& event) noexcept;
};

}  // namespace detail

// Several callables as one: a handler for some of the events, or a visitor.
template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

// An event as a line for people, such as
//   AttemptFailure #2 step=0 openai 503 service unavailable, next step
[[nodiscard]] std::string to_string(const AttemptStart& event);

[[nodiscard]] std::string to_string(const AttemptSuccess& event);

[[nodiscard]] std::string to_string(const AttemptFailure& event);

[[nodiscard]] std::string to_string(const StepSkipped& event);

[[nodiscard]] std::string to_string(const FirstOutput& event);

[[nodiscard]] std::string to_string(const RunFinish& event);

[[nodiscard]] std::string to_string(const Event& event);

// What RunOptions::on_event holds: a callable over one kind of event or several (a lambda, an overload set, a generic
// lambda), or over `const Event&`, which then gets those that it takes no other way. It is called inline, on the thread
// that runs; what it throws is dropped. Copies share nothing: hand over std::ref(handler) to keep state outside.
//
// Several side by side are written as a list: .on_event = {metrics.handler("chat"), trace, log}.
class EventHandler {
 public:
  EventHandler() noexcept = default;

  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, EventHandler>)
  EventHandler(F&& handler) {  // NOLINT(google-explicit-constructor): options are written with lambdas
    using Target = std::decay_t<F>;
    static_assert(kinds_of<Target> != 0,
                  "planb: an event handler must take one of AttemptStart, FirstOutput, AttemptSuccess, AttemptFailure, "
                  "StepSkipped, RunFinish or Event, by const reference");
    static_assert(std::is_copy_constructible_v<Target>,
                  "planb: an event handler must be copyable; hand over std::ref(handler) for one that is not");
    if (detail::is_empty<Target>(handler)) return;  // none
    call_ = detail::Function<void(const Event&)>(Adapter<Target>{std::forward<F>(handler)});
    kinds_ = static_cast<unsigned char>(kinds_of<Target>);
  }

  // Each is called, in this order, with the events that it takes, also where one before it has thrown.
  template <class F, class G, class... More>
  EventHandler(F&& first, G&& second, More&&... more) {
    Several<2 + sizeof...(More)> several{{EventHandler(std::forward<F>(first)), EventHandler(std::forward<G>(second)),
                                          EventHandler(std::forward<More>(more))...}};
    for (const EventHandler& one : several.handlers) kinds_ = static_cast<unsigned char>(kinds_ | one.kinds_);
    if (kinds_ != 0) call_ = detail::Function<void(const Event&)>(std::move(several));
  }

  [[nodiscard]] explicit operator bool() const noexcept { return kinds_ != 0; }

  // Whether it takes events of this kind; others need not be made.
  template <class E>
  [[nodiscard]] bool wants() const noexcept {
    return (kinds_ & detail::event_kind<E>) != 0;
  }

  void operator()(const Event& event) const { call_(event); }

 private:
  template <class F, class E>
  static constexpr bool takes =  // the second is not even asked where the first will do: that might not compile
      std::disjunction_v<std::is_invocable<F&, const E&>, std::is_invocable<F&, const Event&>>;

  template <class F, class... E>
  static constexpr unsigned sum_of_kinds = ((takes<F, E> ? detail::event_kind<E> : 0U) | ...);
  template <class F>
  static constexpr unsigned kinds_of =
      sum_of_kinds<F, AttemptStart, FirstOutput, AttemptSuccess, AttemptFailure, StepSkipped, RunFinish>;

  template <class F>
  struct Adapter {
    mutable F handler;  // a handler may be a mutable lambda

    void operator()(const Event& event) const {
      event.visit([&](const auto& e) { call(e, event); });
    }

    template <class Said>
    static void drop() noexcept {
      static_assert(!detail::any_within<detail::awaited_test, Said>(),
                    "planb: an event handler returns something that is still to be awaited (a task, a future), which "
                    "nobody would do");
    }

    // Not inside the lambda: there, Clang would look at the call with an Event for a handler that takes none.
    template <class E>
    void call(const E& e, const Event& event) const {
      if constexpr (std::is_invocable_v<F&, const E&>) {
        drop<std::invoke_result_t<F&, const E&>>();
        static_cast<void>(handler(e));
      } else if constexpr (std::is_invocable_v<F&, const Event&>) {
        drop<std::invoke_result_t<F&, const Event&>>();
        static_cast<void>(handler(event));
      }
    }
  };

  template <std::size_t N>
  struct Several {
    std::array<EventHandler, N> handlers;

    void operator()(const Event& event) const {
      for (const EventHandler& one : handlers) {
        if (one) detail::call_user([&] { one(event); }, [] {});  // which drops what it does not take
      }
    }
  };

  detail::Function<void(const Event&)> call_;
  unsigned char kinds_ = 0;
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/report/impl/event.hpp>  // IWYU pragma: export
#endif
