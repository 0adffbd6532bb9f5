// What must not allocate. An executable of its own: it replaces operator new to count. Checks stay outside of the
// counted regions.
#include <planb/planb.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <ranges>
#include <string>

#include "catch.hpp"
#include "two_steps.hpp"

namespace {

thread_local bool counting = false;
thread_local std::size_t allocations = 0;
thread_local bool failing = false;

void* allocate(std::size_t size, std::size_t alignment) {
  if (counting) ++allocations;
  if (failing) throw std::bad_alloc();
  if (size == 0) size = 1;
  void* const p = alignment <= alignof(std::max_align_t)
                      ? std::malloc(size)
                      : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// The other forms of new and delete call these; that of new(std::nothrow) does not where a sanitizer has its own.
void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using two::Client;
using namespace std::chrono_literals;
using planb::ExecutionPlan;
using planb::run_with_plan;
using planb::try_run_with_plan;

namespace {

// The allocations of the second call: the first one may set up what lasts for the whole program.
template <class Fn>
std::size_t allocations_of(Fn fn) {
  fn();
  allocations = 0;
  counting = true;
  fn();
  counting = false;
  return allocations;
}

// An expected-like whose error has 64 bytes.
struct Error {
  int id = 0;
  char text[60] = {};
};
static_assert(sizeof(Error) == 64);

class Result {
 public:
  Result(int value) : value_(value), good_(true) {}  // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(error) {}             // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool has_value() const { return good_; }
  [[nodiscard]] const Error& error() const { return error_; }
  int& operator*() { return value_; }

 private:
  int value_ = 0;
  bool good_ = false;
  Error error_;
};

ExecutionPlan<Client> four_steps(int attempts = 1) {
  return {{.name = "one", .provide = [] { return Client{1}; }, .attempts = attempts},
          {.name = "two", .provide = Client{2}, .attempts = attempts},
          {.name = "three", .provide = [](const planb::Attempt&) { return Client{3}; }, .attempts = attempts},
          {.name = "four", .provide = Client{4}, .attempts = attempts}};
}

int answer(Client& client) { return client.id; }

// Answers in the step of this number.
auto answers_at(int step) {
  return [step](Client& client) -> Result {
    if (client.id != step) return Error{client.id};
    return client.id;
  };
}

}  // namespace

TEST_CASE("the counter counts", "[allocation]") {
  std::unique_ptr<int> p;
  CHECK(allocations_of([&] { p = std::make_unique<int>(1); }) == 1);
  struct alignas(128) Wide {
    char bytes[128];
  };
  std::unique_ptr<Wide> wide;
  CHECK(allocations_of([&] { wide = std::make_unique<Wide>(); }) == 1);
  int events = 0;
  const ExecutionPlan<Client> long_name{{.name = std::string(100, 'n'), .provide = Client{1}}};
  CHECK(allocations_of([&] {
          run_with_plan(long_name, answer, {.on_event = [&](const planb::Event&) { ++events; }});
        }) == 3);  // one for each event's name, and one in the report of the run's end
}

TEST_CASE("a success without options allocates nothing", "[allocation]") {
  const ExecutionPlan<Client> plan = four_steps();
  int sum = 0;
  CHECK(allocations_of([&] { sum += run_with_plan(plan, answer); }) == 0);
  CHECK(allocations_of([&] { run_with_plan(plan, [&](Client& c) { sum += c.id; }); }) == 0);
  CHECK(allocations_of([&] { sum += *run_with_plan(plan, answers_at(1)); }) == 0);
  CHECK(allocations_of([&] { sum += planb::retry({.attempts = 3}, [] { return 1; }); }) == 0);
  CHECK(allocations_of([&] { sum += run_with_plan(plan, planb::accepting(answer, [](int id) { return id == 1; })); }) ==
        0);
  CHECK(sum == 10);
}

TEST_CASE("a success with options allocates nothing", "[allocation]") {
  const ExecutionPlan<Client> plan = four_steps();
  int events = 0;
  int sum = 0;
  planb::RunOptions options;
  const auto run = [&] { sum += run_with_plan(plan, answer, options); };
  CHECK(allocations_of(run) == 0);
  SECTION("a handler, where names are short") {
    options.on_event = [&](const planb::Event&) { ++events; };
    CHECK(allocations_of(run) == 0);
    CHECK(events == 6);  // two runs: a start, a success, the end
  }
  SECTION("a budget") {
    options.budget = 1h;
    CHECK(allocations_of(run) == 0);
  }
#if PLANB_HAS_STOP_TOKEN
  SECTION("a stop token") {
    const std::stop_source stop;
    options.stop = stop.get_token();
    CHECK(allocations_of(run) == 0);
  }
#endif
  SECTION("a seed and a style") {
    options.seed = 1;
    options.failure = planb::FailureStyle::original;
    CHECK(allocations_of(run) == 0);
  }
  CHECK(sum > 0);
}

TEST_CASE("a step's own timeout allocates nothing unless its token is asked for", "[allocation]") {
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .timeout = 1h}};
  int sum = 0;
  CHECK(allocations_of([&] {
          sum += run_with_plan(plan, [](Client&, const planb::Attempt& a) { return a.timeout() ? 1 : 0; });
        }) == 0);
  CHECK(sum == 2);
}

TEST_CASE("a success as a result allocates nothing", "[allocation]") {
  const ExecutionPlan<Client> plan = four_steps();
  planb::RunOptions options;
  options.on_event = [](const planb::Event&) {};
  options.budget = 1h;
#if PLANB_HAS_STOP_TOKEN
  const std::stop_source stop;
  options.stop = stop.get_token();
#endif
  bool good = true;
  CHECK(allocations_of([&] { good = good && try_run_with_plan(plan, answer).has_value(); }) == 0);
  CHECK(allocations_of([&] { good = good && try_run_with_plan(plan, answers_at(1)).has_value(); }) == 0);
  CHECK(allocations_of([&] { good = good && try_run_with_plan(plan, answer, options).value() == 1; }) == 0);
  CHECK(good);
}

TEST_CASE("where there is no memory for a success' report, the value comes with one that says less", "[allocation]") {
  const ExecutionPlan<int> plan{{.name = "first", .provide = 1, .attempts = 2}, {.name = "second", .provide = 2}};
  const auto result = try_run_with_plan(plan, [](int& step) {
    if (step == 1) return Result(Error());
    failing = true;
    return Result(step);
  });
  failing = false;
  REQUIRE(result.has_value());
  CHECK(*result == 2);
  CHECK(result.report().end == planb::RunEnd::succeeded);
  CHECK(result.report().attempts == 3);
  CHECK(result.report().answered_step == 1);
  CHECK(result.report().steps.empty());
}

TEST_CASE("returned failures allocate nothing, over four steps", "[allocation]") {
  const int attempts = GENERATE(1, 3);
  const ExecutionPlan<Client> plan = four_steps(attempts);
  bool good = true;
  for (const int step : {2, 3, 4}) {
    CHECK(allocations_of([&] { good = good && run_with_plan(plan, answers_at(step)).has_value(); }) == 0);
  }
  const planb::RunOptions original{.failure = planb::FailureStyle::original};
  CHECK(allocations_of([&] { good = good && run_with_plan(plan, answers_at(0), original).error().id == 4; }) == 0);
  CHECK(good);
}

TEST_CASE("returned failures allocate nothing where predicates, options and handlers look at them", "[allocation]") {
  int seen = 0;
  const ExecutionPlan<Client> plan{
      {.name = "one",
       .provide = Client{1},
       .attempts = 2,
       .retry_while = [&](const Error& e) { return (seen += e.id) > 0; }},
      {.name = "two",
       .provide = Client{2},
       .attempts = 2,
       .classify =
           [&](const planb::Cause& c) {
             return ++seen, planb::Verdict{planb::Action::retry, !c.status()};
           }},
      {.name = "three", .provide = Client{3}, .enter_when = [](const Error&) { return true; }},
      {.name = "four", .provide = Client{4}}};
  bool good = true;
  planb::RunOptions options;
  options.budget = 1h;
  options.on_event = planb::overloaded{[&](const planb::AttemptFailure& f) { seen += f.cause.get_if<Error>()->id; },
                                       [&](const planb::Event&) { ++seen; }};
  CHECK(allocations_of([&] { good = good && run_with_plan(plan, answers_at(4)).has_value(); }) == 0);
  CHECK(allocations_of([&] { good = good && run_with_plan(plan, answers_at(4), options).has_value(); }) ==
        1);  // the report of the run's end, with its four steps
  CHECK(good);
  CHECK(seen > 0);
}

TEST_CASE("many attempts in one step need no more memory than few", "[allocation]") {
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .attempts = planb::unlimited}};
  int calls = 0;
  CHECK(allocations_of([&] {
          calls = 0;
          return run_with_plan(plan, [&](Client&) -> Result {
            if (++calls < 100'000) return Error{1};
            return 1;
          });
        }) == 0);
  CHECK(calls == 100'000);
}

TEST_CASE("values that are cheap to hold are held without allocation", "[allocation]") {
  const ExecutionPlan<Client> plan = four_steps();
  int a = 0;
  int b = 0;
  int c = 0;
  bool good = true;
  CHECK(allocations_of([&] {
          const ExecutionPlan<Client> copy = plan;
          good = good && copy.size() == 4;
        }) == 0);
  CHECK(allocations_of([&] {
          const planb::RunOptions options{.on_event = [&a, &b, &c](const planb::Event&) { ++a, ++b, ++c; }};
          const planb::RunOptions copy = options;  // NOLINT(performance-unnecessary-copy-initialization)
          good = good && static_cast<bool>(copy.on_event);
        }) == 0);
  CHECK(allocations_of([&] {
          const planb::Cause cause = planb::Cause::of(Error{7});
          const planb::Cause copy = cause;  // NOLINT(performance-unnecessary-copy-initialization)
          good = good && copy.get_if<Error>()->id == 7;
        }) == 0);
  CHECK(good);
}

TEST_CASE("a pushed stream allocates nothing, whatever it carries", "[allocation]") {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .timeout = 1h},
                                   {.name = "two", .provide = Client{2}}};
  const auto run = [&plan](int elements, const planb::StreamOptions& options) {
    return allocations_of([&] {
      int sum = 0;
      planb::push_with_plan(
          plan,
          [&](Client&, auto& emit) {
            for (int i = 0; i != elements; ++i) emit(i);
          },
          [&](int i) { sum += i; }, options);
    });
  };
  CHECK(run(1, {}) == 0);
  CHECK(run(1000, {}) == 0);
  CHECK(run(1000, {.budget = 1h}) == 0);
}

TEST_CASE("a pulled stream is one block, however many elements it has", "[allocation]") {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  const auto run = [&plan](int elements) {
    return allocations_of([&] {
      int sum = 0;
      for (const int i : planb::stream_with_plan(plan, [elements](Client&) { return std::views::iota(0, elements); })) {
        sum += i;
      }
      static_cast<void>(sum);
    });
  };
  CHECK(run(1) == 1);
  CHECK(run(1000) == 1);
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a stream whose stop token is watched allocates nothing for an element", "[allocation]") {
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .timeout = 1h}};
  const auto run = [&plan](int elements) {
    return allocations_of([&] {
      planb::push_with_plan(
          plan,
          [&](Client&, auto& emit, const planb::Attempt& attempt) {
            const planb::StopToken token = attempt.stop_token();
            for (int i = 0; i != elements; ++i) emit(i);
          },
          [](int) {});
    });
  };
  CHECK(run(1000) == run(1));
}
#endif
