// SPDX-License-Identifier: MIT
// Schedule and ScheduleRun: the type, and a run through one. The schedules themselves are in schedule.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/detail/random.hpp>
#include <planb/time/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace planb::inline PLANB_ABI {

// What a schedule may look at when it is asked for the next delay.
struct ScheduleInput {
  int attempt;              // how often it has been asked in this run, this time included
  Duration elapsed;         // since it was first asked
  Duration previous_delay;  // what it answered last time; zero at first
  TimePoint now;
  const Cause& cause;  // the failure just seen
};

namespace detail {
struct ScheduleAccess;
}

// An immutable description; every run steps through a state of its own (ScheduleRun), so one Schedule serves many runs
// and threads. A copy costs a reference count. A default-constructed one is no schedule at all.
class Schedule {
 public:
  Schedule() noexcept = default;

  // Your own. `fn(const ScheduleInput&)` gives the delay, or none (std::optional) where the schedule ends; a negative
  // delay counts as zero. It is shared between runs, so it is called as const; what a run needs to know is in its
  // input. The name is what to_string gives.
  template <class F>
  [[nodiscard]] static Schedule from(std::string name, F fn);

  [[nodiscard]] explicit operator bool() const noexcept { return node_ != nullptr; }

  // Whether it comes to an end by itself, or may do so (Schedule::from). One that does not needs `attempts`.
  [[nodiscard]] bool ends() const noexcept { return node_ == nullptr || node_->ends(); }

 private:
  friend struct detail::ScheduleAccess;

  explicit Schedule(detail::NodePtr node) noexcept : node_(std::move(node)) {}

  detail::NodePtr node_;
};

namespace detail {

struct ScheduleAccess {
  [[nodiscard]] static const NodePtr& node(const Schedule& schedule) noexcept { return schedule.node_; }

  // Takes a new node. As its base, so that shared_ptr is instantiated once and not for each kind of node.
  [[nodiscard]] static Schedule take(const ScheduleNode* node) { return Schedule(NodePtr(node)); }
};

// Whether there is a jitter anywhere in the schedule, which must not be empty: then a provider's wait hint is spread too.
[[nodiscard]] bool has_jitter(const Schedule& schedule);

}  // namespace detail

// Steps through a schedule that outlives it. Cheap to make: the state starts at the first next(), within the object for
// all but large compositions (one allocation), and the random generator at the first draw.
class ScheduleRun {
 public:
  // Has ended.
  ScheduleRun() noexcept = default;

  // With a seed, the jitter of two runs is the same; without, no two runs draw the same.
  explicit ScheduleRun(const Schedule& schedule, std::optional<std::uint64_t> seed = {}) noexcept
      : node_(detail::ScheduleAccess::node(schedule).get()), random_(seed) {}
  explicit ScheduleRun(Schedule&&, std::optional<std::uint64_t> = {}) = delete;  // it would be gone

  ScheduleRun(ScheduleRun&& other) noexcept { take(other); }
  ScheduleRun& operator=(ScheduleRun&& other) noexcept;
  ~ScheduleRun() = default;

  // False where it has no schedule, or has seen it end.
  [[nodiscard]] explicit operator bool() const noexcept { return node_ != nullptr; }

  // The delay before the next attempt, after a failure with this cause; none where the schedule has ended, and from
  // then on. Throws what a function of the schedule throws, and std::bad_alloc.
  [[nodiscard]] std::optional<Duration> next(TimePoint now, const Cause& cause);

  // A wait hint made longer by up to a tenth, by the same generator.
  [[nodiscard]] Duration spread(Duration hint) noexcept;

 private:
  static constexpr std::size_t room = 64 / sizeof(detail::StateSlot);

  void start();

  [[nodiscard]] detail::StateSlot* state() noexcept { return large_ != nullptr ? large_.get() : small_; }

  void take(ScheduleRun& other) noexcept;

  const detail::ScheduleNode* node_ = nullptr;
  detail::Random random_;
  bool started_ = false;
  std::unique_ptr<detail::StateSlot[]> large_;
  detail::StateSlot small_[room];  // uninitialised until it is needed
};

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/schedule/impl/schedule.hpp>  // IWYU pragma: export
#endif
