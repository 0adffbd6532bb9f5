// glibc's forced unwind: a thread that is cancelled, or that exits, inside a run. It is no exception: the attempt's
// terminal event is told, everything on the stack is destroyed, and the thread ends.
#include <planb/drive/task.hpp>
#include <planb/planb.hpp>
#include <planb/stream.hpp>
#include <planb/testing.hpp>

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "results.hpp"

// libstdc++ only: glibc unwinds with libgcc, which cannot walk the frames of a program that uses LLVM's libunwind, as
// programs with libc++ do. There, a thread that exits inside any frame with a destructor ends the program.
#if defined(__GLIBC__) && defined(__GLIBCXX__)
#include <pthread.h>

using namespace std::chrono_literals;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::AttemptSuccess;
using planb::Cause;
using planb::CauseKind;
using planb::Event;
using planb::ExecutionPlan;
using planb::run_with_plan;
using planb::StepSkipped;
using results::Fault;

namespace {

// What a thread did, in order. The thread is over when it is read.
using Journal = std::vector<std::string>;

struct Leaving {  // says on the way out that the stack was unwound, and with which metadata outside
  ~Leaving() { journal->push_back(planb::CurrentMetadata::get() == planb::Metadata{} ? "left" : "left with metadata"); }
  Journal* journal;
};

struct Client {
  explicit Client(Journal& j) : journal(&j) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { journal->push_back("closed"); }
  Journal* journal;
};

int exit_mark = 0;

// How the thread goes away: by pthread_exit, or as one that was cancelled before it got here.
enum class Way { exit, cancel };

[[noreturn]] void leave(Way way) {
  if (way == Way::exit) pthread_exit(&exit_mark);
  pthread_cancel(pthread_self());
  for (;;) pthread_testcancel();
}

// Runs `body` on a thread of its own and gives what it wrote. Last comes how the thread ended.
Journal on_thread(const std::function<void(Journal&)>& body) {
  struct Job {
    const std::function<void(Journal&)>& body;
    Journal journal;
  } job{body, {}};
  pthread_t thread{};
  const int made = pthread_create(
      &thread, nullptr,
      [](void* p) -> void* {
        Job& mine = *static_cast<Job*>(p);
        const Leaving leaving{&mine.journal};
        mine.body(mine.journal);
        mine.journal.emplace_back("came back");
        return nullptr;
      },
      &job);
  REQUIRE(made == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  job.journal.emplace_back(result == &exit_mark ? "exited" : result == PTHREAD_CANCELED ? "cancelled" : "returned");
  return std::move(job.journal);
}

std::string brief(const Event& event) {
  return event.visit(
      planb::overloaded{[](const AttemptStart& e) { return "start " + std::to_string(e.attempt); },
                        [](const AttemptFailure& e) {
                          return "failure " + std::to_string(e.attempt) +
                                 (e.cause.kind() == CauseKind::interrupted ? " interrupted" : "") + ", " +
                                 (e.next.kind == planb::NextMove::end ? planb::to_string(e.next.run_end) : "goes on");
                        },
                        [](const AttemptSuccess& e) { return "success " + std::to_string(e.attempt); },
                        [](const StepSkipped& e) { return "skipped " + std::to_string(e.step_index); },
                        [](const auto&) { return std::string("other"); }});
}

// But the end of the run, which has a test of its own.
void note(Journal& journal, const Event& event, const std::string& mark = {}) {
  if (event.get_if<planb::RunFinish>() == nullptr) journal.push_back(mark + brief(event));
}

auto recording(Journal& journal) {
  return [&journal](const Event& event) { note(journal, event); };
}

planb::Step<Client> step(Journal& journal) {
  return {.provide = [&journal] { return Client(journal); }, .attempts = 2};
}

Journal ended(Journal journal, Way way) {
  journal.emplace_back("left");
  journal.emplace_back(way == Way::exit ? "exited" : "cancelled");
  return journal;
}

}  // namespace

TEST_CASE("the end of the run is told once, where its thread goes away", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  const auto finish = [](Journal& j) {
    return planb::overloaded{[&j](const AttemptFailure&) { j.emplace_back("failure"); },
                             [&j](const planb::RunFinish& e) { j.emplace_back(planb::to_string(e.end)); }};
  };
  CHECK(on_thread([&](Journal& j) {
          const ExecutionPlan<int> plan{{.provide = 1}, {.provide = 2}};
          run_with_plan(plan, [&](int&) { leave(way); }, {.on_event = finish(j)});
        }) == ended({"failure", "interrupted"}, way));
  CHECK(on_thread([&](Journal& j) {  // within a callback of the plan
          const ExecutionPlan<int> plan{{.provide = 1, .attempts = 2, .retry_while = [&](const planb::Cause&) -> bool {
                                           leave(way);
                                         }}};
          run_with_plan(plan, [](int&) { throw 1; }, {.on_event = finish(j)});
        }) == ended({"failure", "interrupted"}, way));
}

TEST_CASE("a thread goes away inside the callable", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  const Journal expected = ended({"start 1", "closed", "failure 1 interrupted, interrupted"}, way);
  SECTION("of run_with_plan") {
    CHECK(on_thread([&](Journal& j) {
            const ExecutionPlan<Client> plan{step(j), step(j)};
            run_with_plan(plan, [&](Client&) { leave(way); }, {.on_event = recording(j)});
          }) == expected);
  }
  SECTION("of run_with_plan, which gives a value") {
    CHECK(on_thread([&](Journal& j) {
            const ExecutionPlan<Client> plan{step(j), step(j)};
            const std::string value =
                run_with_plan(plan, [&](Client&) -> std::string { leave(way); }, {.on_event = recording(j)});
            j.push_back(value);
          }) == expected);
  }
  SECTION("of try_run_with_plan, which gives an expected-like") {
    CHECK(on_thread([&](Journal& j) {
            const ExecutionPlan<Client> plan{step(j), step(j)};
            const auto result = planb::try_run_with_plan(
                plan, [&](Client&) -> results::Outcome<int, Fault> { leave(way); }, {.on_event = recording(j)});
            j.emplace_back(result.has_value() ? "value" : "error");
          }) == expected);
  }
  SECTION("without options there is nobody to tell") {
    CHECK(on_thread([&](Journal& j) {
            const ExecutionPlan<Client> plan{step(j), step(j)};
            run_with_plan(plan, [&](Client&) { leave(way); });
          }) == ended({"closed"}, way));
  }
  SECTION("of retry()") {
    CHECK(on_thread([&](Journal& j) {
            planb::retry({.attempts = 3}, [&] { leave(way); }, {.on_event = recording(j)});
          }) == ended({"start 1", "failure 1 interrupted, interrupted"}, way));
  }
  SECTION("after a failure") {
    CHECK(on_thread([&](Journal& j) {
            const ExecutionPlan<Client> plan{step(j), step(j)};
            int calls = 0;
            run_with_plan(plan,
                          [&](Client&) {
                            if (++calls == 1) throw std::runtime_error("down");
                            leave(way);
                          },
                          {.on_event = recording(j)});
          }) ==
          ended({"start 1", "closed", "failure 1, goes on", "start 2", "closed", "failure 2 interrupted, interrupted"},
                way));
  }
}

TEST_CASE("a thread goes away inside a factory", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          const ExecutionPlan<Client> plan{{.provide = [&]() -> Client { leave(way); }}, step(j)};
          run_with_plan(plan, [](Client&) {}, {.on_event = recording(j)});
        }) == ended({"start 1", "failure 1 interrupted, interrupted"}, way));
}

TEST_CASE("a thread goes away inside a handler", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  const auto run = [&](const std::string& where) {
    return on_thread([&](Journal& j) {
      planb::Step<Client> guarded = step(j);
      guarded.enter_when = [](const Cause&) { return true; };
      planb::Step<Client> failing = step(j);
      failing.attempts = 1;
      const ExecutionPlan<Client> plan{guarded, failing, step(j)};
      run_with_plan(plan,
                    [&](Client&, const planb::Attempt& a) {
                      if (a.step_index == 1) throw std::runtime_error("down");
                    },
                    {.on_event = [&](const Event& event) {
                      const std::size_t before = j.size();
                      note(j, event);
                      if (j.size() != before && j.back() == where) leave(way);
                    }});
    });
  };
  CHECK(run("skipped 0") == ended({"skipped 0"}, way));
  CHECK(run("start 1") == ended({"skipped 0", "start 1", "failure 1 interrupted, interrupted"}, way));
  CHECK(run("failure 1, goes on") == ended({"skipped 0", "start 1", "closed", "failure 1, goes on"}, way));
  CHECK(run("start 2") ==
        ended({"skipped 0", "start 1", "closed", "failure 1, goes on", "start 2", "failure 2 interrupted, interrupted"},
              way));
  CHECK(run("success 2") ==
        ended({"skipped 0", "start 1", "closed", "failure 1, goes on", "start 2", "closed", "success 2"}, way));
}

TEST_CASE("a thread goes away inside a rule of the plan", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  const auto run = [&](auto arm) {
    return on_thread([&](Journal& j) {
      planb::Step<Client> first = step(j);
      planb::Step<Client> second = step(j);
      arm(first, second);
      const ExecutionPlan<Client> plan{first, second};
      run_with_plan(plan, [](Client&) { throw Fault{1}; }, {.on_event = recording(j)});
    });
  };
  // The attempt's own error is what the event tells.
  const Journal expected = ended({"start 1", "closed", "failure 1, interrupted"}, way);
  CHECK(run([&](auto& first, auto&) { first.retry_while = [&](const Cause&) -> bool { leave(way); }; }) == expected);
  CHECK(run([&](auto& first, auto&) { first.retry_while = [&](const Fault&) -> bool { leave(way); }; }) == expected);
  CHECK(run([&](auto& first, auto&) { first.classify = [&](const Cause&) -> planb::Verdict { leave(way); }; }) ==
        expected);
  CHECK(run([&](auto& first, auto&) {
          first.schedule = planb::Schedule::from(
              "own", [&](const planb::ScheduleInput&) -> std::optional<planb::Duration> { leave(way); });
        }) == expected);
  CHECK(run([&](auto& first, auto& second) {
          first.attempts = 1;
          second.enter_when = [&](const Cause&) -> bool { leave(way); };
        }) == ended({"start 1", "closed", "failure 1, goes on"}, way));
}

TEST_CASE("a thread goes away inside an acceptance check", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          const ExecutionPlan<Client> plan{step(j), step(j)};
          const int value =
              run_with_plan(plan, planb::accepting([](Client&) { return 1; }, [&](int) -> bool { leave(way); }),
                            {.on_event = recording(j)});
          j.push_back(std::to_string(value));
        }) == ended({"start 1", "closed", "failure 1 interrupted, interrupted"}, way));
}

TEST_CASE("a thread goes away inside a wait: no attempt is under way", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  struct LeavingClock final : planb::Clock {
    explicit LeavingClock(Way w) : way(w) {}
    [[nodiscard]] planb::TimePoint now() const override { return {}; }
    void sleep_until(planb::TimePoint, planb::StopToken) override { leave(way); }
    Way way;
  };
  LeavingClock clock(way);
  CHECK(on_thread([&](Journal& j) {
          planb::Step<Client> first = step(j);
          first.schedule = planb::spaced(1s);
          const ExecutionPlan<Client> plan{first};
          run_with_plan(plan, [](Client&) { throw Fault{1}; }, {.on_event = recording(j), .clock = &clock});
        }) == ended({"start 1", "closed", "failure 1, goes on"}, way));
}

TEST_CASE("a thread is cancelled while it waits on the real clock", "[unwind]") {
  struct Job {
    Journal journal;
    std::mutex mutex;
    std::condition_variable failed;
    bool waiting = false;
  } job;
  pthread_t thread{};
  const int made = pthread_create(
      &thread, nullptr,
      [](void* p) -> void* {
        Job& mine = *static_cast<Job*>(p);
        const Leaving leaving{&mine.journal};
        planb::retry({.attempts = 2, .schedule = planb::spaced(1h)}, [] { throw Fault{1}; },
                     {.on_event = [&](const Event& event) {
                       note(mine.journal, event);
                       if (event.get_if<AttemptFailure>() == nullptr) return;
                       const std::lock_guard lock(mine.mutex);
                       mine.waiting = true;
                       mine.failed.notify_all();
                     }});
        return nullptr;
      },
      &job);
  REQUIRE(made == 0);
  {
    std::unique_lock lock(job.mutex);
    while (!job.waiting) job.failed.wait(lock);
  }
  CHECK(pthread_cancel(thread) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(job.journal == Journal{"start 1", "failure 1, goes on", "left"});
}

TEST_CASE("a thread goes away inside an attempt of a run by hand", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          const ExecutionPlan<Client> plan{step(j)};
          planb::PlanRun<Client> run(plan, {.on_event = recording(j)});
          static_cast<void>(run.next());
          planb::ContextSlot<Client> context;
          static_cast<void>(run.provide(context));
          leave(way);
        }) == ended({"start 1", "closed", "failure 1 interrupted, interrupted"}, way));
  CHECK(on_thread([&](Journal& j) {
          const ExecutionPlan<Client> plan{{.provide = [&]() -> Client { leave(way); }}};
          planb::PlanRun<Client> run(plan, {.on_event = recording(j)});
          static_cast<void>(run.next());
          planb::ContextSlot<Client> context;
          static_cast<void>(run.provide(context));
        }) == ended({"start 1", "failure 1 interrupted, interrupted"}, way));
}

TEST_CASE("nested runs are unwound one after the other", "[unwind]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          const ExecutionPlan<Client> plan{step(j)};
          const auto marked = [&](const std::string& mark) {
            return [&j, mark](const Event& event) { note(j, event, mark); };
          };
          run_with_plan(
              plan, [&](Client&) { run_with_plan(plan, [&](Client&) { leave(way); }, {.on_event = marked("inner ")}); },
              {.on_event = marked("outer ")});
        }) == ended({"outer start 1", "inner start 1", "closed", "inner failure 1 interrupted, interrupted", "closed",
                     "outer failure 1 interrupted, interrupted"},
                    way));
}

TEST_CASE("a handler that throws on the way out does not hold the thread", "[unwind][field-51]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          const ExecutionPlan<Client> plan{step(j)};
          run_with_plan(plan, [&](Client&) { leave(way); }, {.on_event = [&](const Event& event) {
                          note(j, event);
                          throw std::runtime_error("handler");
                        }});
        }) == ended({"start 1", "closed", "failure 1 interrupted, interrupted"}, way));
}

TEST_CASE("a gate's permit is dropped on the way out", "[unwind][field-12]") {
  struct Recorder final : planb::Gate {
    explicit Recorder(Journal& j) : journal(&j) {}
    planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 0); }
    [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
    void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
      journal->emplace_back(outcome.cause == nullptr ? "gate success" : "gate failure");
    }
    void on_dropped(std::uint64_t, bool) noexcept override { journal->emplace_back("gate dropped"); }
    Journal* journal;
  };
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          planb::Step<Client> first = step(j);
          first.gate = std::make_shared<Recorder>(j);
          const ExecutionPlan<Client> plan{first};
          run_with_plan(plan, [&](Client&) { leave(way); }, {.on_event = recording(j)});
        }) == ended({"start 1", "closed", "gate dropped", "failure 1 interrupted, interrupted"}, way));
}

TEST_CASE("the permit of an attempt that a gate let pass unasked is dropped on the way out", "[unwind][field-12]") {
  struct Passing final : planb::Gate {
    explicit Passing(Journal& j) : journal(&j) { pass_.store(8); }
    planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 0); }
    [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
    void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
      journal->emplace_back(outcome.cause == nullptr ? "gate success" : "gate failure");
    }
    void on_dropped(std::uint64_t ticket, bool) noexcept override {
      journal->push_back("gate dropped " + std::to_string(ticket));
    }
    Journal* journal;
  };
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          planb::Step<Client> first = step(j);
          first.gate = std::make_shared<Passing>(j);
          const ExecutionPlan<Client> plan{first};
          run_with_plan(plan, [&](Client&) { leave(way); });
        }) == ended({"closed", "gate dropped 8"}, way));
}

TEST_CASE("a gate that is unwound at a stream's first output: its permit is dropped", "[unwind]") {
  struct Unwinding final : planb::Gate {
    Unwinding(Journal& j, Way w) : journal(&j), way(w) {}
    planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 0); }
    [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
    void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
      journal->emplace_back(outcome.cause == nullptr ? "gate success" : "gate failure");
    }
    void on_first_output(std::uint64_t, planb::TimePoint) override { leave(way); }
    void on_dropped(std::uint64_t, bool) noexcept override { journal->emplace_back("gate dropped"); }
    Journal* journal;
    Way way;
  };
  const auto way = GENERATE(Way::exit, Way::cancel);
  const bool pulled = GENERATE(false, true);
  CHECK(on_thread([&](Journal& j) {
          planb::Step<Client> first = step(j);
          first.gate = std::make_shared<Unwinding>(j, way);
          const ExecutionPlan<Client> plan{first};
          const planb::StreamOptions options{.on_event = recording(j)};
          if (pulled) {
            auto stream = planb::stream_with_plan(
                plan, [](Client&) { return std::vector<int>{1}; }, options);
            for ([[maybe_unused]] int element : stream) j.emplace_back("element");
          } else {
            const auto sink = [&](int) { j.emplace_back("element"); };
            planb::push_with_plan(
                plan, [](Client&, auto& emit) { emit(1); }, sink, options);
          }
        }) == ended({"start 1", "closed", "gate dropped", "failure 1 interrupted, interrupted"}, way));
}

TEST_CASE("a gate's callable that is unwound after a success leaves the success told", "[unwind]") {
  struct Unwinding final : planb::Gate {
    explicit Unwinding(Way w) : way(w) {}
    planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 0); }
    [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }
    void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
      if (outcome.cause == nullptr) leave(way);
    }
    void on_dropped(std::uint64_t, bool) noexcept override {}
    Way way;
  };
  const auto way = GENERATE(Way::exit, Way::cancel);
  CHECK(on_thread([&](Journal& j) {
          planb::Step<Client> first = step(j);
          first.gate = std::make_shared<Unwinding>(way);
          const ExecutionPlan<Client> plan{first};
          run_with_plan(plan, [](Client&) {}, {.on_event = recording(j)});
        }) == ended({"start 1", "closed", "success 1"}, way));
}

namespace {

// Where a task waits until somebody resumes it.
struct Door {
  std::coroutine_handle<> waiting;

  static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> frame) noexcept { waiting = frame; }
  static void await_resume() noexcept {}
};

struct Noted {
  ~Noted() { journal->push_back(what); }
  Journal* journal;
  const char* what;
};

planb::Task<int> waits(Door& door, Journal& j) {
  const Noted noted{&j, "inner is over"};
  co_await door;
  co_return 1;
}

planb::Task<int> waits_twice(Door& door, Journal& j) {
  const Noted noted{&j, "middle is over"};
  const int first = co_await waits(door, j);
  co_return first + co_await waits(door, j);
}

}  // namespace

TEST_CASE("a thread goes away inside a task that goes on after another", "[unwind][task]") {
  const auto way = GENERATE(Way::exit, Way::cancel);
  Door door;
  const auto resumes = [&](Journal& j) {
    j.emplace_back("resumed");
    std::exchange(door.waiting, {}).resume();
  };
  SECTION("it awaited a value") {
    Journal before;
    const auto outer = [&]() -> planb::Task<> {
      const Noted noted{&before, "outer is over"};
      before.push_back("got " + std::to_string(co_await waits(door, before)));
      leave(way);
    };
    planb::Task<> task = outer();
    task.start();
    CHECK(on_thread(resumes) == ended({"resumed"}, way));
    CHECK(before == Journal{"inner is over", "got 1", "outer is over"});
    CHECK_FALSE(task.done());
  }
  SECTION("it is the outermost of three, and is resumed twice") {
    Journal before;
    const auto outer = [&]() -> planb::Task<> {
      const Noted noted{&before, "outer is over"};
      before.push_back("got " + std::to_string(co_await waits_twice(door, before)));
      leave(way);
    };
    planb::Task<> task = outer();
    task.start();
    resumes(before);
    CHECK(on_thread(resumes) == ended({"resumed"}, way));
    CHECK(before == Journal{"resumed", "inner is over", "inner is over", "middle is over", "got 2", "outer is over"});
  }
  SECTION("it is resumed by the callback of another") {
    Journal before;
    planb::Task<int> inner = waits(door, before);
    Journal* within = nullptr;
    const auto resumes_by_callback = [&](Journal& j) {
      within = &j;
      inner.start([&] {
        const Noted noted{within, "callback is over"};
        within->push_back("got " + std::to_string(inner.get()));
        leave(way);
      });
      resumes(j);
    };
    CHECK(on_thread(resumes_by_callback) == ended({"resumed", "got 1", "callback is over"}, way));
    CHECK(before == Journal{"inner is over"});
    CHECK(inner.done());
  }
  SECTION("it is within another, which stays where it is, and goes with its owner") {
    Journal before;
    const auto middle = [&]() -> planb::Task<> {
      const Noted noted{&before, "middle is over"};
      co_await waits(door, before);
      leave(way);
    };
    const auto outer = [&]() -> planb::Task<> {
      const Noted noted{&before, "outer is over"};
      co_await middle();
      before.emplace_back("never");
    };
    {
      planb::Task<> task = outer();
      task.start();
      CHECK(on_thread(resumes) == ended({"resumed"}, way));
      CHECK(before == Journal{"inner is over", "middle is over"});
    }
    CHECK(before == Journal{"inner is over", "middle is over", "outer is over"});
  }
}

#endif
