// SPDX-License-Identifier: MIT
// ExecutionPlan: a fallback chain as a value.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/checked.hpp>
#include <planb/error/predicate.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/detail/plan_rules.hpp>
#include <planb/plan/detail/step_policy.hpp>
#include <planb/plan/provide.hpp>
#include <planb/plan/step.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if PLANB_CHECKED
#include <atomic>
#include <cstdio>
#include <cstdlib>
#endif

namespace planb::inline PLANB_ABI {

// Why a plan was refused.
struct InvalidPlan {
  std::string text;

  // Names the step, by its index where it has no name, and says what to do.
  [[nodiscard]] const std::string& message() const noexcept { return text; }
};

namespace detail {
template <class Ctx, class Env>
struct PlanStorage;
struct PlanAccess;
}  // namespace detail

// An immutable list of steps, tried in order by run_with_plan and its siblings. A copy shares the steps and costs one
// reference count. Safe to run from many threads at once, as far as the steps' own callables are.
// `Env` is what factories need that is not known yet: see capture_requirements().
template <class Ctx, class Env = void>
class ExecutionPlan {
 public:
  using context_type = Ctx;
  using env_type = Env;
  using step_type = Step<Ctx, Env>;

  // Refused with std::invalid_argument (without exceptions, the program ends with the same message): no steps;
  // `attempts` of zero or less; an endless schedule without `attempts`; a timeout of zero or less; negative times.
  ExecutionPlan(std::initializer_list<step_type> steps) : ExecutionPlan(std::vector<step_type>(steps)) {}
  explicit ExecutionPlan(std::vector<step_type> steps) {
    if (const std::string text = refusal(steps); !text.empty()) detail::refuse(text);
    store(std::move(steps));
  }

  // The same, with the refusal as a value.
  [[nodiscard]] static Checked<ExecutionPlan, InvalidPlan> make(std::vector<step_type> steps) {
    if (std::string text = refusal(steps); !text.empty()) return InvalidPlan{std::move(text)};
    return ExecutionPlan(std::move(steps), Unchecked{});
  }

  ExecutionPlan(const ExecutionPlan&) noexcept = default;  // and no move: a moved-from plan could not be run
  ExecutionPlan& operator=(const ExecutionPlan&) noexcept = default;
  ~ExecutionPlan() = default;

  // Of a temporary plan: a copy.
  [[nodiscard]] const std::vector<step_type>& steps() const& noexcept;
  [[nodiscard]] std::vector<step_type> steps() const&& { return steps(); }
  [[nodiscard]] std::size_t size() const noexcept { return steps().size(); }

  // The same plan with `classifier` in every step that has none.
  [[nodiscard]] ExecutionPlan with_classifier(const Classifier& classifier) const {
    std::vector<step_type> copies = steps();
    for (step_type& step : copies) {
      if (!step.classify) step.classify = classifier;
    }
    return ExecutionPlan(std::move(copies), Unchecked{});
  }

  // The same plan with its factories' Env bound, ready to run. An lvalue is referred to and must outlive the plan and
  // its copies; an rvalue is moved into the plan. Factories of runs on several threads share it.
  template <class E>
  [[nodiscard]] ExecutionPlan<Ctx> capture_requirements(E&& env) const;

 private:
  friend struct detail::PlanAccess;
  template <class, class>
  friend class ExecutionPlan;

  struct Unchecked {};
  ExecutionPlan(std::vector<step_type> steps, Unchecked) { store(std::move(steps)); }

  [[nodiscard]] static std::string refusal(const std::vector<step_type>& steps);
  void store(std::vector<step_type> steps);

  std::shared_ptr<const detail::PlanStorage<Ctx, Env>> storage_;
};

namespace detail {

#if PLANB_CHECKED
// Whether the program ends from within a run: exit() does not come back to that, and ends first what its thread has,
// then what is static, such as the run's plan.
class ExitWatch {
 public:
  static void begin_run() noexcept {
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wexit-time-destructors"  // it is for the thread's end
#endif
    thread_local const AtThreadsEnd watch;  // there from now on; as a member, GCC for Windows would define it twice
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
    ++runs_;
  }
  static void end_run() noexcept { --runs_; }
  [[nodiscard]] static bool exiting() noexcept { return exiting_.load(); }

 private:
  struct AtThreadsEnd {
    AtThreadsEnd() noexcept {}  // NOLINT(modernize-use-equals-default): not before it is reached
    AtThreadsEnd(const AtThreadsEnd&) = delete;
    AtThreadsEnd& operator=(const AtThreadsEnd&) = delete;
    ~AtThreadsEnd() {
      if (runs_ != 0) exiting_.store(true);
    }
  };

  static inline thread_local int runs_ = 0;  // of this thread
  static inline std::atomic<bool> exiting_ = false;
};

// How many runs borrow a plan's steps. There must be none when these end.
class BorrowCount {
 public:
  BorrowCount() noexcept = default;
  BorrowCount(const BorrowCount&) = delete;
  BorrowCount& operator=(const BorrowCount&) = delete;
  ~BorrowCount() {
    if (runs_.load() == 0 || ExitWatch::exiting()) return;
    std::fputs(
        "planb: a plan was assigned or destroyed while it was being run; keep a copy of it until the run is over\n",
        stderr);
    std::abort();
  }

  void begin() noexcept {
    ExitWatch::begin_run();
    runs_.fetch_add(1);
  }
  void end() noexcept {
    runs_.fetch_sub(1);
    ExitWatch::end_run();
  }

 private:
  std::atomic<int> runs_{0};
};
#endif

// A class whose `error_type` is what its calls throw. That of a result is what it holds.
template <class Ctx>
constexpr bool names_error_type = !ResultType<Ctx> && requires {
  typename std::remove_reference_t<Ctx>::error_type;
  requires std::is_object_v<typename std::remove_reference_t<Ctx>::error_type>;
  requires !std::is_pointer_v<typename std::remove_reference_t<Ctx>::error_type>;
  requires !std::is_array_v<typename std::remove_reference_t<Ctx>::error_type>;
};

template <class Ctx, class Env>
struct PlanStorage {
  std::vector<Step<Ctx, Env>> steps;
  PlanRules rules;  // views into them
#if PLANB_CHECKED
  mutable BorrowCount borrowed;
#endif

  explicit PlanStorage(std::vector<Step<Ctx, Env>> list) : steps(std::move(list)), rules(steps.size()) {
    if constexpr (names_error_type<Ctx>) {
      using Error = std::remove_cv_t<typename std::remove_reference_t<Ctx>::error_type>;
      rules.add_named({error_ops_of<Error>, 1});
    }
    for (const Step<Ctx, Env>& step : steps) rules.add_step(detail::view_of(step));
  }

  PlanStorage(const PlanStorage&) = delete;
  PlanStorage& operator=(const PlanStorage&) = delete;

  // Builds the context of an attempt of this step; see Provide. For a plan whose factories need no Env, or have it.
  [[nodiscard]] bool provide(int step, ContextRoom<Ctx>& room, const Attempt& attempt,
                             FailureRoom& failure) const requires std::is_void_v<Env> {
    return steps[static_cast<std::size_t>(step)].provide(room, nullptr, attempt, failure);
  }
};

// For a driver that borrows its caller's plan: noticed in a checked build where that ends before the run does.
class BorrowedPlan {
 public:
#if PLANB_CHECKED
  template <class Ctx, class Env>
  explicit BorrowedPlan(const PlanStorage<Ctx, Env>& plan) noexcept : count_(plan.borrowed) {
    count_.begin();
  }
  BorrowedPlan(const BorrowedPlan&) = delete;
  BorrowedPlan& operator=(const BorrowedPlan&) = delete;
  ~BorrowedPlan() { count_.end(); }

 private:
  BorrowCount& count_;
#else
  template <class Ctx, class Env>
  explicit BorrowedPlan(const PlanStorage<Ctx, Env>&) noexcept {}
#endif
};

// The drivers' way into a plan.
struct PlanAccess {
  template <class Ctx, class Env>
  [[nodiscard]] static const PlanStorage<Ctx, Env>& storage(const ExecutionPlan<Ctx, Env>& plan) noexcept {
    return *plan.storage_;
  }
  // For a driver that outlives its caller's plan.
  template <class Ctx, class Env>
  [[nodiscard]] static std::shared_ptr<const PlanStorage<Ctx, Env>> share(
      const ExecutionPlan<Ctx, Env>& plan) noexcept {
    return plan.storage_;
  }
};

template <class Ctx, class Env>
struct BoundProvide {
  Provide<Ctx, Env> provide;
  Env* env;
  std::shared_ptr<Env> owner;  // null where the caller keeps it

  bool operator()(ContextRoom<Ctx>& room, void*, const Attempt& attempt, FailureRoom& failure) const {
    return provide(room, env, attempt, failure);
  }
};

}  // namespace detail

template <class Ctx, class Env>
const std::vector<Step<Ctx, Env>>& ExecutionPlan<Ctx, Env>::steps() const& noexcept {
  return storage_->steps;
}

template <class Ctx, class Env>
std::string ExecutionPlan<Ctx, Env>::refusal(const std::vector<step_type>& steps) {
  if (steps.empty()) return "an ExecutionPlan needs at least one step";
  for (std::size_t i = 0; i != steps.size(); ++i) {
    if (std::string text = detail::step_refusal(detail::view_of(steps[i]), i); !text.empty()) {
      return text;
    }
  }
  return {};
}

template <class Ctx, class Env>
void ExecutionPlan<Ctx, Env>::store(std::vector<step_type> steps) {
  storage_ = std::make_shared<const detail::PlanStorage<Ctx, Env>>(std::move(steps));
}

template <class Ctx, class Env>
template <class E>
ExecutionPlan<Ctx> ExecutionPlan<Ctx, Env>::capture_requirements(E&& env) const {
  static_assert(!std::is_void_v<Env>, "planb: this plan has no Env to be captured; run it as it is");
  static_assert(std::is_convertible_v<std::remove_reference_t<E>*, Env*>,
                "planb: capture_requirements() takes the plan's Env, or what derives from it, and not as const");
  std::shared_ptr<Env> owner;
  Env* bound = nullptr;
  if constexpr (std::is_lvalue_reference_v<E>) {
    bound = std::addressof(env);
  } else {
    owner = std::make_shared<std::remove_cvref_t<E>>(std::forward<E>(env));
    bound = owner.get();
  }
  std::vector<Step<Ctx>> copies;
  copies.reserve(size());
  for (const step_type& step : this->steps()) {
    // Names every member, so that one which is added later cannot be forgotten.
    const auto& [name, provide, attempts, schedule, retry_while, classify, enter_when, max_wait, timeout, first_timeout,
                 reserve, gate] = step;
    copies.push_back({.name = name,
                      .provide = detail::BoundProvide<Ctx, Env>{provide, bound, owner},
                      .attempts = attempts,
                      .schedule = schedule,
                      .retry_while = retry_while,
                      .classify = classify,
                      .enter_when = enter_when,
                      .max_wait = max_wait,
                      .timeout = timeout,
                      .first_timeout = first_timeout,
                      .reserve = reserve,
                      .gate = gate});
  }
  return ExecutionPlan<Ctx>(std::move(copies), typename ExecutionPlan<Ctx>::Unchecked{});
}

// The steps of all plans, in order.
template <class Ctx, class Env, class... More>
[[nodiscard]] ExecutionPlan<Ctx, Env> merge(const ExecutionPlan<Ctx, Env>& first, const More&... more) {
  static_assert((std::is_base_of_v<ExecutionPlan<Ctx, Env>, More> && ...),
                "planb: merge() joins plans of the same Ctx and Env");
  std::vector<Step<Ctx, Env>> steps = first.steps();
  (static_cast<void>(steps.insert(steps.end(), more.steps().begin(), more.steps().end())), ...);
  return ExecutionPlan<Ctx, Env>(std::move(steps));
}

}  // namespace planb::inline PLANB_ABI
