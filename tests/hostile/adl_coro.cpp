// Coroutines with types of a namespace whose operators and functions take anything.
#include <planb/coro.hpp>
#include <planb/planb.hpp>

#ifdef __GLIBCXX__  // whose coroutine_handle finds that
#define PLANB_TEST_WITHOUT_ADDRESS_OF
#endif
#include "../no_exceptions/check.hpp"
#include "hostile.hpp"

int main() {
  const planb::ExecutionPlan<Client> plan{
      {.name = "first",
       .provide = Client{1},
       .attempts = 2,
       .schedule = planb::delays({planb::Duration()}),
       .retry_while = [](const hostile::Error& error) { return error.code_number == 503; },
       .classify = [](const hostile::Error&) { return planb::Verdict(); }},
      {.name = "second", .provide = [] { return Client{2}; }},
  };
  int events = 0;
  const planb::RunOptions options{.on_event = [&](const planb::Event&) { ++events; }};

  const auto sleep = [](planb::Duration) -> planb::Task<> { co_return; };
  EXPECT((*planb::sync_wait(planb::co_run_with_plan<planb::Task<Reply>>(
              plan, [](Client& c) -> planb::Task<Reply> { co_return reply(c); }, sleep))).of == 2);
  EXPECT(planb::sync_wait(planb::co_run_with_plan<planb::Task<Answer>>(
              plan,
              [](Client& c) -> planb::Task<Answer> {
                if (c.id == 1) throw hostile::Error();
                co_return Answer{c.id};
              },
              sleep, options)).of == 2);
  planb::Task<Answer> task = []() -> planb::Task<Answer> { co_return Answer{3}; }();
  task.start();
  EXPECT(task.done());
  EXPECT(task.get().of == 3);
  static Answer there{4};
  EXPECT(planb::sync_wait([]() -> planb::Task<Answer&> { co_return there; }()).of == 4);

  EXPECT(events > 0);
  return check::result();
}
