// Boost.Beast's status as an error's: an enumeration, read as the number that it is; and its error codes.
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

// What a thin wrapper around a request throws.
struct HttpError {
  http::status status = http::status::unknown;
  std::string message = {};
};

}  // namespace

TEST_CASE("an error with a status of Beast's is classified by its number") {
  const auto classifier = planb::http_classifier<HttpError>(planb::ContentRefusal::abort);
  const planb::Cause busy = planb::Cause::of(HttpError{http::status::service_unavailable, "busy"});
  CHECK(busy.status() == 503);
  CHECK(busy.message() == "busy");
  CHECK(classifier(busy) == planb::Verdict{planb::Action::retry});
  CHECK(classifier(planb::Cause::of(HttpError{http::status::unauthorized})).failure_class == planb::FailureClass::auth);
  CHECK(classifier(planb::Cause::of(HttpError{http::status::bad_request})).action == planb::Action::abort);

  const auto plan =
      planb::ExecutionPlan<http::status>{
          {.name = "busy", .provide = http::status::too_many_requests, .attempts = 2, .schedule = planb::spaced(1s)},
          {.name = "no key", .provide = http::status::unauthorized, .attempts = 2},
          {.name = "works", .provide = http::status::ok}}
          .with_classifier(classifier);
  const AttemptLog log;
  VirtualClock clock;
  const auto call = [](http::status status) {
    if (status != http::status::ok) throw HttpError{status};
    return std::string("answer");
  };
  CHECK(planb::run_with_plan(plan, call, {.on_event = log, .clock = &clock}) == "answer");
  CHECK(log.names() == std::vector<std::string>{"busy", "busy", "no key", "works"});
}

TEST_CASE("Beast's own error codes say that the connection ended, or nothing") {
  const auto classifier = planb::http_classifier(planb::ContentRefusal::abort);
  const auto verdict_of = [&](const beast::error_code& code) { return classifier(planb::Cause::of(code)); };
  // Its own timeout is equal to nothing of the standard's: a wrapper has to say it.
  CHECK(verdict_of(beast::error::timeout).failure_class == planb::FailureClass::unknown);
  CHECK(verdict_of(boost::system::errc::make_error_code(boost::system::errc::timed_out)).failure_class ==
        planb::FailureClass::timeout);
  CHECK(verdict_of(boost::system::errc::make_error_code(boost::system::errc::connection_reset)).failure_class ==
        planb::FailureClass::connection);
  CHECK(verdict_of(http::error::bad_version).failure_class == planb::FailureClass::unknown);
}
