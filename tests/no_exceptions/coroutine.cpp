// Coroutines without exceptions and RTTI: callables whose tasks give expected-likes. Built with -fno-exceptions
// -fno-rtti.
#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../lives.hpp"
#include "../results.hpp"
#include "check.hpp"

#if PLANB_HAS_EXCEPTIONS || PLANB_HAS_RTTI
#error "build this with -fno-exceptions -fno-rtti"
#endif

using namespace std::chrono_literals;
using lives::Counted;
using planb::Attempt;
using planb::co_push_with_plan;
using planb::co_run_with_plan;
using planb::co_try_push_with_plan;
using planb::CurrentMetadata;
using planb::ExecutionPlan;
using planb::Metadata;
using planb::sync_wait;
using planb::Task;

namespace {

struct Client {
  int id = 0;
};

// An error that can be made from a PlanError, as it must be here.
struct Error {
  explicit Error(std::string t) : text(std::move(t)) {}
  explicit Error(const planb::PlanError& error) : text(error.what()) {}
  std::string text;
};
using Reply = results::Outcome<int, Error>;

void a_run_retries_falls_back_and_answers() {
  planb::testing::VirtualClock clock;
  const planb::testing::AttemptLog log;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(10ms)},
      {.name = "two", .provide = Client{2}}};
  const auto sleep = [&](planb::Duration time) -> Task<> {
    clock.advance(time);
    co_return;
  };
  const auto answering_from = [](int attempt) {
    return [attempt](Client& client, const Attempt& a) -> Task<Reply> {
      EXPECT(CurrentMetadata::get() == Metadata{a.attempt, a.step_index});
      if (a.attempt < attempt) co_return Error("down");
      co_return client.id;
    };
  };
  Reply answer =
      sync_wait(co_run_with_plan<Task<Reply>>(plan, answering_from(3), sleep, {.on_event = log, .clock = &clock}));
  EXPECT(answer.has_value() && *answer == 2);
  EXPECT(log.names() == std::vector<const char*>{"one", "one", "two"});
  EXPECT(clock.elapsed() == 10ms);

  const Reply failure = sync_wait(co_run_with_plan<Task<Reply>>(plan, answering_from(9), sleep, {.clock = &clock}));
  EXPECT(!failure.has_value());
  EXPECT(failure.error().text.find("plan exhausted: one: 2 attempts") == 0);
  EXPECT(CurrentMetadata::get() == Metadata{});
}

void a_stream_falls_back() {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  const auto sleep = [](planb::Duration) -> Task<> { co_return; };
  std::vector<int> seen;
  const auto producer = [](Client& client, auto& emit) -> Task<Reply> {
    for (int i = 0; i != 3; ++i) {
      const bool wanted = co_await emit(10 * client.id + i);
      if (!wanted) co_return i;
      if (client.id == 1 && i == 1) co_return Error("down");
    }
    co_return client.id;
  };
  const auto sink = [&](int x) -> Task<bool> {
    seen.push_back(x);
    co_return x != 21;
  };
  Reply answer = sync_wait(co_push_with_plan<Task<Reply>>(plan, producer, sink, sleep));
  EXPECT(answer.has_value() && *answer == 1);
  EXPECT((seen == std::vector<int>{10, 11, 20, 21}));
  const auto failing = [](Client&, auto&) -> Task<Reply> { co_return Error("down"); };
  const planb::PlanResult<int> result =
      sync_wait(co_try_push_with_plan<Task<planb::PlanResult<int>>>(plan, failing, sink, sleep));
  EXPECT(!result.has_value());
  EXPECT(result.report().steps.size() == 2);
}

void a_task_gives_what_it_returns() {
  const auto number = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  const auto twice = [&]() -> Task<int> {
    const std::unique_ptr<int> n = co_await number();
    co_return 2 * *n;
  };
  EXPECT(sync_wait(twice()) == 10);
  bool told = false;
  Task<int> task = twice();
  task.start([&] { told = true; });
  EXPECT(told && task.done() && task.get() == 10);
}

void what_the_coroutine_holds_is_destroyed_once() {
  int alive = 0;
  {
    const ExecutionPlan<Counted> plan{{.provide = [&] { return Counted(alive); }, .attempts = 2}};
    const auto fn = [held = Counted(alive)](Counted&, const Attempt& a) -> Task<Reply> {
      const Counted local(*held.alive);
      if (a.attempt == 1) co_return Error("down");
      co_return *held.alive;
    };
    const auto sleep = [held = Counted(alive)](planb::Duration) -> Task<> { co_return; };
    EXPECT(alive == 2);
    Reply answer = sync_wait(co_run_with_plan<Task<Reply>>(plan, fn, sleep));
    EXPECT(answer.has_value() && *answer == 6);  // two here, two in the coroutine, the context, the local
    EXPECT(alive == 2);
  }
  EXPECT(alive == 0);
}

}  // namespace

int main() {
  what_the_coroutine_holds_is_destroyed_once();
  a_run_retries_falls_back_and_answers();
  a_stream_falls_back();
  a_task_gives_what_it_returns();
  return check::result();
}
