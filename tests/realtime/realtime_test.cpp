// What needs the real clock: waits that a stop interrupts, and timers. Short times, and generous bounds: a busy machine
// may be late, never early.
#include <planb/planb.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "two_steps.hpp"

using two::Client;
using namespace std::chrono_literals;
using planb::Duration;
using planb::ExecutionPlan;
using planb::SteadyClock;
using planb::TimePoint;
using planb::Timer;

namespace {

constexpr Duration never = 1h;  // far beyond the tests' patience

// Something that one thread tells another.
class Signal {
 public:
  void raise() {
    const std::lock_guard lock(mutex_);
    raised_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    while (!raised_) changed_.wait(lock);
  }
  // False: not in this time.
  [[nodiscard]] bool wait_for(Duration time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return raised_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
};

TimePoint in(Duration d) { return SteadyClock::instance().now() + d; }

// Runs `fn` and gives how long it took.
template <class Fn>
Duration taken(Fn fn) {
  const TimePoint start = SteadyClock::instance().now();
  fn();
  return SteadyClock::instance().now() - start;
}

}  // namespace

TEST_CASE("the real clock waits until it is due, not shorter", "[realtime]") {
  SteadyClock& clock = SteadyClock::instance();
  const TimePoint due = in(20ms);
  clock.sleep_until(due, {});
  CHECK(clock.now() >= due);
  CHECK(taken([&] { clock.sleep_until(in(-1s), {}); }) < 5s);
  CHECK(taken([&] { clock.sleep_until(TimePoint::min(), {}); }) < 5s);
}

TEST_CASE("a run waits on the real clock where it is given no other", "[realtime]") {
  int calls = 0;
  std::vector<TimePoint> starts;
  CHECK(planb::retry({.attempts = 3, .schedule = planb::spaced(10ms)}, [&] {
          starts.push_back(SteadyClock::instance().now());
          if (++calls < 3) throw std::runtime_error("down");
          return calls;
        }) == 3);
  CHECK(starts[1] - starts[0] >= 10ms);
  CHECK(starts[2] - starts[1] >= 10ms);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop from another thread ends a wait at once", "[realtime][field-11]") {
  std::stop_source stop;
  Signal failed;
  std::thread stopper([&] {
    failed.wait();
    std::this_thread::sleep_for(20ms);  // mostly, the run waits by now; if not, it must end all the same
    stop.request_stop();
  });
  int calls = 0;
  const Duration time = taken([&] {
    CHECK_THROWS_AS(
        planb::retry({.attempts = 2, .schedule = planb::spaced(never)},
                     [&] {
                       ++calls;
                       throw std::runtime_error("down");
                     },
                     {.on_event = [&](const planb::AttemptFailure&) { failed.raise(); }, .stop = stop.get_token()}),
        planb::PlanInterrupted);
  });
  stopper.join();
  CHECK(calls == 1);
  CHECK(time < 30s);
}

TEST_CASE("a wait does not begin where the stop has come", "[realtime]") {
  std::stop_source stop;
  stop.request_stop();
  CHECK(taken([&] { SteadyClock::instance().sleep_until(in(never), stop.get_token()); }) < 30s);
}

TEST_CASE("an attempt's token fires at its step's timeout, on the real clock", "[realtime][field-15]") {
  const ExecutionPlan<Client> plan{{.name = "hangs", .provide = Client{1}, .timeout = 20ms},
                                   {.name = "answers", .provide = Client{2}, .timeout = never}};
  std::optional<planb::CauseKind> kind;
  const auto fn = [](Client& client, const planb::Attempt& a) {
    if (client.id == 2) {
      CHECK_FALSE(a.stop_token().stop_requested());
      return client.id;
    }
    const TimePoint deadline = a.deadline().value();
    SteadyClock::instance().sleep_until(in(never), a.stop_token());
    CHECK(SteadyClock::instance().now() >= deadline);
    CHECK(a.timeout() == Duration::zero());
    throw std::runtime_error("gave up");
  };
  const Duration time = taken([&] {
    CHECK(planb::run_with_plan(plan, fn,
                               {.on_event = [&](const planb::AttemptFailure& f) { kind = f.cause.kind(); }}) == 2);
  });
  CHECK(kind == planb::CauseKind::timeout);
  CHECK(time >= 20ms);
  CHECK(time < 30s);
}

TEST_CASE("an attempt's token fires at once when the caller stops from another thread", "[realtime]") {
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .timeout = never}};
  std::stop_source stop;
  Signal inside;
  std::thread stopper([&] {
    inside.wait();
    stop.request_stop();
  });
  CHECK_THROWS_AS(planb::run_with_plan(plan,
                                       [&](Client&, const planb::Attempt& a) {
                                         const planb::StopToken token = a.stop_token();
                                         inside.raise();
                                         SteadyClock::instance().sleep_until(in(never), token);
                                         throw std::runtime_error("gave up");
                                       },
                                       {.stop = stop.get_token()}),
                  planb::PlanInterrupted);
  stopper.join();
}
#endif

TEST_CASE("a timer calls once, not before it is due, on another thread", "[realtime]") {
  Signal called;
  std::atomic<int> calls = 0;
  std::thread::id where;
  TimePoint when;
  const TimePoint due = in(20ms);
  const Timer timer = SteadyClock::instance().call_at(due, [&] {
    when = SteadyClock::instance().now();
    where = std::this_thread::get_id();
    ++calls;
    called.raise();
  });
  called.wait();
  CHECK(when >= due);
  CHECK(where != std::this_thread::get_id());
  CHECK(calls == 1);
}

TEST_CASE("a timer whose time has passed calls at once", "[realtime]") {
  for (const TimePoint past : {in(-1h), in(0ms), TimePoint::min()}) {
    Signal called;
    TimePoint when;
    const TimePoint asked = in(0ms);
    const Timer timer = SteadyClock::instance().call_at(past, [&] {
      when = in(0ms);
      called.raise();
    });
    REQUIRE(called.wait_for(5s));
    CHECK(when >= asked);
  }
}

TEST_CASE("a timer of a clock with an epoch of its own is set and moved by that clock", "[realtime]") {
  class Offset final : public planb::Clock {  // without timers of its own
   public:
    explicit Offset(Duration by) : by_(by) {}
    [[nodiscard]] TimePoint now() const override { return SteadyClock::instance().now() + by_; }
    void sleep_until(TimePoint due, planb::StopToken stop) override {
      SteadyClock::instance().sleep_until(due - by_, stop);
    }

   private:
    Duration by_;
  };
  for (const Duration by : {Duration(0), Duration(-24h), Duration(24h)}) {
    Offset clock(by);
    Signal called;
    std::atomic<bool> too_early = false;
    Timer ahead = clock.call_at(clock.now() + never, [&] { called.raise(); });
    Timer away = clock.call_at(clock.now() + never / 2, [&] { too_early = true; });
    CHECK(away.move_to(clock.now() + never));
    CHECK(ahead.move_to(clock.now() + 1ms));
    called.wait();
    CHECK_FALSE(too_early);
  }
}

TEST_CASE("a timer that is moved calls at its new time", "[realtime]") {
  SteadyClock& clock = SteadyClock::instance();
  Signal called;
  bool too_early = false;
  Timer moved_ahead = clock.call_at(in(never), [&] { called.raise(); });
  Timer moved_away = clock.call_at(in(never / 2), [&] { too_early = true; });
  CHECK(moved_away.move_to(in(never)));
  CHECK(moved_ahead.move_to(in(1ms)));
  called.wait();
  CHECK_FALSE(moved_ahead.move_to(in(never)));
  CHECK_FALSE(too_early);
}

TEST_CASE("a timer that is destroyed does not call", "[realtime]") {
  std::atomic<bool> called = false;
  Signal later;
  {
    const Timer cancelled = SteadyClock::instance().call_at(in(20ms), [&] { called = true; });
    Timer moved = SteadyClock::instance().call_at(in(20ms), [&] { called = true; });
    Timer target = std::move(moved);
    target = Timer();
  }
  const Timer after = SteadyClock::instance().call_at(in(40ms), [&] { later.raise(); });
  later.wait();
  CHECK_FALSE(called);
}

TEST_CASE("destroying a timer waits for its call where that is running", "[realtime]") {
  Signal begun;
  std::atomic<bool> finished = false;
  {
    const Timer timer = SteadyClock::instance().call_at(in(0ms), [&] {
      begun.raise();
      std::this_thread::sleep_for(20ms);
      finished = true;
    });
    begun.wait();
  }
  CHECK(finished);
}

TEST_CASE("a call may destroy its own timer, or make new ones", "[realtime]") {
  Signal done;
  std::optional<Timer> own;
  std::optional<Timer> next;
  std::mutex made;  // the call may come before `own` has been filled
  {
    const std::lock_guard lock(made);
    own = SteadyClock::instance().call_at(in(0ms), [&] {
      const std::lock_guard inner(made);
      own.reset();
      next = SteadyClock::instance().call_at(in(0ms), [&] { done.raise(); });
    });
  }
  done.wait();
  const std::lock_guard lock(made);
  CHECK_FALSE(own.has_value());
}

TEST_CASE("a call may destroy another timer", "[realtime]") {
  Signal done;
  std::atomic<bool> called = false;
  std::optional<Timer> victim = SteadyClock::instance().call_at(in(never), [&] { called = true; });
  const Timer killer = SteadyClock::instance().call_at(in(0ms), [&] {
    victim.reset();
    done.raise();
  });
  done.wait();
  CHECK_FALSE(victim.has_value());
  CHECK_FALSE(called);
}

TEST_CASE("many timers call in the order of their times", "[realtime]") {
  constexpr int count = 500;
  Signal done;
  std::vector<int> order;  // touched by the timer thread alone, until `done`
  std::vector<Timer> timers;
  const TimePoint base = in(50ms);
  for (int i = 0; i != count; ++i) {
    const int rank = (i * 211) % count;  // added in no order
    timers.push_back(SteadyClock::instance().call_at(base + rank * 20us, [&, rank] {
      order.push_back(rank);
      if (order.size() == count) done.raise();
    }));
  }
  done.wait();
  std::vector<int> expected(count);
  for (int i = 0; i != count; ++i) expected[static_cast<std::size_t>(i)] = i;
  CHECK(order == expected);
}

TEST_CASE("timers of one time call in the order in which they were made", "[realtime]") {
  Signal done;
  std::vector<int> order;
  std::vector<Timer> timers;
  const TimePoint due = in(20ms);
  for (int i = 0; i != 20; ++i) {
    timers.push_back(SteadyClock::instance().call_at(due, [&, i] {
      order.push_back(i);
      if (i == 19) done.raise();
    }));
  }
  done.wait();
  CHECK(order.size() == 20);
  for (int i = 0; i != 20; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a call may replace its own timer", "[realtime]") {
  Signal done;
  Timer timer;
  int calls = 0;
  std::mutex made;
  std::function<void()> again = [&] {
    const std::lock_guard lock(made);
    CHECK_FALSE(timer.move_to(in(never)));  // it has begun
    if (++calls == 3) return done.raise();
    timer = SteadyClock::instance().call_at(in(0ms), [&] { again(); });
  };
  {
    const std::lock_guard lock(made);
    timer = SteadyClock::instance().call_at(in(0ms), [&] { again(); });
  }
  done.wait();
  const std::lock_guard lock(made);
  CHECK(calls == 3);
}

// A new timer mostly gets the memory of the one that was destroyed last.
TEST_CASE("a timer in whose place a running one was does not wait for that one's call", "[realtime]") {
  std::mutex mutex;
  std::condition_variable changed;
  bool destroyed = false;
  bool in_time = false;
  Signal made;
  Signal over;
  std::optional<Timer> own;
  std::optional<Timer> next;
  std::mutex filled;  // the call may come before `own` has been filled
  {
    const std::lock_guard lock(filled);
    own = SteadyClock::instance().call_at(in(0ms), [&] {
      {
        const std::lock_guard inner(filled);
        own.reset();
      }
      next = SteadyClock::instance().call_at(in(never), [] {});
      made.raise();
      std::unique_lock wait(mutex);
      in_time = changed.wait_for(wait, 10s, [&] { return destroyed; });
      wait.unlock();
      over.raise();
    });
  }
  made.wait();
  next.reset();
  {
    const std::lock_guard lock(mutex);
    destroyed = true;
    changed.notify_all();
  }
  over.wait();
  CHECK(in_time);
}

TEST_CASE("a timer costs about as much beside many others", "[realtime]") {
  SteadyClock& clock = SteadyClock::instance();
  struct Row {
    const char* what;
    Duration ahead;  // of the timer; the others are due in a quarter to three quarters of an hour
  };
  for (const Row& row : {Row{"due before all others", 1min}, Row{"due among them", 30min}, Row{"due after", 2h}}) {
    INFO(row.what);
    const auto cost = [&] {  // of one made, moved and destroyed, the best of many
      Duration best = never;
      for (int round = 0; round != 50; ++round) {
        best = (std::min)(best, taken([&] {
                            for (int i = 0; i != 100; ++i) {
                              Timer timer = clock.call_at(in(row.ahead), [] {});
                              static_cast<void>(timer.move_to(in(row.ahead)));
                            }
                          }));
      }
      return best;
    };
    const Duration alone = cost();
    std::vector<Timer> others;
    for (int i = 0; i != 50'000; ++i) others.push_back(clock.call_at(in(15min + i * 30ms), [] {}));
    const Duration beside = cost();
    CHECK(beside < 10 * alone);  // three times would be much already; without a heap it is thousands of times
  }
}

TEST_CASE("timers may be made and destroyed from many threads at once", "[realtime]") {
  std::atomic<int> calls = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t != 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i != 200; ++i) {
        const Timer cancelled = SteadyClock::instance().call_at(in(never), [&] { calls += 1000; });
        const Timer raced = SteadyClock::instance().call_at(in(0ms), [&] { ++calls; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(calls <= 800);
}
