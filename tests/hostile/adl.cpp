// planb with types of a namespace whose operators and functions take anything.
#include <planb/planb.hpp>

#include <functional>
#include <vector>

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
  const planb::StreamOptions stream_options{.on_event = [&](const planb::Event&) { ++events; }};

  // Calls.
  EXPECT((*planb::run_with_plan(plan, Callable())).of == 2);
  EXPECT((*planb::run_with_plan(plan, Callable(), options)).of == 2);
  EXPECT(planb::run_with_plan(plan, [](Client& c) {
           if (c.id == 1) throw hostile::Error();
           return Answer{c.id};
         }).of == 2);
  EXPECT(planb::run_with_plan(plan, [](Client& c) {
           if (c.id == 1) throw hostile::LargeError();
           return Answer{c.id};
         }, options).of == 2);
  auto tried = planb::try_run_with_plan(plan, Callable());
  EXPECT(tried.has_value());
  EXPECT(tried->of == 2);
  EXPECT(tried.report().last_cause()->get_if<hostile::Error>() != nullptr);
  const auto copy = tried;
  tried = copy;
  EXPECT(planb::try_run_with_plan(plan, large_reply, options).value().of == 2);
  const planb::ExecutionPlan<Client> hopeless{{.provide = Client{1}}};
  const auto failed = planb::try_run_with_plan(hopeless, large_reply);
  EXPECT(failed.report().last_cause()->get_if<hostile::Error>() != nullptr);
  EXPECT(failed.report().to_string() == "plan exhausted: step 0: 503 busy");
  EXPECT(!planb::run_with_plan(hopeless, Callable(), {.failure = planb::FailureStyle::original}).has_value());
  EXPECT(planb::run_with_plan(plan, planb::accepting([](Client& c) { return Answer{c.id}; },
                                                     [](const Answer& answer) { return answer.of == 2; }),
                              options).of == 2);
  const planb::ExecutionPlan<Client&> refers{{.provide = [] {
    static Client client{2};
    return std::ref(client);
  }}};
  EXPECT((*planb::run_with_plan(refers, Callable())).of == 2);
  const planb::ExecutionPlan<Client> by_result{
      {.provide = [] { return hostile::BasicResult<Client, hostile::Error>(hostile::Error()); }},
      {.provide = [] { return hostile::BasicResult<Client, hostile::Error>(Client{2}); }}};
  EXPECT((*planb::run_with_plan(by_result, Callable())).of == 2);

  // Plans.
  const planb::ExecutionPlan<Client, hostile::Env> open{
      {.provide = [](hostile::Env& env) { return Client{env.id}; }}};
  hostile::Env env{2};
  EXPECT((*planb::run_with_plan(open.capture_requirements(env), Callable())).of == 2);
  EXPECT((*planb::run_with_plan(planb::merge(plan, hopeless, plan), Callable())).of == 2);
  const auto made = planb::ExecutionPlan<Client>::make({{.provide = Client{1}}});
  EXPECT(made.has_value());
  EXPECT((*made).size() == 1);
  EXPECT(made->size() == 1);

  // retry
  int calls = 0;
  EXPECT((*planb::retry({.attempts = 3}, [&] { return reply(Client{++calls}); })).of == 2);
  calls = 0;
  EXPECT(planb::retry({.attempts = 3}, [&] {
           if (++calls == 1) throw hostile::LargeError();
           return Answer{2};
         }, options).of == 2);

  // Streams.
  int sum = 0;
  const auto sink = [&](const Answer& answer) { sum += answer.of; };
  const auto produce = [](Client& c, auto& emit) {
    for (int i = 0; i != 2; ++i) {
      if (c.id == 1) {
        static_cast<void>(emit(Reply(hostile::Error())));
      } else {
        static_cast<void>(emit(Answer{c.id}));
      }
    }
  };
  const auto any_sink = [&](auto&& element) {
    if constexpr (requires { element.of; }) sum += element.of;
  };
  planb::push_with_plan(plan, produce, any_sink);
  planb::push_with_plan(plan, produce, any_sink, stream_options);
  planb::push_with_plan(plan,
                        planb::committing([](Client& c, auto& emit) { emit(Answer{c.id}); },
                                          [](const Answer& answer) { return answer.of != 0; }, 8),
                        sink);
  EXPECT(sum == 2 * 2 + 2 * 2 + 1);
  sum = 0;
  for (Reply element : planb::stream_with_plan(
           plan, [](Client& c) { return std::vector<Reply>{reply(c), reply(c)}; }, stream_options)) {
    sum += (*element).of;
  }
  for (const Answer& element : planb::stream_with_plan(
           plan, planb::committing([](Client& c) { return std::vector<Answer>{Answer{0}, Answer{c.id}}; },
                                   [](const Answer& answer) { return answer.of != 0; }, 8))) {
    sum += element.of;
  }
  EXPECT(sum == 5);

  // By hand.
  planb::PlanRun<Client> run(plan, options);
  while (run.next() == planb::RunPhase::attempt) {
    planb::ContextSlot<Client> slot;
    EXPECT(run.provide(slot));
    if ((*slot).id == 1) {
      run.fail(planb::Cause::of(hostile::LargeError()));
    } else {
      run.succeed();
    }
  }
  EXPECT(run.end() == planb::RunEnd::succeeded);
  EXPECT(events > 0);

  return check::result();
}
