// SPDX-License-Identifier: MIT
// What a run throws when it fails: one type for each end, all with the report.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/report/report.hpp>

#include <memory>
#include <string>
#include <utility>

namespace planb::inline PLANB_ABI {

// Base of the four below. What a run throws also derives from std::nested_exception, holding the last error, where an
// attempt failed or a callback of the plan threw. Copying does not throw.
class PLANB_VISIBLE PlanError : public detail::CauseCarrier {
 public:
  explicit PlanError(RunReport report);
  PlanError(const PlanError&) noexcept = default;  // and no move: a moved-from error could say nothing
  PlanError& operator=(const PlanError&) noexcept = default;
  ~PlanError() override = default;

  [[nodiscard]] RunEnd end() const noexcept { return state_->report.end; }
  // Of a temporary error: a copy.
  [[nodiscard]] const RunReport& report() const& noexcept { return state_->report; }
  [[nodiscard]] RunReport report() const&& { return state_->report; }

  // report().to_string()
  [[nodiscard]] const char* what() const noexcept override;

 private:
  struct State {
    explicit State(RunReport&& r) : report(std::move(r)), text(report.to_string()) {}

    RunReport report;
    std::string text;
  };

  // What a plan around this one reads through it.
  [[nodiscard]] const Cause* carried() const noexcept final;

  std::shared_ptr<const State> state_;
};

// No step is left.
class PLANB_VISIBLE PlanExhausted : public PlanError {
 public:
  explicit PlanExhausted(const PlanError& error) noexcept : PlanError(error) {}
};

// A classifier said abort, or a callback of the plan threw.
class PLANB_VISIBLE PlanAborted : public PlanError {
 public:
  explicit PlanAborted(const PlanError& error) noexcept : PlanError(error) {}
};

// The budget is gone, or no step was left for lack of time.
class PLANB_VISIBLE DeadlineExceeded : public PlanError {
 public:
  explicit DeadlineExceeded(const PlanError& error) noexcept : PlanError(error) {}
};

// The caller asked to stop.
class PLANB_VISIBLE PlanInterrupted : public PlanError {
 public:
  explicit PlanInterrupted(const PlanError& error) noexcept : PlanError(error) {}
};

namespace detail {

#if PLANB_HAS_EXCEPTIONS
// Throws what a callback of the plan threw, as itself. The attempt's own error is not lost where it can be nested in
// that: in the standard library's common exceptions.
[[noreturn]] PLANB_COLD_DECL void throw_rule_error(const Cause& rule, [[maybe_unused]] const Cause* own);
#endif

// Throws the error as the type that its end says, with the last error nested. Ends the program without exceptions.
[[noreturn]] PLANB_COLD_DECL void throw_plan_error(const PlanError& error);

}  // namespace detail

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/report/impl/plan_error.hpp>  // IWYU pragma: export
#endif
