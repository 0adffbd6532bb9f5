// Time that passes only when somebody waits for it.
#include "catch.hpp"

#include <planb/testing/virtual_clock.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using planb::Duration;
using planb::StopToken;
using planb::TimePoint;
using planb::Timer;
using planb::testing::VirtualClock;

constexpr TimePoint at(Duration time) { return TimePoint{time}; }

}  // namespace

TEST_CASE("a virtual clock starts at the beginning of time and stands still", "[virtual_clock]") {
  const VirtualClock clock;
  CHECK(clock.now() == TimePoint{});
  CHECK(clock.elapsed() == 0ms);
  CHECK(clock.now() == TimePoint{});
  CHECK(clock.waits() == 0);
}

TEST_CASE("advance moves the clock by so much", "[virtual_clock]") {
  VirtualClock clock;
  clock.advance(10ms);
  CHECK(clock.now() == at(10ms));
  clock.advance(1ns);
  CHECK(clock.elapsed() == 10ms + 1ns);
  clock.advance(24h * 365);
  CHECK(clock.elapsed() == 24h * 365 + 10ms + 1ns);
}

TEST_CASE("a virtual clock never goes back", "[virtual_clock]") {
  VirtualClock clock;
  clock.advance(10ms);
  clock.advance(0ms);
  clock.advance(-5ms);
  clock.sleep_until(at(3ms), {});
  CHECK(clock.elapsed() == 10ms);
}

TEST_CASE("waiting until a time jumps there, and the end of time is as far as it gets", "[virtual_clock]") {
  VirtualClock clock;
  clock.sleep_until(at(3h), {});
  CHECK(clock.elapsed() == 3h);
  clock.advance((Duration::max)());
  CHECK(clock.now() == (TimePoint::max)());
  clock.advance(1h);
  CHECK(clock.now() == (TimePoint::max)());
}

TEST_CASE("waits are counted where there is something to wait for", "[virtual_clock]") {
  VirtualClock clock;
  clock.sleep_until(at(10ms), {});
  CHECK(clock.waits() == 1);
  clock.sleep_until(at(10ms), {});  // is over
  clock.sleep_until(at(5ms), {});
  CHECK(clock.waits() == 1);
  clock.sleep_until(at(20ms), {});
  CHECK(clock.waits() == 2);
}

TEST_CASE("one wait is one wait, however many timers fire in it", "[virtual_clock]") {
  VirtualClock clock;
  const Timer one = clock.call_at(at(1ms), [] {});
  const Timer two = clock.call_at(at(2ms), [] {});
  clock.sleep_until(at(10ms), {});
  CHECK(clock.waits() == 1);
}

TEST_CASE("timers fire in the order of their times, each at its time, and no earlier than due", "[virtual_clock]") {
  VirtualClock clock;
  std::vector<std::pair<std::string, Duration>> fired;
  const auto note = [&](const char* name) { return [&, name] { fired.emplace_back(name, clock.elapsed()); }; };
  const Timer c = clock.call_at(at(30ms), note("c"));
  const Timer a = clock.call_at(at(10ms), note("a"));
  const Timer b = clock.call_at(at(20ms), note("b"));

  clock.advance(9ms);
  CHECK(fired.empty());
  clock.advance(11ms);
  CHECK(fired == std::vector<std::pair<std::string, Duration>>{{"a", 10ms}, {"b", 20ms}});
  CHECK(clock.elapsed() == 20ms);
  clock.sleep_until(at(1h), {});
  CHECK(fired.size() == 3);
  CHECK(fired.back() == std::pair<std::string, Duration>{"c", 30ms});
  CHECK(clock.elapsed() == 1h);
  clock.advance(1h);
  CHECK(fired.size() == 3);  // once
}

TEST_CASE("timers of the same time fire in the order in which they were set", "[virtual_clock]") {
  VirtualClock clock;
  std::string fired;
  std::vector<Timer> timers;
  for (const char name : std::string("abcdef")) {
    timers.push_back(clock.call_at(at(5ms), [&fired, name] { fired += name; }));
  }
  clock.advance(5ms);
  CHECK(fired == "abcdef");
}

TEST_CASE("a timer whose time has passed fires at once", "[virtual_clock]") {
  VirtualClock clock;
  clock.advance(10ms);
  int calls = 0;
  const Timer now = clock.call_at(at(10ms), [&] { ++calls; });
  CHECK(calls == 1);
  const Timer past = clock.call_at(at(1ms), [&] { ++calls; });
  CHECK(calls == 2);
  clock.advance(1h);
  CHECK(calls == 2);
  CHECK(clock.elapsed() == 1h + 10ms);
}

TEST_CASE("a timer may be moved to another time", "[virtual_clock]") {
  VirtualClock clock;
  std::vector<std::pair<std::string, Duration>> fired;
  const auto note = [&](const char* name) { return [&, name] { fired.emplace_back(name, clock.elapsed()); }; };
  Timer later = clock.call_at(at(10ms), note("later"));
  Timer earlier = clock.call_at(at(1h), note("earlier"));
  CHECK(later.move_to(at(30ms)));
  CHECK(earlier.move_to(at(20ms)));
  clock.advance(25ms);
  CHECK(fired == std::vector<std::pair<std::string, Duration>>{{"earlier", 20ms}});
  CHECK_FALSE(earlier.move_to(at(40ms)));  // its call has been made
  CHECK_FALSE(later.move_to(at(5ms)));     // that time has passed: it stays where it was
  clock.advance(1h);
  CHECK(fired == std::vector<std::pair<std::string, Duration>>{{"earlier", 20ms}, {"later", 30ms}});
  CHECK_FALSE(Timer().move_to(at(1h)));
}

TEST_CASE("destroying a timer cancels it", "[virtual_clock]") {
  VirtualClock clock;
  std::string fired;
  const Timer stays = clock.call_at(at(5ms), [&] { fired += "stays "; });
  {
    const Timer goes = clock.call_at(at(5ms), [&] { fired += "goes "; });
  }
  Timer replaced = clock.call_at(at(5ms), [&] { fired += "replaced "; });
  replaced = clock.call_at(at(6ms), [&] { fired += "new "; });
  Timer moved = clock.call_at(at(7ms), [&] { fired += "moved "; });
  const Timer target = std::move(moved);
  clock.advance(10ms);
  CHECK(fired == "stays new moved ");
}

TEST_CASE("a timer may outlive its clock", "[virtual_clock]") {
  int calls = 0;
  Timer timer;
  {
    VirtualClock clock;
    timer = clock.call_at(at(5ms), [&] { ++calls; });
  }
  timer = Timer();
  CHECK(calls == 0);
}

TEST_CASE("a timer's call may destroy its own timer", "[virtual_clock]") {
  VirtualClock clock;
  std::optional<Timer> timer;
  const std::string text = "a text that is too long to be held in place";
  std::string seen;
  timer = clock.call_at(at(5ms), [&timer, &seen, text] {
    timer.reset();
    seen = text;  // what the call captured is still there
  });
  clock.advance(5ms);
  CHECK(seen == text);
  CHECK_FALSE(timer.has_value());
}

TEST_CASE("a timer's call may destroy other timers, which then do not fire", "[virtual_clock]") {
  VirtualClock clock;
  std::string fired;
  std::optional<Timer> later;
  const Timer first = clock.call_at(at(5ms), [&] {
    fired += "first ";
    later.reset();
  });
  later = clock.call_at(at(5ms), [&] { fired += "later "; });
  clock.advance(10ms);
  CHECK(fired == "first ");
}

TEST_CASE("a timer that is set in a timer's call fires in the same wait where it is due", "[virtual_clock]") {
  VirtualClock clock;
  std::vector<Duration> fired;
  std::vector<Timer> timers;
  timers.push_back(clock.call_at(at(5ms), [&] {
    fired.push_back(clock.elapsed());
    timers.push_back(clock.call_at(at(8ms), [&] { fired.push_back(clock.elapsed()); }));
    timers.push_back(clock.call_at(at(20ms), [&] { fired.push_back(clock.elapsed()); }));
  }));
  clock.advance(10ms);
  CHECK(fired == std::vector<Duration>{5ms, 8ms});
  CHECK(clock.elapsed() == 10ms);
  clock.advance(10ms);
  CHECK(fired == std::vector<Duration>{5ms, 8ms, 20ms});
}

TEST_CASE("a timer that is set in a timer's call fires at once where its time has passed", "[virtual_clock]") {
  VirtualClock clock;
  std::string order;
  std::vector<Timer> timers;
  timers.push_back(clock.call_at(at(5ms), [&] {
    order += "(";
    timers.push_back(clock.call_at(at(5ms), [&] { order += "at once"; }));
    order += ")";
  }));
  clock.advance(10ms);
  CHECK(order == "(at once)");
  CHECK(clock.elapsed() == 10ms);
}

TEST_CASE("a timer's call may wait, and the wait that it came from ends no earlier", "[virtual_clock]") {
  VirtualClock clock;
  std::vector<Duration> fired;
  const Timer waiting = clock.call_at(at(5ms), [&] {
    clock.advance(20ms);
    fired.push_back(clock.elapsed());
  });
  const Timer within = clock.call_at(at(10ms), [&] { fired.push_back(clock.elapsed()); });
  clock.advance(10ms);
  CHECK(fired == std::vector<Duration>{10ms, 25ms});
  CHECK(clock.elapsed() == 25ms);
}

TEST_CASE("a timer that is moved fires after those that had its new time before it", "[virtual_clock]") {
  VirtualClock clock;
  std::string fired;
  Timer moved = clock.call_at(at(1ms), [&] { fired += "moved"; });
  const Timer stays = clock.call_at(at(5ms), [&] { fired += "stays "; });
  CHECK(moved.move_to(at(5ms)));
  clock.advance(5ms);
  CHECK(fired == "stays moved");
}

TEST_CASE("a timer's call may replace its own timer", "[virtual_clock]") {
  VirtualClock clock;
  std::vector<Duration> fired;
  Timer timer;
  std::function<void()> again = [&] {
    fired.push_back(clock.elapsed());
    CHECK_FALSE(timer.move_to(at(1h)));  // it has begun
    if (fired.size() != 3) timer = clock.call_at(clock.now() + 10ms, [&] { again(); });
  };
  timer = clock.call_at(at(10ms), [&] { again(); });
  clock.advance(1h);
  CHECK(fired == std::vector<Duration>{10ms, 20ms, 30ms});
}

TEST_CASE("a timer that another thread sets for a time that has passed fires when the call that runs is over",
          "[virtual_clock]") {
  VirtualClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool setting = false;
  std::string order;
  std::thread other;
  std::optional<Timer> late;
  const Timer running = clock.call_at(at(1ms), [&] {
    other = std::thread([&] {
      {
        const std::lock_guard lock(mutex);
        setting = true;
        changed.notify_all();
      }
      late = clock.call_at(at(0ms), [&] {
        const std::lock_guard lock(mutex);
        order += " then the other";
      });
    });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return setting; });
    for (int i = 0; i != 1000; ++i) {  // room for it to come too early
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    order += "the call";
  });
  clock.advance(1h);
  other.join();
  CHECK(order == "the call then the other");
}

// A new timer mostly gets the memory of the one that was destroyed last.
TEST_CASE("destroying a timer in whose place a running one was does not wait for that one's call", "[virtual_clock]") {
  VirtualClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool destroyed = false;
  bool in_time = false;
  int calls = 0;
  std::optional<Timer> own;
  std::optional<Timer> next;
  std::thread other;
  own = clock.call_at(at(1ms), [&] {
    own.reset();
    next = clock.call_at(at(2ms), [&] { ++calls; });
    other = std::thread([&] {
      next.reset();
      const std::lock_guard lock(mutex);
      destroyed = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    in_time = changed.wait_for(lock, 10s, [&] { return destroyed; });
  });
  clock.advance(1h);
  other.join();
  CHECK(in_time);
  CHECK(calls == 0);
}

TEST_CASE("many timers fire in the order in which a list of them would", "[virtual_clock]") {
  struct Pending {
    Duration due;
    int set;  // the how-manieth time that a timer was set or moved
    std::size_t number;
    bool operator<(const Pending& other) const { return due != other.due ? due < other.due : set < other.set; }
  };
  constexpr std::size_t count = 50'000;
  VirtualClock clock;
  std::vector<std::size_t> fired;
  std::vector<Timer> timers(count);
  std::vector<Pending> pending(count);
  std::mt19937 random(7);
  int set = 0;
  const auto some_time = [&] { return Duration(1 + random() % 20'000); };  // many have the same
  for (std::size_t i = 0; i != count; ++i) {
    pending[i] = {some_time(), set++, i};
    timers[i] = clock.call_at(at(pending[i].due), [&fired, i] { fired.push_back(i); });
  }
  std::vector<Pending> left;
  for (std::size_t i = 0; i != count; ++i) {
    const auto choice = random() % 4;
    if (choice == 0) {
      timers[i] = Timer();
      continue;
    }
    if (choice == 1) {
      pending[i] = {some_time(), set++, i};
      CHECK(timers[i].move_to(at(pending[i].due)));
    }
    left.push_back(pending[i]);
  }
  std::sort(left.begin(), left.end());
  std::vector<std::size_t> expected;
  for (const Pending& timer : left) expected.push_back(timer.number);
  clock.advance(1s);
  CHECK((fired == expected));
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stop that is requested before a wait leaves the clock where it is", "[virtual_clock]") {
  VirtualClock clock;
  clock.advance(5ms);
  std::stop_source source;
  source.request_stop();
  int calls = 0;
  const Timer timer = clock.call_at(at(10ms), [&] { ++calls; });
  clock.sleep_until(at(1h), source.get_token());
  CHECK(clock.elapsed() == 5ms);
  CHECK(calls == 0);
}

TEST_CASE("a stop during a wait ends it there and then", "[virtual_clock]") {
  VirtualClock clock;
  std::stop_source source;
  std::string fired;
  const Timer before = clock.call_at(at(10ms), [&] { fired += "before "; });
  const Timer stop = clock.call_at(at(20ms), [&] { source.request_stop(); });
  const Timer after = clock.call_at(at(20ms), [&] { fired += "after "; });
  clock.sleep_until(at(1h), source.get_token());
  CHECK(clock.elapsed() == 20ms);
  CHECK(fired == "before ");

  clock.advance(0ms);
  CHECK(fired == "before ");
  clock.advance(1ms);  // what was due is not lost
  CHECK(fired == "before after ");
}

TEST_CASE("a stop of somebody else's does not end a wait", "[virtual_clock]") {
  VirtualClock clock;
  std::stop_source mine;
  std::stop_source other;
  const Timer stop = clock.call_at(at(20ms), [&] { other.request_stop(); });
  clock.sleep_until(at(1h), mine.get_token());
  CHECK(clock.elapsed() == 1h);
}
#endif
