// libcurl's results, by themselves and from a real transfer: which of them are worth another try.
#include "../../examples/error_codes/curl.hpp"

#include "catch.hpp"
#include "results.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::FailureClass;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;
using Outcome = results::Outcome<std::string, CURLcode>;

const auto classifier = planb::http_classifier<CURLcode>(planb::ContentRefusal::abort);

FailureClass class_of(CURLcode code) { return classifier(planb::Cause::of(code)).failure_class; }

CURLcode transfer(const std::string& url) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), &curl_easy_cleanup);
  REQUIRE(easy != nullptr);
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  return curl_easy_perform(easy.get());
}

const planb::ExecutionPlan<std::string> plan =
    planb::ExecutionPlan<std::string>{
        {.name = "nobody", .provide = "http://127.0.0.1:1/", .attempts = 2, .schedule = planb::spaced(1s)},
        {.name = "nonsense", .provide = "nonsense://127.0.0.1/", .attempts = 2},
        {.name = "works", .provide = ""},
    }
        .with_classifier(classifier);

}  // namespace

TEST_CASE("curl's results are connection errors, timeouts, or neither") {
  for (const CURLcode code : {CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT,
                              CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
                              CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM, CURLE_NO_CONNECTION_AVAILABLE}) {
    CAPTURE(curl_easy_strerror(code));
    CHECK(class_of(code) == FailureClass::connection);
    CHECK(classifier(planb::Cause::of(code)).action == planb::Action::retry);
  }
  CHECK(class_of(CURLE_OPERATION_TIMEDOUT) == FailureClass::timeout);
  for (const CURLcode code : {CURLE_UNSUPPORTED_PROTOCOL, CURLE_URL_MALFORMAT, CURLE_PEER_FAILED_VERIFICATION,
                              CURLE_OUT_OF_MEMORY, CURLE_ABORTED_BY_CALLBACK, CURLE_TOO_MANY_REDIRECTS}) {
    CAPTURE(curl_easy_strerror(code));
    CHECK(class_of(code) == FailureClass::unknown);
    CHECK(classifier(planb::Cause::of(code)).action == planb::Action::next_step);
  }
}

TEST_CASE("a transfer's result is thrown as it is, within a system_error, or returned") {
  const AttemptLog log;
  VirtualClock clock;
  const planb::RunOptions options{.on_event = log, .clock = &clock};
  const auto check = [&] {
    CHECK(log.names() == std::vector<std::string>{"nobody", "nobody", "nonsense", "works"});
    const std::vector<planb::AttemptFailure> failures = log.of<planb::AttemptFailure>();
    CHECK(failures.front().cause.message().find("onnect") != std::string::npos);
  };
  SECTION("as it is") {
    const auto call = [](const std::string& url) -> std::string {
      const CURLcode code = url.empty() ? CURLE_OK : transfer(url);
      return code == CURLE_OK ? "answer" : throw code;
    };
    CHECK(planb::run_with_plan(plan, call, options) == "answer");
    CHECK(log.names() == std::vector<std::string>{"nobody", "nobody", "nonsense", "works"});
  }
  SECTION("within a system_error") {
    const auto call = [](const std::string& url) -> std::string {
      const CURLcode code = url.empty() ? CURLE_OK : transfer(url);
      return code == CURLE_OK ? "answer" : throw std::system_error(code);
    };
    CHECK(planb::run_with_plan(plan, call, options) == "answer");
    check();
  }
  SECTION("returned") {
    const auto call = [](const std::string& url) -> Outcome {
      const CURLcode code = url.empty() ? CURLE_OK : transfer(url);
      if (code != CURLE_OK) return code;
      return std::string("answer");
    };
    Outcome answer = planb::run_with_plan(plan, call, options);
    REQUIRE(answer.has_value());
    CHECK(*answer == "answer");
    check();
  }
}
