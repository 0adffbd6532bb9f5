// planb with exceptions but without RTTI: thrown types are told apart by rethrowing. Built with -fno-rtti.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "../results.hpp"
#include "../no_exceptions/check.hpp"

#if !PLANB_HAS_EXCEPTIONS || PLANB_HAS_RTTI
#error "build this with exceptions and -fno-rtti"
#endif

using planb::Cause;
using planb::ExecutionPlan;
using planb::RunEnd;
using planb::run_with_plan;
using planb::try_run_with_plan;
using results::Fault;

namespace {

struct Client {
  int id = 0;
};

class ApiError : public std::runtime_error {
 public:
  explicit ApiError(int s) : std::runtime_error("api"), status_(s) {}
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] bool retryable() const { return status_ >= 500; }

 private:
  int status_;
};
class Overloaded : public ApiError {
 public:
  Overloaded() : ApiError(529) {}
};
struct Bare {
  int status = 0;
};

ExecutionPlan<Client> two_steps() {
  return {{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
}

// What a run throws, by name.
template <class Run>
std::string thrown_by(Run run) {
  try {
    run();
  } catch (const planb::PlanExhausted& e) {
    return e.what();
  } catch (const planb::PlanAborted& e) {
    return e.what();
  } catch (const planb::PlanError&) {
    return "another PlanError";
  } catch (const planb::Defect& e) {
    return std::string("Defect ") + e.what();
  } catch (const ApiError& e) {
    return "ApiError " + std::to_string(e.status());
  } catch (const Bare& e) {
    return "Bare " + std::to_string(e.status);
  } catch (int number) {
    return "int " + std::to_string(number);
  } catch (...) {
    return "something";
  }
  return "nothing";
}

void thrown_types_are_told_apart() {
  const planb::testing::AttemptLog log;
  int calls = 0;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 4}};
  const auto fn = [&](Client&) {
    switch (++calls) {
      case 1: throw Overloaded();
      case 2: throw Bare{7};
      case 3: throw 42;
      default: return calls;
    }
  };
  EXPECT(run_with_plan(plan, fn, {.on_event = log}) == 4);
  const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
  EXPECT(failures.size() == 3);
  EXPECT(failures[0].cause.get_if<Overloaded>() != nullptr);
  EXPECT(failures[0].cause.get_if<ApiError>() != nullptr);  // as a handler would catch it
  EXPECT(failures[0].cause.get_if<ApiError>()->status() == 529);
  EXPECT(failures[0].cause.get_if<std::exception>() != nullptr);
  EXPECT(failures[0].cause.get_if<std::logic_error>() == nullptr);
  EXPECT(failures[0].cause.get_if<Bare>() == nullptr);
  EXPECT(failures[0].cause.message() == "api");
  EXPECT(failures[1].cause.get_if<Bare>()->status == 7);
  EXPECT(failures[1].cause.get_if<ApiError>() == nullptr);
  EXPECT(*failures[2].cause.get_if<int>() == 42);
  EXPECT(failures[2].cause.get_if<long>() == nullptr);
}

void rules_see_thrown_types() {
  std::vector<int> asked;
  const auto note = [&](int status) { return asked.push_back(status), true; };
  const auto run = [&](planb::Step<Client> step, auto error) {
    asked.clear();
    step.attempts = 2;
    const ExecutionPlan<Client> plan{step};
    return thrown_by([&] {
      run_with_plan(plan, [&](Client&) { throw error; }, {.failure = planb::FailureStyle::original});
    });
  };
  const auto over_api = [&](const ApiError& e) { return note(e.status()); };
  EXPECT(run({.provide = Client{}, .retry_while = over_api}, Overloaded()) == "ApiError 529");
  EXPECT(asked == std::vector<int>{529, 529});
  EXPECT(run({.provide = Client{}, .retry_while = over_api}, Bare{1}) == "Bare 1");
  EXPECT(asked.empty());
  EXPECT(run({.provide = Client{}, .retry_while = &ApiError::retryable}, ApiError(400)) == "ApiError 400");
  EXPECT(run({.provide = Client{}, .retry_while = [&](int n) { return note(n); }}, 5) == "int 5");
  EXPECT(asked == std::vector<int>{5, 5});

  // A type that a rule names can be read through its members; ProviderError always can.
  const auto reading = [&](const Cause& c) { return note(c.status().value_or(0)), planb::Verdict(); };
  EXPECT(run({.provide = Client{}, .retry_while = [](const Bare&) { return true; }, .classify = reading}, Bare{503}) ==
         "Bare 503");
  EXPECT(asked == std::vector<int>{503, 503});
  EXPECT(run({.provide = Client{}, .classify = reading}, planb::ProviderError(429)) == "something");
  EXPECT(asked == std::vector<int>{429, 429});
}

void failures_are_what_they_are_elsewhere() {
  const auto fails = [](Client& c) { throw ApiError(500 + c.id); };
  EXPECT(thrown_by([&] { run_with_plan(two_steps(), fails); }).find("plan exhausted: one: ") == 0);
  EXPECT(thrown_by([&] { run_with_plan(two_steps(), fails, {.failure = planb::FailureStyle::original}); }) ==
         "ApiError 502");
  EXPECT(thrown_by([&] { run_with_plan(two_steps(), [](Client&) { throw planb::Defect("a bug"); }); }) ==
         "Defect a bug");
  EXPECT(thrown_by([&] { planb::retry({.attempts = 2}, [] { throw 42; }); }) == "int 42");

  bool nested = false;
  try {
    run_with_plan(two_steps(), fails);
  } catch (const std::nested_exception& e) {
    nested = thrown_by([&] { e.rethrow_nested(); }) == "ApiError 502";
  }
  EXPECT(nested);

  const auto result = try_run_with_plan(two_steps(), fails);
  EXPECT(result.error().end() == RunEnd::exhausted);
  EXPECT(result.report().last_cause()->get_if<ApiError>()->status() == 502);
  EXPECT(thrown_by([&] { result.value(); }).find("plan exhausted") == 0);
}

void returned_errors() {
  using R = results::Outcome<int, Fault>;
  EXPECT(run_with_plan(two_steps(), [](Client& c) -> R { return Fault{c.id}; }).error().id == 2);
  std::vector<int> asked;
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .attempts = 2, .retry_while = [&](const Fault& f) {
                                      asked.push_back(f.id);
                                      return true;
                                    }}};
  int calls = 0;
  const auto fn = [&](Client&) -> R {
    if (++calls == 1) throw Fault{10};
    return Fault{20};
  };
  EXPECT(run_with_plan(plan, fn).error().id == 20);
  EXPECT(asked == std::vector<int>{10, 20});
}

void a_thrown_rule() {
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 2, .retry_while = [](const Cause&) -> bool { throw 7; }}};
  const auto fails = [](Client&) { throw Bare{1}; };
  EXPECT(thrown_by([&] { run_with_plan(plan, fails); }).find("plan aborted: one: ") == 0);
  EXPECT(thrown_by([&] { run_with_plan(plan, fails, {.failure = planb::FailureStyle::original}); }) == "int 7");
}

}  // namespace

// Without the type of what was thrown, a text may be a base of it.
void what_a_text_wraps_is_read() {
  try {
    try {
      throw planb::ProviderError(429, "slow down");
    } catch (...) {
      std::throw_with_nested(std::string("text"));
    }
  } catch (...) {
    const Cause cause = Cause::current();
    EXPECT(cause.status() == 429);
    EXPECT(cause.message() == "text");
  }
  EXPECT(Cause::of(std::make_exception_ptr(std::string("text"))).status() == std::nullopt);
}

int main() {
  thrown_types_are_told_apart();
  rules_see_thrown_types();
  failures_are_what_they_are_elsewhere();
  returned_errors();
  a_thrown_rule();
  what_a_text_wraps_is_read();
  return check::result();
}
