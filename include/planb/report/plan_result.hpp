// SPDX-License-Identifier: MIT
// PlanResult: what try_run_with_plan gives. A value or a PlanError, and always the report.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/report/report.hpp>

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// T may be void, a reference, or a type that cannot be moved. Copied, moved and assigned where its value can be.
template <class T>
class [[nodiscard]] PlanResult {
  using Stored =
      std::conditional_t<std::is_void_v<T>, char,
                         std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::remove_cv_t<T>>>;
  static constexpr bool is_void = std::is_void_v<T>;
  static constexpr bool is_reference = std::is_reference_v<T>;
  static constexpr bool moves_safely = std::is_nothrow_move_constructible_v<Stored>;
  using Reference = std::add_lvalue_reference_t<T>;
  using ConstReference = std::conditional_t<is_reference, Reference, std::add_lvalue_reference_t<const T>>;
  static constexpr bool can_be_taken = is_void || is_reference || std::is_move_constructible_v<T>;
  using Taken = std::conditional_t<can_be_taken, T, std::add_rvalue_reference_t<T>>;

 public:
  using value_type = T;
  using error_type = PlanError;

  // A failed run.
  PlanResult(const PlanError& error) noexcept : has_value_(false) {  // NOLINT(google-explicit-constructor)
    ::new (static_cast<void*>(std::addressof(error_))) PlanError(error);
  }

  // A run that succeeded: `make()` gives the value, in place; `report()` is asked after that.
  template <class Make, class Report>
  PlanResult(std::in_place_t, Make&& make, Report&& report) : has_value_(true) {
    // Not by a member initialiser: where the report throws, that ends the value's life by itself.
    ::new (static_cast<void*>(std::addressof(value_))) Stored(stored(make));
    struct Undo {
      PlanResult* result;
      ~Undo() {
        if (result != nullptr) std::destroy_at(std::addressof(result->value_));
      }
    } undo{this};
    ::new (static_cast<void*>(std::addressof(report_))) RunReport(report());
    undo.result = nullptr;
  }

  PlanResult(const PlanResult& other)
    requires(std::is_copy_constructible_v<Stored>)
      : has_value_(other.has_value_) {
    build_from(other);
  }
  PlanResult(PlanResult&& other) noexcept(moves_safely)
    requires(std::is_move_constructible_v<Stored>)
      : has_value_(other.has_value_) {
    build_from(std::move(other));
  }

  // What copying or moving the value throws leaves; the result is then as it was, or, where both have a value and that
  // is assigned, has what T's own assignment left.
  PlanResult& operator=(const PlanResult& other)
    requires(std::is_copy_constructible_v<Stored> && (moves_safely || std::is_copy_assignable_v<Stored>))
  {
    if (this != std::addressof(other)) assign(other);
    return *this;
  }
  PlanResult& operator=(PlanResult&& other) noexcept(moves_safely)
    requires(std::is_move_constructible_v<Stored> && (moves_safely || std::is_move_assignable_v<Stored>))
  {
    if (this != std::addressof(other)) assign(std::move(other));
    return *this;
  }

  ~PlanResult() { destroy(); }

  [[nodiscard]] bool has_value() const noexcept { return has_value_; }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value_; }

  // The value. Where there is none, throws the PlanError as the type that its end says (PlanExhausted, PlanAborted,
  // DeadlineExceeded, PlanInterrupted), with the last error nested.
  Reference value() & {
    check();
    return **this;
  }
  ConstReference value() const& {
    check();
    return **this;
  }
  T value() &&
    requires(can_be_taken)
  {
    check();
    return *std::move(*this);
  }

  // The value; undefined where there is none. Of a temporary result: moved out of it, where it can be.
  Reference operator*() & noexcept { return get(value_); }
  ConstReference operator*() const& noexcept { return get(value_); }
  Taken operator*() && noexcept(is_void || is_reference || !can_be_taken || moves_safely) {
    if constexpr (!is_void) return static_cast<std::add_rvalue_reference_t<T>>(get(value_));
  }
  std::remove_reference_t<T>* operator->() noexcept
    requires(!is_void)
  {
    return std::addressof(get(value_));
  }
  std::remove_reference_t<ConstReference>* operator->() const noexcept
    requires(!is_void)
  {
    return std::addressof(get(value_));
  }

  // As the base class: to throw the type that says how the run ended, call value(). Undefined where there is a value.
  // Of a temporary result: a copy.
  [[nodiscard]] const PlanError& error() const& noexcept { return error_; }
  [[nodiscard]] PlanError error() const&& noexcept { return error_; }

  // Of a temporary result: a copy.
  [[nodiscard]] const RunReport& report() const& noexcept { return has_value_ ? report_ : error_.report(); }
  [[nodiscard]] RunReport report() && { return has_value_ ? std::move(report_) : RunReport(error_.report()); }
  [[nodiscard]] RunReport report() const&& { return report(); }

 private:
  template <class Make>
  static Stored stored(Make& make) {
    if constexpr (is_void) {
      make();
      return {};
    } else if constexpr (is_reference) {
      T value = make();
      return std::addressof(value);
    } else {
      return make();
    }
  }

  template <class S>
  static auto get(S& value) noexcept -> std::conditional_t<std::is_const_v<S>, ConstReference, Reference> {
    if constexpr (is_reference) {
      return *value;
    } else if constexpr (!is_void) {
      return value;
    }
  }

  // Builds what `other` has, where nothing is yet; has_value_ says already what that is.
  template <class Other>
  void build_from(Other&& other) {
    if (has_value_) {
      ::new (static_cast<void*>(std::addressof(report_))) RunReport(std::forward<Other>(other).report_);
      struct Undo {
        RunReport* report;
        ~Undo() {
          if (report != nullptr) std::destroy_at(report);
        }
      } undo{std::addressof(report_)};
      ::new (static_cast<void*>(std::addressof(value_))) Stored(std::forward<Other>(other).value_);
      undo.report = nullptr;
    } else {
      ::new (static_cast<void*>(std::addressof(error_))) PlanError(other.error_);
    }
  }

  template <class Other>
  void assign(Other&& other) {
    if constexpr (moves_safely) {
      PlanResult made(std::forward<Other>(other));  // what throws does so here
      destroy();
      has_value_ = made.has_value_;
      build_from(std::move(made));
    } else if (has_value_ && other.has_value_) {
      value_ = std::forward<Other>(other).value_;
      report_ = std::forward<Other>(other).report_;
    } else if (has_value_) {
      destroy();
      has_value_ = false;
      build_from(other);
    } else if (other.has_value_) {
      struct Undo {  // copying an error does not throw
        PlanResult& result;
        PlanError error;
        bool done = false;
        ~Undo() {
          if (done) return;
          result.has_value_ = false;
          ::new (static_cast<void*>(std::addressof(result.error_))) PlanError(error);
        }
      } undo{*this, error_};
      destroy();
      has_value_ = true;
      build_from(std::forward<Other>(other));
      undo.done = true;
    } else {
      error_ = other.error_;
    }
  }

  void destroy() noexcept {
    if (has_value_) {
      std::destroy_at(std::addressof(value_));
      std::destroy_at(std::addressof(report_));
    } else {
      std::destroy_at(std::addressof(error_));
    }
  }

  void check() const {
    if (!has_value_) detail::throw_plan_error(error_);
  }

  union {
    Stored value_;
  };
  union {
    RunReport report_;
    PlanError error_;
  };
  bool has_value_;
};

}  // namespace planb::inline PLANB_ABI
