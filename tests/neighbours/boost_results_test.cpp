// Boost.System's result and Boost.Outcome's: returned as they are, with their errors read as any other.
#include <boost/outcome.hpp>
#include <boost/system/result.hpp>

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

using StdOutcome = BOOST_OUTCOME_V2_NAMESPACE::std_outcome<std::string>;

// It fails with an error code or with an exception; failure() gives both as an exception.
template <>
struct planb::result_traits<StdOutcome> {
  static bool has_value(const StdOutcome& r) { return r.has_value(); }
  static std::exception_ptr error(const StdOutcome& r) { return r.failure(); }
  static const std::string& value(const StdOutcome& r) { return r.assume_value(); }
  static StdOutcome from_error(std::exception_ptr error) { return error; }
};

namespace {

using namespace std::chrono_literals;
namespace outcome = BOOST_OUTCOME_V2_NAMESPACE;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

struct Fault {
  int status = 0;
  std::string message = {};
};

// What result::value() does with an error of one's own.
[[noreturn]] void throw_exception_from_error(const Fault& fault, const boost::source_location&) {
  throw planb::ProviderError(fault.status, fault.message);
}

const planb::ExecutionPlan<int> plan{{.name = "busy", .provide = 1, .attempts = 2, .schedule = planb::spaced(1s)},
                                     {.name = "refused", .provide = 2},
                                     {.name = "works", .provide = 3}};

// Fails in the first two steps, with what `fault(step)` gives.
template <class R, class MakeFault>
void check_chain(MakeFault fault) {
  const AttemptLog log;
  VirtualClock clock;
  const auto call = [&](int step) -> R {
    if (step != 3) return fault(step);
    return std::string("answer");
  };
  const auto answer = planb::run_with_plan(plan.with_classifier(planb::http_classifier(planb::ContentRefusal::abort)),
                                           call, {.on_event = log, .clock = &clock});
  static_assert(std::is_same_v<decltype(answer), const R>);
  REQUIRE(answer.has_value());
  CHECK(answer.value() == "answer");
  CHECK(log.names() == std::vector<std::string>{"busy", "busy", "refused", "works"});
}

}  // namespace

TEST_CASE("boost::system::result with an error of one's own comes back as itself") {
  using R = boost::system::result<std::string, Fault>;
  check_chain<R>([](int step) { return R(boost::system::in_place_error, Fault{step == 1 ? 503 : 401}); });

  const R last = planb::run_with_plan(plan, [](int step) { return R(boost::system::in_place_error, Fault{step}); },
                                      {.failure = planb::FailureStyle::original});
  REQUIRE(last.has_error());
  CHECK(last.error().status == 3);
}

TEST_CASE("boost::system::result with an error code: a connection that failed is retried") {
  using R = boost::system::result<std::string>;
  const AttemptLog log;
  VirtualClock clock;
  const auto call = [](int step) -> R {
    if (step == 1) return boost::system::errc::make_error_code(boost::system::errc::connection_refused);
    if (step == 2) return boost::system::errc::make_error_code(boost::system::errc::permission_denied);
    return std::string("answer");
  };
  const R answer = planb::run_with_plan(plan.with_classifier(planb::http_classifier(planb::ContentRefusal::abort)),
                                        call, {.on_event = log, .clock = &clock});
  CHECK(answer.value() == "answer");
  CHECK(log.names() == std::vector<std::string>{"busy", "busy", "refused", "works"});
  for (const planb::AttemptFailure& failure : log.of<planb::AttemptFailure>()) {
    const auto expected = failure.step_index == 0 ? planb::FailureClass::connection : planb::FailureClass::unknown;
    REQUIRE(failure.verdict.has_value());
    CHECK(failure.verdict->failure_class == expected);
  }
}

TEST_CASE("Outcome's result comes back as itself, with an error of one's own or a code") {
  using Own = outcome::basic_result<std::string, Fault, outcome::policy::all_narrow>;
  check_chain<Own>([](int step) { return Fault{step == 1 ? 503 : 401}; });

  using Std = outcome::std_result<std::string>;
  const AttemptLog log;
  VirtualClock clock;
  const auto call = [](int step) -> Std {
    if (step == 1) return std::make_error_code(std::errc::connection_reset);
    if (step == 2) return std::make_error_code(std::errc::permission_denied);
    return std::string("answer");
  };
  const Std answer = planb::run_with_plan(plan.with_classifier(planb::http_classifier(planb::ContentRefusal::abort)),
                                          call, {.on_event = log, .clock = &clock});
  CHECK(answer.value() == "answer");
  CHECK(log.names() == std::vector<std::string>{"busy", "busy", "refused", "works"});
}

TEST_CASE("an Outcome that holds an exception, or a code, has failed with it") {
  const AttemptLog log;
  const auto call = [](int step) -> StdOutcome {
    if (step == 1) return std::make_exception_ptr(planb::ProviderError(503, "busy"));
    if (step == 2) return std::make_error_code(std::errc::permission_denied);
    return std::string("answer");
  };
  VirtualClock clock;
  const StdOutcome answer = planb::run_with_plan(plan, call, {.on_event = log, .clock = &clock});
  CHECK(answer.value() == "answer");
  CHECK(log.names() == std::vector<std::string>{"busy", "busy", "refused", "works"});
  const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
  CHECK(failures[0].cause.status() == 503);
  CHECK(failures[2].cause.get_if<std::system_error>() != nullptr);

  const StdOutcome last = planb::run_with_plan(
      plan, [](int) -> StdOutcome { return std::make_exception_ptr(planb::ProviderError(503, "busy")); },
      {.clock = &clock, .failure = planb::FailureStyle::original});
  REQUIRE(last.has_exception());
  CHECK_THROWS_AS(std::rethrow_exception(last.exception()), planb::ProviderError);
}
