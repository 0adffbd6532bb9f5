// What threads do to a run while it goes on, again and again: a stop against the end of an attempt, against its timer,
// against the destruction of a stream, and probes against each other. To be run under ThreadSanitizer.
//   PLANB_SOAK_SECONDS=n  how long in all
#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using planb::Attempt;
using planb::Cause;
using planb::CircuitState;
using planb::ExecutionPlan;
using planb::ProviderError;
using planb::RunEnd;
using planb::TimePoint;
using planb::testing::VirtualClock;

// Ends with its thread.
struct Joined {
  explicit Joined(std::function<void()> fn) : thread(std::move(fn)) {}
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;
  ~Joined() { thread.join(); }

  std::thread thread;
};

// Three threads, of which one is the caller's, that do something at the same time, again and again.
class Gang {
 public:
  Gang() = default;
  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;
  ~Gang() {
    (*this)([] {}, leave_, leave_);
  }

  // What throws here ends the program: the others would wait for ever.
  void operator()(
      const std::function<void()>& one, std::function<void()> two, std::function<void()> three = [] {}) noexcept {
    work_[0] = std::move(two);
    work_[1] = std::move(three);
    start_.arrive_and_wait();
    one();
    end_.arrive_and_wait();
  }

 private:
  void serve(std::size_t index) {
    for (bool going = true; going;) {
      start_.arrive_and_wait();
      work_[index]();
      going = !left_;
      end_.arrive_and_wait();
    }
  }

  std::function<void()> work_[2];
  std::atomic<bool> left_{false};
  const std::function<void()> leave_ = [this] { left_ = true; };
  std::barrier<> start_{3};
  std::barrier<> end_{3};
  Joined threads_[2] = {Joined([this] { serve(0); }), Joined([this] { serve(1); })};
};

// Takes a while that differs from call to call, so that what races meets at another place each time.
void dither(unsigned turn, unsigned most = 256) {
  static std::atomic<int> sink{0};
  const unsigned hash = turn * 2654435761U >> 16U;
  for (unsigned i = hash % most; i != 0; --i) sink.fetch_add(1, std::memory_order_relaxed);
}

// Repeats a round for its share of the time, and at least a few times. It says whether the stop, or whatever came from
// outside, came first: where that is never, or always, nothing has raced.
template <class Round>
void soak(Round round) {
  constexpr int tests_in_this_file = 8;
  const char* const text = std::getenv("PLANB_SOAK_SECONDS");
  const auto share = std::chrono::seconds(text != nullptr ? std::atoi(text) : 1) / double{tests_in_this_file};
  const auto end = std::chrono::steady_clock::now() + share;
  Gang at_once;
  unsigned turn = 0;
  unsigned came_first = 0;
  for (; turn < 20 || std::chrono::steady_clock::now() < end; ++turn) {
    INFO("round " << turn);
    if (round(at_once, turn)) ++came_first;
  }
  WARN(turn << " rounds, and in " << came_first << " of them it came first");
}

// Watches one run's events, on its own thread.
struct Watch {
  int starts = 0;
  int ends = 0;
  bool paired = true;
  std::optional<Cause> last;

  void operator()(const planb::Event& event) {
    event.visit(
        planb::overloaded{[&](const planb::AttemptStart& e) { paired &= e.attempt == ++starts && ends == starts - 1; },
                          [&](const planb::AttemptSuccess& e) { paired &= e.attempt == ++ends; },
                          [&](const planb::AttemptFailure& e) {
                            paired &= e.attempt == ++ends;
                            last = e.cause;
                          },
                          [](const auto&) {}});
  }
  [[nodiscard]] bool holds() const { return paired && starts == ends; }
};

}  // namespace

TEST_CASE("threads share a breaker: probes that race, fail, are stopped or abandoned all give their place back",
          "[soak]") {
  soak([](Gang& at_once, unsigned turn) {
    std::vector<std::pair<CircuitState, CircuitState>> changes;  // told by one thread at a time
    const auto breaker = planb::circuit_breaker(
        {.failure_threshold = 2,
         .open_for = 1ms,
         .half_open_probes = 2,
         .on_change = [&changes](const planb::CircuitChange& c) { changes.emplace_back(c.from, c.to); }});
    const ExecutionPlan<int> plan{{.name = "a", .provide = 1, .attempts = 2, .gate = breaker},
                                  {.name = "b", .provide = 2}};
    std::atomic<bool> broken{false};
    const auto worker = [&](unsigned mine) {
      VirtualClock clock;  // of its own: a shared one would put everything in order
      for (unsigned i = 0; i != 8; ++i) {
        const unsigned kind = (turn + mine * 3 + i) % 5;
        if (kind == 4) {  // its owner goes away
          planb::PlanRun<int> run(plan, {.clock = &clock});
          if (run.next() != planb::RunPhase::attempt) broken = true;
          dither(turn + i);
          continue;
        }
        Watch watch;
        const auto result = planb::try_run_with_plan(plan,
                                                     [&](int step) {
                                                       dither(turn * 7 + mine * 3 + i);
                                                       if (step == 1 && kind < 2) throw ProviderError(503);
                                                       return step;
                                                     },
                                                     {.on_event = std::ref(watch), .clock = &clock});
        if (!result.has_value() || !watch.holds()) broken = true;
        clock.advance(300us);
      }
    };
    at_once([&] { worker(0); }, [&] { worker(1); }, [&] { worker(2); });
    CHECK_FALSE(broken);
    bool in_order = true;
    CircuitState state = CircuitState::closed;
    for (const auto& [from, to] : changes) {
      in_order &= from == state;
      in_order &= to == CircuitState::half_open ? from == CircuitState::open
                  : to == CircuitState::closed  ? from == CircuitState::half_open
                                                : from != CircuitState::open;
      state = to;
    }
    CHECK(in_order);
    VirtualClock clock;
    clock.advance(1s);
    for (int i = 0; i != 2; ++i)
      CHECK(planb::run_with_plan(plan, [](int step) { return step; }, {.clock = &clock}) == 1);
    CHECK(breaker->state() == CircuitState::closed);
    return changes.size() > 1;  // it was half-open
  });
}

TEST_CASE("a timer's call against its end: once it has ended, what it referred to may go", "[soak]") {
  soak([](Gang& at_once, unsigned turn) {
    VirtualClock clock;
    std::atomic<int> called{0};
    const auto set_and_end = [&](planb::Clock& on, planb::Duration after) {
      int calls = 0;  // not atomic: the timer's end must order it
      planb::Timer timer = on.call_at(on.now() + after, [&calls, turn] {
        dither(turn / 2);
        ++calls;
      });
      dither(turn);
      if (turn % 3 == 0) timer.move_to(on.now() + after);
      dither(turn / 3, 4096);
      timer = {};
      called += ++calls - 1;
    };
    const planb::Duration after = std::chrono::microseconds(turn % 40);
    at_once([&] { set_and_end(clock, after); },
            [&] {
              dither(turn / 5, 4096);
              clock.advance(after);
            },
            [&] { set_and_end(planb::SteadyClock::instance(), after); });
    CHECK(called <= 2);
    return called != 0;
  });
}

#if PLANB_HAS_STOP_TOKEN

TEST_CASE("a stop against the end of an attempt: either wins, and every start has its end", "[soak]") {
  const ExecutionPlan<int> plan{
      {.name = "a", .provide = 1, .attempts = 2, .schedule = planb::spaced(1ms), .timeout = 1h}, {.provide = 2}};
  soak([&](Gang& at_once, unsigned turn) {
    std::stop_source source;
    VirtualClock clock;
    Watch watch;
    RunEnd end = RunEnd::running;
    bool restored = false;
    at_once(
        [&] {
          const auto result =
              planb::try_run_with_plan(plan,
                                       [&](int step, const Attempt& attempt) {
                                         std::atomic<int> told{0};
                                         const std::stop_callback callback(attempt.stop_token(), [&told] { ++told; });
                                         dither(turn);
                                         if (step == 1 && turn % 2 == 0) throw ProviderError(503);
                                         return step;
                                       },
                                       {.on_event = std::ref(watch), .stop = source.get_token(), .clock = &clock});
          end = result.report().end;
          restored = planb::CurrentMetadata::get() == planb::Metadata{};
        },
        [&] {
          dither(turn / 3);
          source.request_stop();
        });
    CHECK(watch.holds());
    CHECK(restored);
    CHECK((end == RunEnd::succeeded || end == RunEnd::interrupted));
    if (end == RunEnd::succeeded) CHECK(watch.ends == (turn % 2 == 0 ? 3 : 1));
    return end == RunEnd::interrupted;
  });
}

TEST_CASE("a stop against an attempt's deadline: the attempt is told once, and failed for the one or the other",
          "[soak]") {
  const ExecutionPlan<int> plan{{.name = "a", .provide = 1, .timeout = 10ms}};
  soak([&](Gang& at_once, unsigned turn) {
    std::stop_source source;
    VirtualClock clock;
    Watch watch;
    std::latch asked(1);
    int told = 0;
    RunEnd end = RunEnd::running;
    at_once(
        [&] {
          const auto result =
              planb::try_run_with_plan(plan,
                                       [&](int, const Attempt& attempt) {
                                         const planb::StopToken token = attempt.stop_token();
                                         {
                                           std::atomic<bool> gone{false};
                                           const std::stop_callback callback(token, [&] {
                                             ++told;
                                             gone = true;
                                           });
                                           asked.count_down();
                                           while (!gone) std::this_thread::yield();
                                         }
                                         throw ProviderError("gave up");
                                       },
                                       {.on_event = std::ref(watch), .stop = source.get_token(), .clock = &clock});
          end = result.report().end;
        },
        [&] {
          asked.wait();
          dither(turn);
          clock.advance(10ms);
        },
        [&] {
          asked.wait();
          dither(turn / 3, 2048);
          source.request_stop();
        });
    CHECK(watch.holds());
    CHECK(told == 1);
    REQUIRE(watch.last.has_value());
    if (end == RunEnd::interrupted) {
      CHECK((watch.last->kind() == planb::CauseKind::interrupted || watch.last->kind() == planb::CauseKind::timeout));
    } else {
      CHECK(end == RunEnd::exhausted);
      CHECK(watch.last->kind() == planb::CauseKind::timeout);
    }
    return end == RunEnd::interrupted;
  });
}

TEST_CASE("a real timer against the end of its attempt and a stop", "[soak]") {
  soak([&](Gang& at_once, unsigned turn) {
    const ExecutionPlan<int> plan{
        {.name = "a", .provide = 1, .attempts = 3, .timeout = std::chrono::microseconds(turn % 50 * 4 + 1)}};
    std::stop_source source;
    std::atomic<bool> broken{false};
    std::atomic<bool> timed_out{false};
    const auto run = [&] {
      Watch watch;
      const auto result =
          planb::try_run_with_plan(plan,
                                   [&](int step, const Attempt& attempt) {
                                     const planb::StopToken token = attempt.stop_token();
                                     dither(turn);
                                     if (token.stop_requested()) throw ProviderError("gave up");
                                     return step;
                                   },
                                   {.on_event = std::ref(watch), .budget = 1ms, .stop = source.get_token()});
      if (!watch.holds() || result.has_value() != (result.report().end == RunEnd::succeeded)) broken = true;
      if (watch.last && watch.last->kind() == planb::CauseKind::timeout) timed_out = true;
    };
    at_once(run, run, [&] {
      dither(turn / 3);
      if (turn % 2 != 0) source.request_stop();
    });
    CHECK_FALSE(broken);
    return timed_out.load();
  });
}

TEST_CASE("a stop against a real wait of an hour: it ends at once", "[soak]") {
  const ExecutionPlan<int> plan{{.name = "a", .provide = 1, .attempts = 2, .schedule = planb::spaced(1h)}};
  soak([&](Gang& at_once, unsigned turn) {
    std::stop_source source;
    Watch watch;
    RunEnd end = RunEnd::running;
    at_once(
        [&] {
          end = planb::try_run_with_plan(plan, [](int) -> int { throw ProviderError(503); },
                                         {.on_event = std::ref(watch), .stop = source.get_token()})
                    .report()
                    .end;
        },
        [&] {
          dither(turn, 4096);
          source.request_stop();
        });
    CHECK(end == RunEnd::interrupted);
    CHECK(watch.holds());
    CHECK(watch.starts <= 1);
    return watch.starts == 0;
  });
}

TEST_CASE("a stop against the destruction of a pulled stream", "[soak]") {
  const ExecutionPlan<int> plan{{.name = "a", .provide = 1, .timeout = 1h}};
  soak([&](Gang& at_once, unsigned turn) {
    std::stop_source source;
    VirtualClock clock;
    Watch watch;
    std::optional<std::stop_callback<std::function<void()>>> callback;
    std::atomic<int> told{0};
    int elements = 0;
    bool restored = false;
    at_once(
        [&] {
          try {
            auto stream =
                planb::stream_with_plan(plan,
                                        [&](int, const Attempt& attempt) {
                                          callback.emplace(attempt.stop_token(), [&] { ++told; });
                                          return std::vector<int>{1, 2, 3, 4};
                                        },
                                        {.on_event = std::ref(watch), .stop = source.get_token(), .clock = &clock});
            for (const int element : stream) {
              elements = element;
              dither(turn);
              if (element == 3) break;
            }
          } catch (const planb::PlanInterrupted&) {
            elements = -elements;
          }
          restored = planb::CurrentMetadata::get() == planb::Metadata{};
          dither(turn / 5);
          callback.reset();  // it may be called still, after the stream's end
        },
        [&] {
          dither(turn / 3 * 7);
          source.request_stop();
        });
    CHECK(watch.holds());
    CHECK(restored);
    CHECK(told <= 1);
    CHECK((elements == 3 || elements <= 0));
    return elements <= 0;
  });
}

TEST_CASE("a stop that is told of after the run, to who kept the attempt's token", "[soak]") {
  const ExecutionPlan<int> plan{{.name = "a", .provide = 1, .timeout = 1h}};
  soak([&](Gang& at_once, unsigned turn) {
    std::stop_source source;
    planb::StopToken kept;
    std::latch has_token(1);
    std::atomic<bool> told{false};
    std::optional<int> answer;
    at_once(
        [&] {
          const auto result = planb::try_run_with_plan(plan,
                                                       [&](int step, const Attempt& attempt) {
                                                         kept = attempt.stop_token();
                                                         has_token.count_down();
                                                         dither(turn);
                                                         return step;
                                                       },
                                                       {.stop = source.get_token()});
          if (result.has_value()) answer = *result;
        },
        [&] {
          has_token.wait();
          const std::stop_callback callback(kept, [&] { told = true; });
          dither(turn / 3);
        },
        [&] {
          has_token.wait();
          dither(turn / 7);
          source.request_stop();
        });
    CHECK(answer == 1);  // a late value is as good as any other
    return told.load();
  });
}

#endif
