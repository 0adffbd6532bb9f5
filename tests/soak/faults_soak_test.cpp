// Threads that run plans over shared gates in every driver, with faults at random: errors, timeouts, bugs, runs that
// are left half-way, memory that is not there. Every start has its end, no permit is lost, and memory returns. A
// program of its own: it replaces operator new.
//   PLANB_SOAK_SECONDS=n  how long
#include "catch.hpp"

#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define SOAK_COUNTS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SOAK_COUNTS_MEMORY 0
#endif
#endif
#ifndef SOAK_COUNTS_MEMORY
#define SOAK_COUNTS_MEMORY 1
#endif

namespace {

std::atomic<long> live{0};                  // pieces of memory
thread_local constinit int to_failure = 0;  // 0: none is due
std::atomic<long> refused{0};

[[maybe_unused]] void* allocate(std::size_t size) {
  if (to_failure != 0 && --to_failure == 0) {
    refused.fetch_add(1, std::memory_order_relaxed);
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

[[maybe_unused]] void release(void* memory) noexcept {
  if (memory != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

#if SOAK_COUNTS_MEMORY
void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
#endif

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using planb::ExecutionPlan;
using planb::ProviderError;
using planb::testing::VirtualClock;

struct Random {
  std::uint64_t state;
  unsigned operator()(unsigned below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<unsigned>((state >> 33U) % below);
  }
};

// The gates that all threads share, and a plan over them.
struct Shared {
  std::shared_ptr<planb::CircuitBreaker> breaker = planb::circuit_breaker({.failure_threshold = 6,
                                                                           .failure_ratio = 0.6,
                                                                           .open_for = 3ms,
                                                                           .half_open_probes = 2,
                                                                           .slow_call = 8ms,
                                                                           .slow_ratio = 0.9});
  std::shared_ptr<planb::ConcurrencyLimit> places = planb::concurrency_limit({.limit = 3});
  std::shared_ptr<planb::RetryBudget> budget = planb::retry_budget({.ratio = 0.5, .burst = 50});
  std::shared_ptr<planb::RateLimit> rate = planb::rate_limit({.permits = 50, .period = 10ms});
  ExecutionPlan<int> plan{{.name = "a",
                           .provide = 1,
                           .attempts = 3,
                           .schedule = planb::jittered(planb::spaced(1ms)),
                           .timeout = 10ms,
                           .gate = planb::all_of(places, breaker, budget, rate)},
                          {.name = "b", .provide = 2, .attempts = 2, .schedule = planb::spaced(1ms), .gate = places}};
};

// A thread's runs, one after another.
class Worker {
 public:
  Worker(Shared& shared, std::uint64_t seed) : shared_(&shared), draw_{seed} {}

  void operator()() {
    for (int i = 0; i != 100; ++i) {
      const int before = starts_;
      to_failure = draw_(6) == 0 ? 1 + static_cast<int>(draw_(40)) : 0;
      try {
        run(draw_(6));
      } catch (...) {
        ++thrown;  // bugs, memory, what failed: all of it comes out here
      }
      to_failure = 0;
      paired = paired && starts_ == ends_;
      runs += starts_ != before ? 1 : 0;
      clock_.advance(std::chrono::microseconds(draw_(2'000)));
    }
  }

  bool paired = true;
  int runs = 0;  // that made an attempt
  int thrown = 0;

 private:
  // Something happens to the call, or nothing.
  int call(int context) {
    switch (draw_(12)) {
      case 0: throw ProviderError(503, "busy");
      case 1: throw ProviderError(429, "slowly", "", std::chrono::microseconds(draw_(3'000)));
      case 2: throw planb::Defect("a bug");
      case 3: throw draw_(10);
      case 4: clock_.advance(11ms); throw ProviderError("too late");
      case 5: clock_.advance(9ms); break;
      default: break;
    }
    return context;
  }
  std::vector<int> elements(int context) {
    std::vector<int> list(draw_(4), context);
    if (list.empty()) static_cast<void>(call(context));
    return list;
  }

  void run(unsigned driver) {
    const auto on_event = planb::overloaded{[this](const planb::AttemptStart&) { ++starts_; },
                                            [this](const planb::AttemptSuccess&) { ++ends_; },
                                            [this](const planb::AttemptFailure&) { ++ends_; }};
    planb::RunOptions options{.on_event = on_event, .clock = &clock_, .seed = draw_(1'000)};
    if (draw_(4) == 0) options.budget = std::chrono::milliseconds(1 + draw_(20));
    const planb::StreamOptions stream_options{.on_event = on_event, .clock = &clock_};
    const ExecutionPlan<int>& plan = shared_->plan;
    switch (driver) {
      case 0:
        planb::run_with_plan(
            plan, [this](int context) { return call(context); }, options);
        break;
      case 1:
        static_cast<void>(planb::try_run_with_plan(
            plan, [this](int context) { return call(context); }, options));
        break;
      case 2: return by_hand(options);
      case 3: {
        auto stream = planb::stream_with_plan(
            plan, [this](int context) { return elements(context); }, stream_options);
        unsigned left = draw_(3);
        for (const int element : stream) {
          static_cast<void>(element);
          if (left-- == 0) break;  // and is left half-way
        }
        break;
      }
      case 4:
        planb::push_with_plan(
            plan,
            [this](int context, auto& emit) {
              for (const int element : elements(context)) emit(element);
            },
            [this](int) {
              if (draw_(10) == 0) throw ProviderError("a sink's");
            },
            stream_options);
        break;
      default: return coroutine(options);
    }
  }

  // Driven to its end, or destroyed in an attempt or in a wait.
  void by_hand(const planb::RunOptions& options) {
    planb::PlanRun<int> run(shared_->plan, options);
    for (unsigned steps = draw_(8);; --steps) {
      const planb::RunPhase phase = run.next();
      if (phase == planb::RunPhase::over || steps == 0) return;
      if (phase == planb::RunPhase::wait) {
        clock_.advance(run.due() - clock_.now());
      } else if (draw_(2) == 0) {
        run.fail(planb::Cause::of(ProviderError(503)));
      } else {
        run.succeed();
      }
    }
  }

  struct Suspended {
    std::coroutine_handle<>* waiting;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const noexcept { *waiting = handle; }
    static void await_resume() noexcept {}
  };
  planb::Task<int> suspended_call(std::coroutine_handle<>* waiting, int context) {
    co_await Suspended{waiting};
    co_return call(context);
  }
  planb::Task<> pass(planb::Duration time) {
    clock_.advance(time);
    co_return;
  }
  // Resumed to its end, or destroyed where it waits.
  void coroutine(const planb::RunOptions& options) {
    std::coroutine_handle<> waiting;
    planb::Task<int> task = planb::co_run_with_plan<planb::Task<int>>(
        shared_->plan, [this, &waiting](int context) { return suspended_call(&waiting, context); },
        [this](planb::Duration time) { return pass(time); }, options);
    task.start();
    for (unsigned steps = draw_(8); waiting && steps != 0; --steps) std::exchange(waiting, {}).resume();
  }

  Shared* shared_;
  Random draw_;
  VirtualClock clock_;
  int starts_ = 0;
  int ends_ = 0;
};

}  // namespace

TEST_CASE("faults at random in every driver: every start has its end, no permit is lost, memory returns", "[soak]") {
  constexpr unsigned threads = 4;
  const char* const text = std::getenv("PLANB_SOAK_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(text != nullptr ? std::atoi(text) : 1);
  long runs = 0;
  long thrown = 0;
  unsigned round = 0;
  unsigned opened = 0;
  bool paired = true;
  bool balanced = true;
  long most = 0;
  long after_first = 0;
  for (; round < 20 || (opened == 0 && round < 1'000) || std::chrono::steady_clock::now() < end; ++round) {
    {
      Shared shared;
      std::vector<std::unique_ptr<Worker>> workers;
      std::vector<std::thread> pool;
      for (unsigned i = 0; i != threads; ++i) {
        workers.push_back(std::make_unique<Worker>(shared, std::uint64_t{round} * threads + i + 1));
        pool.emplace_back([&worker = *workers.back()] { worker(); });
      }
      for (std::thread& thread : pool) thread.join();
      for (const auto& worker : workers) {
        paired = paired && worker->paired;
        runs += worker->runs;
        thrown += worker->thrown;
      }
      const auto left = shared.budget->snapshot().available;
      balanced = balanced && shared.places->running() == 0 && shared.breaker->snapshot().probes_running == 0 &&
                 left >= 0 && left <= 50;
      opened += shared.breaker->snapshot().changed_at ? 1 : 0;
    }
    if (round == 0) after_first = live;  // what a library makes once, and keeps
    most = (std::max)(most, live - after_first);
    INFO("round " << round);
    REQUIRE(paired);
    REQUIRE(balanced);
  }
  WARN(round << " rounds, " << runs << " runs with an attempt, " << thrown << " that threw, " << refused.load()
             << " allocations refused");
  CHECK(most <= 8);
  CHECK(runs > 1'000);
  CHECK(thrown > 100);
  CHECK((refused > 50 || SOAK_COUNTS_MEMORY == 0));
  CHECK(opened > 0);
}
