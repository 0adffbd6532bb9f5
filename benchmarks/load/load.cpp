// Many runs in flight on one thread: what each of them costs in time and memory, and whether that grows with their
// number. Each run fails once, waits for a second, and then succeeds; its calls take a while too. The loop's time is
// made up, so nothing is waited for: what is measured is the work. Ends with 1 where the memory for a run grows.
#include <planb/coro.hpp>
#include <planb/planb.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <queue>
#include <utility>
#include <vector>

#include <malloc.h>

namespace {

constinit std::size_t live_bytes = 0;

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);  // on one thread: no timer is due while it is measured
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::TimePoint;

// Deadlines are set with SteadyClock's timers, as in a real program; an hour away, so that none is called.
class LoopClock final : public planb::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void sleep_until(TimePoint due, planb::StopToken) override { now_ = (std::max)(now_, due); }

 private:
  TimePoint now_{};
};

// What is to go on, and when.
struct Loop {
  struct Entry {
    TimePoint due;
    std::uint64_t order;
    void* what;
    bool operator>(const Entry& other) const { return std::pair(due, order) > std::pair(other.due, other.order); }
  };

  explicit Loop(std::size_t most) {
    std::vector<Entry> room;
    room.reserve(most + 1);
    timers = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>(std::greater<>(), std::move(room));
  }

  void at(TimePoint due, void* what) { timers.push({due, order++, what}); }
  void after(Duration time, void* what) { at(clock.now() + time, what); }

  // Everything that is due until then.
  template <class GoOn>
  void run_until(TimePoint end, const GoOn& go_on) {
    while (!timers.empty() && timers.top().due <= end) {
      const Entry entry = timers.top();
      timers.pop();
      clock.sleep_until(entry.due, {});
      go_on(entry.what);
    }
    clock.sleep_until(end, {});
  }

  LoopClock clock;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> timers;
  std::uint64_t order = 0;
};

constexpr Duration call_takes = 2s;  // so that all are in their first call at once, and then in their second

// Without and with a deadline for each attempt.
const planb::ExecutionPlan<int> free_plan{{.provide = 1, .attempts = 2, .schedule = planb::spaced(1s)}};
const planb::ExecutionPlan<int> bound_plan{{.provide = 1, .attempts = 2, .schedule = planb::spaced(1s), .timeout = 1h}};

// --- PlanRun

struct OneRun {
  OneRun(Loop& l, const planb::ExecutionPlan<int>& plan) : loop(&l), run(plan, {.clock = &l.clock}) {}

  void begin() { go_on(); }
  void go_on() {
    if (calling) {
      calling = false;
      token = {};
      if (run.attempt().attempt == 1) {
        run.fail(planb::Cause::of(planb::ProviderError(503)));
      } else {
        run.succeed();
      }
    }
    switch (run.next()) {
      case planb::RunPhase::attempt:
        calling = true;
        token = run.attempt().stop_token();  // asked for by the client: here the deadline's timer is set
        return loop->after(call_takes, this);
      case planb::RunPhase::wait: return loop->at(run.due(), this);
      case planb::RunPhase::over: delete this;
    }
  }

  Loop* loop;
  planb::PlanRun<int> run;
  planb::StopToken token;
  bool calling = false;
};

struct PlanRuns {
  static void begin(Loop& loop, const planb::ExecutionPlan<int>& plan) { (new OneRun(loop, plan))->begin(); }
  static void go_on(void* what) { static_cast<OneRun*>(what)->go_on(); }
};

// --- Coroutines

struct Awaited {
  Loop* loop;
  Duration time;

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) const { loop->after(time, waiting.address()); }
  static void await_resume() noexcept {}
};

// Destroys itself when it has ended.
struct Started {
  struct promise_type {
    static Started get_return_object() noexcept { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    static void unhandled_exception() { std::abort(); }
  };
};

planb::Task<int> call(Loop& loop, const planb::Attempt& attempt) {
  const planb::StopToken token = attempt.stop_token();
  co_await Awaited{&loop, call_takes};
  if (attempt.attempt == 1) throw planb::ProviderError(503);
  co_return 1;
}

Started start(Loop& loop, const planb::ExecutionPlan<int>& plan) {
  // By steps: GCC 12 copies temporaries in a co_await's expression byte by byte.
  const planb::RunOptions options{.clock = &loop.clock};
  planb::Task<int> run = planb::co_run_with_plan<planb::Task<int>>(
      plan, [&loop](int, const planb::Attempt& attempt) { return call(loop, attempt); },
      [&loop](Duration time) -> planb::Task<> {
        co_await Awaited{&loop, time};
      },
      options);
  co_await std::move(run);
}

struct Coroutines {
  static void begin(Loop& loop, const planb::ExecutionPlan<int>& plan) { start(loop, plan); }
  static void go_on(void* what) { std::coroutine_handle<>::from_address(what).resume(); }
};

// --- The table

struct Cost {
  double nanoseconds;  // for each run, of processor time
  double bytes;        // for each run, while all are in flight
};

// So many runs at once, a deadline for every second one or for none.
template <class Kind>
Cost measure_once(std::size_t runs, bool deadlines) {
  Loop loop(2 * runs);
  const std::size_t before = live_bytes;
  const std::clock_t from = std::clock();
  for (std::size_t i = 0; i != runs; ++i) {
    loop.run_until(TimePoint{i * 1s / runs}, Kind::go_on);
    Kind::begin(loop, deadlines && i % 2 == 1 ? bound_plan : free_plan);
  }
  // All are in their first call, with their deadlines.
  const double bytes = static_cast<double>(live_bytes - before) / static_cast<double>(runs);
  loop.run_until(TimePoint{1h}, Kind::go_on);
  const double time = static_cast<double>(std::clock() - from) * (1e9 / CLOCKS_PER_SEC);
  if (!loop.timers.empty()) std::abort();
  return {time / static_cast<double>(runs), bytes};
}

template <class Kind>
Cost measure(std::size_t runs, bool deadlines) {
  constexpr std::size_t all = 100'000;
  std::vector<Cost> costs;
  for (int round = 0; round != 3; ++round) {
    Cost sum{};
    for (std::size_t done = 0; done != all; done += runs) {
      const Cost cost = measure_once<Kind>(runs, deadlines);
      sum.nanoseconds += cost.nanoseconds * static_cast<double>(runs) / static_cast<double>(all);
      sum.bytes = cost.bytes;
    }
    costs.push_back(sum);
  }
  return *std::min_element(costs.begin(), costs.end(),
                           [](const Cost& a, const Cost& b) { return a.nanoseconds < b.nanoseconds; });
}

// False: the memory grows.
template <class Kind>
bool print(const char* title, bool deadlines) {
  bool flat = true;
  Cost first{};
  for (const std::size_t runs : {1'000U, 10'000U, 100'000U}) {
    const Cost cost = measure<Kind>(runs, deadlines);
    if (runs == 1'000) first = cost;
    const double time = cost.nanoseconds / first.nanoseconds;
    const double memory = cost.bytes / first.bytes;
    flat = flat && memory < 1.05;
    std::printf("%-34s %8zu %10zu %10.0f %6.2f %10.0f %6.2f\n", title, runs, deadlines ? runs / 2 : 0, cost.nanoseconds,
                time, cost.bytes, memory);
    std::fflush(stdout);
  }
  return flat;
}

}  // namespace

int main() {
  // What is freed stays ours, so that no row pays for pages of the system's.
  mallopt(M_TRIM_THRESHOLD, (std::numeric_limits<int>::max)());
  mallopt(M_MMAP_MAX, 0);
  std::printf("%-34s %8s %10s %10s %6s %10s %6s\n", "a failure, a wait, a success", "at once", "deadlines", "ns a run",
              "times", "bytes", "times");
  bool flat = print<PlanRuns>("PlanRun", false);
  flat = print<PlanRuns>("PlanRun, with deadlines", true) && flat;
  flat = print<Coroutines>("co_run_with_plan", false) && flat;
  flat = print<Coroutines>("co_run_with_plan, with deadlines", true) && flat;
  return flat ? 0 : 1;
}
