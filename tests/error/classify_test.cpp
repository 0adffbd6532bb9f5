#include <planb/error/http_classifier.hpp>

#include <planb/error/accepting.hpp>
#include <planb/plan/plan.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/run.hpp>
#include <planb/testing.hpp>

#include "catch.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <future>
#include <ios>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

template <>
struct Catch::StringMaker<planb::Verdict> {
  static std::string convert(planb::Verdict verdict) {
    const char* const names[] = {"retry", "next_step", "next_guarded", "abort"};
    return std::string(names[static_cast<int>(verdict.action)]) + (verdict.alert ? " (alert)" : "");
  }
};

namespace {

using namespace std::chrono_literals;
using planb::Action;
using planb::Cause;
using planb::CauseKind;
using planb::Classifier;
using planb::ContentRefusal;
using planb::ExecutionPlan;
using planb::FailureClass;
using planb::http_classifier;
using planb::ProviderError;
using planb::Verdict;
using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;
using Names = std::vector<std::string>;

constexpr Verdict retry_here{Action::retry};
constexpr Verdict next_step{Action::next_step};
constexpr Verdict next_and_alert{Action::next_step, true};
constexpr Verdict next_guarded{Action::next_guarded};
constexpr Verdict end_of_run{Action::abort};
constexpr Verdict of_refusal{Action::abort, true};  // told from what the table says of requests

// The classifier of most tests: its refusals answer with a verdict of their own.
planb::HttpClassifier<> http() { return http_classifier(ContentRefusal::next_step); }

template <class E>
Cause thrown(E error) {
  return Cause::of(std::make_exception_ptr(std::move(error)));
}

template <class E>
Cause refused(E value) {
  Cause cause = Cause::of(std::move(value));
  planb::detail::CauseAccess::set_rejected(cause);
  return cause;
}

Cause late(Cause cause) {
  planb::detail::CauseAccess::set_kind(cause, CauseKind::timeout);
  return cause;
}

// What the classifier says of an error, which must not depend on how the error came.
template <class C, class E>
Verdict verdict_on(const C& classifier, const E& error) {
  const Verdict verdict = classifier(Cause::of(error));
  CHECK(classifier(thrown(error)) == verdict);
  return verdict;
}

ProviderError provider_error(int status, std::string code = {}, std::string message = {}) {
  return ProviderError(status, std::move(message), std::move(code));
}

struct LlmError {
  int status = 0;
  std::string code;
  std::optional<planb::Duration> retry_after;
  std::string message;
};

// Readers that throw.
struct NoStatus {
  [[nodiscard]] int status() const { throw std::runtime_error("no status"); }
  std::string code = "insufficient_quota";
};
struct NoCode : std::exception {
  int status = 503;
  [[nodiscard]] std::string code() const { throw 1; }
};
struct NoSystemCode : std::exception {
  int status = 0;
  [[nodiscard]] std::error_code code() const { throw 1; }
};
struct NoWord {
  int status = 503;
  [[nodiscard]] std::optional<bool> retryable() const { throw 1; }
};

// Derives from std::exception, as most do.
class HttpFailure : public std::runtime_error {
 public:
  explicit HttpFailure(int status) : std::runtime_error("HTTP failure"), status_(status) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

// A transfer library's: no status, and a number for what went wrong.
enum class Curl { ok, could_not_connect = 7 };
struct CurlError {
  int result = 0;
};

// One that says what went wrong with a std::error_code.
struct SocketError {
  std::error_code code;
};

struct Completion {
  std::string text;
  std::string finish_reason;
};

template <class T, class E>
class Expected {
 public:
  using value_type = T;
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Expected(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  [[nodiscard]] T& operator*() { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const { return *std::get_if<0>(&state_); }
  [[nodiscard]] E& error() { return *std::get_if<1>(&state_); }
  [[nodiscard]] const E& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, E> state_;
};

}  // namespace

template <>
struct planb::error_traits<CurlError> {
  static std::string code(const CurlError& e) { return e.result == 7 ? "connection_error" : ""; }
};

template <>
struct planb::error_traits<Curl> {
  static std::string code(Curl e) { return e == Curl::could_not_connect ? "connection_error" : ""; }
};

template <>
struct planb::error_traits<Completion> {
  static const std::string& code(const Completion& c) { return c.finish_reason; }
};

// What a refusal means has to be said.
template <class... Args>
concept MakesClassifier = requires(Args... args) { http_classifier(args...); };
static_assert(MakesClassifier<ContentRefusal>);
static_assert(!MakesClassifier<>);
static_assert(!std::is_default_constructible_v<planb::HttpClassifier<>>);
static_assert(!std::is_convertible_v<ContentRefusal, planb::HttpClassifier<>>);
static_assert(std::is_convertible_v<planb::HttpClassifier<>, Classifier>);
static_assert(std::is_convertible_v<planb::HttpClassifier<LlmError, CurlError>, Classifier>);

// --- The table
// --------------------------------------------------------------------------------------------------------

namespace {

struct StatusRow {
  std::vector<int> statuses;
  Verdict verdict;
  FailureClass failure_class;
};

// As it is written, row by row.
const std::vector<StatusRow>& status_rows() {
  static const std::vector<StatusRow> rows{
      {{520, 521, 522, 523, 525, 526, 530}, retry_here, FailureClass::connection},
      {{408, 504, 524}, retry_here, FailureClass::timeout},
      {{429}, retry_here, FailureClass::rate_limited},
      {{503, 529}, retry_here, FailureClass::overloaded},
      {{500, 502}, retry_here, FailureClass::server_error},
      {{409, 425}, retry_here, FailureClass::conflict},
      {{402}, next_and_alert, FailureClass::quota},
      {{401, 403}, next_and_alert, FailureClass::auth},
      {{501, 505}, next_step, FailureClass::server_error},
      {{404, 410}, next_and_alert, FailureClass::not_found},
      {{413}, next_guarded, FailureClass::context_too_long},
      {{400, 405, 415, 422}, end_of_run, FailureClass::invalid_request},
  };
  return rows;
}

StatusRow row_of(int status) {
  for (const StatusRow& row : status_rows()) {
    for (const int one : row.statuses) {
      if (one == status) return row;
    }
  }
  if (status >= 500 && status <= 599) return {{status}, retry_here, FailureClass::server_error};
  return {{status}, next_step, FailureClass::unknown};
}

// What a classifier says of an error, its class too, however the error came.
template <class C, class E>
void check_said(const C& classifier, const E& error, Verdict verdict, FailureClass failure_class) {
  for (const Cause& cause : {Cause::of(error), thrown(error)}) {
    const Verdict said = classifier(cause);
    CHECK(said == verdict);
    CHECK(std::string(to_string(said.failure_class)) == to_string(failure_class));
  }
}

}  // namespace

TEST_CASE("every status from 100 to 599 has its verdict and its class") {
  // What a plan makes of it: alpha tries twice if it may, gamma is guarded and accepts everything.
  const auto sequence = [](Verdict verdict) -> Names {
    switch (verdict.action) {
      case Action::retry: return {"alpha", "alpha", "beta"};
      case Action::next_step: return {"alpha", "beta"};
      case Action::next_guarded: return {"alpha", "gamma"};
      case Action::abort: break;
    }
    return {"alpha"};
  };
  const ExecutionPlan<int> plan =
      ExecutionPlan<int>{
          {.name = "alpha", .provide = [] { return 0; }, .attempts = 2},
          {.name = "beta", .provide = [] { return 1; }},
          {.name = "gamma", .provide = [] { return 2; }, .enter_when = [](const Cause&) { return true; }},
      }
          .with_classifier(http());
  for (int status = 100; status != 600; ++status) {
    INFO("status " << status);
    const StatusRow row = row_of(status);
    check_said(http(), provider_error(status), row.verdict, row.failure_class);

    const bool aborts = row.verdict.action == Action::abort;
    const AttemptLog throwing;
    const auto by_throw = try_run_with_plan(
        plan, [&](int step) { return step == 0 ? throw provider_error(status) : step; }, {.on_event = throwing});
    const AttemptLog returning;
    const auto by_return =
        try_run_with_plan(plan,
                          [&](int step) {
                            return step == 0 ? Expected<int, LlmError>(LlmError{status, {}, {}, {}}) : step;
                          },
                          {.on_event = returning});
    CHECK(throwing.names() == sequence(row.verdict));
    CHECK(returning.names() == sequence(row.verdict));
    CHECK(by_throw.has_value() == !aborts);
    CHECK(by_return.has_value() == !aborts);
    CHECK(by_throw.report().steps[0].alert == row.verdict.alert);
    CHECK(by_return.report().steps[0].alert == row.verdict.alert);
  }
}

TEST_CASE("statuses outside of 100 to 599 are unknown") {
  for (const int status : {1, 99, 600, 999, 4000}) {
    INFO("status " << status);
    check_said(http(), provider_error(status), next_step, FailureClass::unknown);
  }
}

namespace {

struct CodeRow {
  std::vector<std::string> codes;
  Verdict verdict;
  FailureClass failure_class;
};

// The codes that decide whatever status comes with them.
const std::vector<CodeRow>& telling_rows() {
  static const std::vector<CodeRow> rows{
      {{"rate_limit", "rate_limit_error", "rate_limit_exceeded", "rate_limited", "rate_limits_hit", "too_many_requests",
        "throttled", "throttling", "throttling_exception", "request_throttled_exception", "request_limit_exceeded",
        "slow_down"},
       retry_here,
       FailureClass::rate_limited},
      {{"overloaded", "overloaded_error", "server_overloaded", "server_is_overloaded", "model_overloaded",
        "service_unavailable", "unavailable", "server_busy"},
       retry_here,
       FailureClass::overloaded},
      {{"insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted", "spend_limit_reached",
        "monthly_spend_limit_exceeded", "spending_limit_exceeded", "quota_exceeded", "quota_exhausted", "billing_error",
        "billing_not_active", "credit_balance_too_low", "insufficient_credits", "no_credit"},
       next_and_alert,
       FailureClass::quota},
      {{"invalid_api_key", "api_key_invalid"}, next_and_alert, FailureClass::auth},
      {{"model_not_found", "deployment_not_found"}, next_and_alert, FailureClass::not_found},
      {{"context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded"},
       next_guarded,
       FailureClass::context_too_long},
      {{"content_filter", "content_policy_violation", "content_filtered", "responsible_ai_policy_violation",
        "guardrail_intervened", "moderation_blocked", "prohibited_content", "refusal", "safety"},
       next_step,
       FailureClass::content_refused},
  };
  return rows;
}

// Those that say no more than a status.
const std::vector<CodeRow>& stand_in_rows() {
  static const std::vector<CodeRow> rows{
      {{"timeout_error", "deadline_exceeded"}, retry_here, FailureClass::timeout},
      {{"resource_exhausted"}, retry_here, FailureClass::rate_limited},
      {{"server_error", "internal_server_error", "internal_error", "internal", "internal_failure_exception",
        "api_error"},
       retry_here,
       FailureClass::server_error},
      {{"authentication_error", "authentication_failed", "unauthenticated", "permission_error", "permission_denied"},
       next_and_alert,
       FailureClass::auth},
      {{"not_found_error"}, next_and_alert, FailureClass::not_found},
      {{"request_too_large"}, next_guarded, FailureClass::context_too_long},
      {{"invalid_request_error", "invalid_argument"}, end_of_run, FailureClass::invalid_request},
  };
  return rows;
}

// A code in snake_case, and as others write it.
std::vector<std::string> spellings(const std::string& code) {
  std::vector<std::string> all{code, {}, {}, {}, {}, {}, {}};
  bool begins = true;
  for (const char c : code) {
    if (c == '_') {
      all[1] += '-';
      all[2] += ' ';
      all[3] += '_';
      begins = true;
      continue;
    }
    const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    all[1] += c;                                      // kebab-case
    all[2] += begins ? upper : c;                     // Title Case
    all[3] += upper;                                  // UPPER_CASE
    all[4] += c;                                      // wordsTogether
    all[5] += begins ? upper : c;                     // CamelCase
    all[6] += begins && !all[6].empty() ? upper : c;  // camelCase
    begins = false;
  }
  return all;
}

}  // namespace

TEST_CASE("a telling code decides whatever status comes with it, in every spelling") {
  for (const CodeRow& row : telling_rows()) {
    for (const std::string& code : row.codes) {
      for (const std::string& spelled : spellings(code)) {
        INFO("code " << spelled);
        for (const int status : {0, 200, 400, 401, 402, 403, 404, 409, 413, 418, 422, 429, 500, 501, 503, 504, 521}) {
          check_said(http(), provider_error(status, spelled), row.verdict, row.failure_class);
        }
      }
    }
  }
}

TEST_CASE("a code that says no more than a status stands in where there is none, and only there") {
  for (const CodeRow& row : stand_in_rows()) {
    for (const std::string& code : row.codes) {
      for (const std::string& spelled : spellings(code)) {
        INFO("code " << spelled);
        check_said(http(), provider_error(0, spelled), row.verdict, row.failure_class);
        for (const int status : {200, 400, 401, 402, 403, 404, 409, 413, 418, 422, 429, 500, 501, 503, 504, 521}) {
          check_said(http(), provider_error(status, spelled), row_of(status).verdict, row_of(status).failure_class);
        }
      }
    }
  }
}

TEST_CASE("of two codes of the table an exact one comes before a pattern, and then the upper row") {
  struct Code {
    const char* code;
    FailureClass failure_class;
  };
  for (const Code& c : std::vector<Code>{{"rate_limit_on_credit", FailureClass::rate_limited},
                                         {"throttled_by_spend_limit", FailureClass::rate_limited},
                                         {"credit_service_overloaded", FailureClass::overloaded},
                                         {"internal_billing_error", FailureClass::server_error},
                                         {"billing_authentication_error", FailureClass::quota},
                                         {"permission_to_throttle", FailureClass::rate_limited}}) {
    INFO("code " << c.code);
    CHECK(http()(Cause::of(provider_error(0, c.code))).failure_class == c.failure_class);
  }
  // Beside a status only the telling ones are asked.
  CHECK(http()(Cause::of(provider_error(400, "internal_billing_error"))).failure_class == FailureClass::quota);
}

TEST_CASE("a rate limit is not an empty account") {
  for (const char* const code : {"rate_limit_exceeded", "rate_limit_error", "tokens", "requests", "too_many_requests",
                                 "resource_exhausted", "slow_down"}) {
    INFO("code " << code);
    CHECK(verdict_on(http(), provider_error(429, code)) == retry_here);
  }
}

TEST_CASE("a refusal is what the caller decided, whatever the status") {
  for (const char* const code :
       {"content_filter", "content_policy_violation", "content_filtered", "responsible_ai_policy_violation",
        "guardrail_intervened", "moderation_blocked", "prohibited_content", "refusal", "safety"}) {
    INFO("code " << code);
    for (const int status : {0, 200, 400, 403, 422, 429, 500}) {
      CHECK(verdict_on(http_classifier(ContentRefusal::next_step), provider_error(status, code)) == next_step);
      CHECK(verdict_on(http_classifier(ContentRefusal::next_guarded), provider_error(status, code)) == next_guarded);
      CHECK(verdict_on(http_classifier(ContentRefusal::abort), provider_error(status, code)) == end_of_run);
    }
  }
}

TEST_CASE("a code that the table does not know leaves the status to speak") {
  for (const char* const code :
       {"string_above_max_length", "context", "length", "stop", "quota", "safety_first", "the_content_filter",
        "content_filter_2", "too_many", "limit_exceeded", "overload", "unavailable_model", "author", "error"}) {
    INFO("code " << code);
    for (const int status : {400, 401, 403, 404, 413, 418, 429, 500, 501, 503, 522}) {
      check_said(http(), provider_error(status, code), row_of(status).verdict, row_of(status).failure_class);
    }
    check_said(http(), provider_error(0, code), next_step, FailureClass::unknown);
  }
}

// --- The kind of an error
// ---------------------------------------------------------------------------------------------

TEST_CASE("a connection that failed is retried, thrown or returned, from either category") {  // [field-22]
  for (const std::errc code :
       {std::errc::connection_refused, std::errc::connection_reset, std::errc::connection_aborted,
        std::errc::not_connected, std::errc::broken_pipe, std::errc::timed_out,
        std::errc::resource_unavailable_try_again, std::errc::operation_would_block, std::errc::host_unreachable,
        std::errc::network_unreachable, std::errc::network_down, std::errc::network_reset}) {
    const std::error_code generic = std::make_error_code(code);
    INFO(generic.message());
    CHECK(verdict_on(http(), std::system_error(generic)) == retry_here);
    CHECK(http()(Cause::of(generic)) == retry_here);
#ifndef _WIN32
    const std::error_code system(generic.value(), std::system_category());
    CHECK(verdict_on(http(), std::system_error(system, "connect")) == retry_here);
    CHECK(http()(Cause::of(system)) == retry_here);
#endif
    CHECK(http()(Cause::of(std::make_error_condition(code))) == retry_here);
    CHECK(http()(Cause::of(code)) == retry_here);
  }
#ifdef _WIN32  // the sockets' own numbers, from WSAEWOULDBLOCK to WSAEHOSTUNREACH
  for (const int code : {10035, 10050, 10051, 10052, 10053, 10054, 10057, 10060, 10061, 10064, 10065}) {
    INFO(code);
    const std::error_code system(code, std::system_category());
    CHECK(verdict_on(http(), std::system_error(system, "connect")) == retry_here);
    CHECK(http()(Cause::of(system)) == retry_here);
    CHECK(http()(Cause::of(std::error_code(code, std::generic_category()))) != retry_here);
  }
  CHECK(http()(Cause::of(std::error_code(10013, std::system_category()))) != retry_here);  // WSAEACCES
#elif defined(EHOSTDOWN)
  for (const std::error_category* const category : {&std::system_category(), &std::generic_category()}) {
    const std::error_code down(EHOSTDOWN, *category);
    CHECK(verdict_on(http(), std::system_error(down)) == retry_here);
    CHECK(http()(Cause::of(down)) == retry_here);
  }
#endif
}

TEST_CASE("a connection that failed stays one, whatever ran out of time within it") {
  struct Nesting : std::nested_exception {
    std::error_code code = std::make_error_code(std::errc::connection_refused);
  };
  try {
    throw planb::AttemptTimeout();
  } catch (...) {
    const Cause cause = Cause::of(Nesting());
    CHECK(http()(cause).failure_class == FailureClass::connection);
    CHECK(http().on_timeout(end_of_run).on_connection(next_and_alert)(cause) == next_and_alert);
  }
}

TEST_CASE("a system error that is not about a connection is unknown") {
  for (const std::errc code : {std::errc::permission_denied, std::errc::no_such_file_or_directory,
                               std::errc::not_enough_memory, std::errc::invalid_argument, std::errc::no_space_on_device,
                               std::errc::operation_canceled, std::errc::too_many_files_open}) {
    INFO(std::make_error_code(code).message());
    CHECK(verdict_on(http(), std::system_error(std::make_error_code(code))) == next_step);
    CHECK(http()(Cause::of(std::make_error_code(code))) == next_step);
    CHECK(http()(Cause::of(code)) == next_step);
  }
  CHECK(http()(Cause::of(std::error_code())) == next_step);
  CHECK(http()(thrown(std::filesystem::filesystem_error("open", std::make_error_code(std::errc::permission_denied)))) ==
        next_step);
  CHECK(http()(thrown(std::ios_base::failure("read", std::make_error_code(std::io_errc::stream)))) == next_step);
}

TEST_CASE("a provider's error with neither status nor code is a connection that failed") {
  CHECK(verdict_on(http(), ProviderError("could not resolve host")) == retry_here);
  CHECK(verdict_on(http(), provider_error(-1)) == retry_here);
}

TEST_CASE("what nothing reads is unknown: the step is left, without hammering and without stopping") {
  CHECK(http()(Cause()) == next_step);
  CHECK(http()(thrown(std::future_error(std::future_errc::broken_promise))) == next_step);
  CHECK(http()(thrown(std::future_error(std::future_errc::no_state))) == next_step);
  CHECK(http()(thrown(std::runtime_error("503 service unavailable"))) == next_step);
  CHECK(http()(thrown(std::logic_error("timeout"))) == next_step);
  CHECK(http()(thrown(std::bad_alloc())) == next_step);
  CHECK(http()(thrown(42)) == next_step);
  CHECK(http()(thrown(503)) == next_step);
  CHECK(http()(thrown(std::string("connection reset"))) == next_step);
  CHECK(http()(Cause::of(503)) == next_step);
  CHECK(http()(Cause::of(std::string("insufficient_quota"))) == next_step);
}

TEST_CASE("a timeout is retried, unless the error that it left says something else") {
  CHECK(http()(Cause::timed_out()) == retry_here);
  CHECK(http()(late(thrown(std::runtime_error("operation aborted")))) == retry_here);
  CHECK(http()(late(thrown(42))) == retry_here);
  CHECK(http()(late(thrown(provider_error(0)))) == retry_here);
  CHECK(http()(late(thrown(provider_error(503)))) == retry_here);
  CHECK(http()(late(thrown(provider_error(418)))) == retry_here);  // unknown to the table
  CHECK(http()(late(Cause::of(std::make_error_code(std::errc::operation_canceled)))) == retry_here);

  CHECK(http()(late(thrown(provider_error(401)))) == next_and_alert);
  CHECK(http()(late(thrown(provider_error(400)))) == end_of_run);
  CHECK(http()(late(thrown(provider_error(429, "insufficient_quota")))) == next_and_alert);
  CHECK(http()(late(Cause::of(LlmError{0, "context_length_exceeded", {}, {}}))) == next_guarded);
}

TEST_CASE("an error that no handler for std::exception takes is read as the ProviderError that it is, too") {
  struct Two : ProviderError, std::logic_error {
    explicit Two(int s) : ProviderError(s, "two"), std::logic_error("two") {}
  };
  CHECK(http()(thrown(Two(401))) == next_and_alert);
  CHECK(http()(thrown(Two(400))) == end_of_run);
  CHECK(http()(thrown(Two(0))) == retry_here);  // nobody answered
}

TEST_CASE("verdicts are the same where the same is to be done") {
  CHECK(next_step == Verdict{Action::next_step, false, FailureClass::quota});
  CHECK(next_step != next_and_alert);
  CHECK(next_step != retry_here);
}

TEST_CASE("a bug in the program and a cancellation are nobody's error to be retried") {
  CHECK(http()(thrown(planb::Defect("broken invariant"))) == end_of_run);
  CHECK(http()(thrown(planb::Defect("broken invariant"))).failure_class == FailureClass::unknown);
  Cause interrupted = thrown(provider_error(503));
  planb::detail::CauseAccess::set_kind(interrupted, CauseKind::interrupted);
  CHECK(http()(interrupted) == end_of_run);
}

TEST_CASE("connections and timeouts have their classes") {
  using Errc = std::errc;
  for (const Errc code : {Errc::connection_refused, Errc::connection_reset, Errc::connection_aborted,
                          Errc::not_connected, Errc::broken_pipe, Errc::host_unreachable, Errc::network_unreachable,
                          Errc::network_down, Errc::network_reset}) {
    INFO(std::make_error_code(code).message());
    check_said(http(), std::system_error(std::make_error_code(code)), retry_here, FailureClass::connection);
    check_said(http(), std::make_error_code(code), retry_here, FailureClass::connection);
    check_said(http(), std::make_error_condition(code), retry_here, FailureClass::connection);
    check_said(http(), code, retry_here, FailureClass::connection);
  }
  for (const Errc code : {Errc::timed_out, Errc::operation_would_block, Errc::resource_unavailable_try_again}) {
    INFO(std::make_error_code(code).message());
    check_said(http(), std::system_error(std::make_error_code(code)), retry_here, FailureClass::timeout);
    check_said(http(), std::make_error_code(code), retry_here, FailureClass::timeout);
    check_said(http(), std::make_error_condition(code), retry_here, FailureClass::timeout);
    check_said(http(), code, retry_here, FailureClass::timeout);
  }
  for (const Errc code : {Errc::permission_denied, Errc::invalid_argument}) {
    INFO(std::make_error_code(code).message());
    check_said(http(), std::system_error(std::make_error_code(code)), next_step, FailureClass::unknown);
    check_said(http(), std::make_error_code(code), next_step, FailureClass::unknown);
    check_said(http(), std::make_error_condition(code), next_step, FailureClass::unknown);
    check_said(http(), code, next_step, FailureClass::unknown);
  }
  check_said(http(), std::io_errc::stream, next_step, FailureClass::unknown);
  check_said(http(), std::future_errc::broken_promise, next_step, FailureClass::unknown);
  CHECK(http()(Cause::timed_out()).failure_class == FailureClass::timeout);
  CHECK(http()(late(thrown(42))).failure_class == FailureClass::timeout);
  CHECK(http()(late(thrown(provider_error(503)))).failure_class == FailureClass::overloaded);
  check_said(http(), ProviderError("no route"), retry_here, FailureClass::connection);
  check_said(http(), planb::AttemptTimeout(), retry_here, FailureClass::timeout);
  check_said(http(), std::runtime_error("odd"), next_step, FailureClass::unknown);
  CHECK(http()(Cause()).failure_class == FailureClass::unknown);
}

namespace {

// A transfer library's enumeration of what went wrong.
enum class TransferErrc { ok, no_route, too_slow, bad_certificate };

class TransferCategory final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "transfer"; }
  [[nodiscard]] std::string message(int) const override { return "transfer"; }
  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    if (value == 1) return std::errc::host_unreachable;
    if (value == 2) return std::errc::timed_out;
    return {value, *this};
  }
};

std::error_code make_error_code(TransferErrc e) {
  static const TransferCategory category;
  return {static_cast<int>(e), category};
}

struct TransferFailure {
  TransferErrc code;
};

}  // namespace

template <>
struct std::is_error_code_enum<TransferErrc> : std::true_type {};

TEST_CASE("enumerations of error codes are read as the codes") {
  const auto named = http_classifier<TransferErrc, TransferFailure>(ContentRefusal::abort);
  check_said(named, TransferErrc::no_route, retry_here, FailureClass::connection);
  check_said(named, TransferErrc::too_slow, retry_here, FailureClass::timeout);
  check_said(named, TransferErrc::bad_certificate, next_step, FailureClass::unknown);
  check_said(named, TransferFailure{TransferErrc::no_route}, retry_here, FailureClass::connection);
  check_said(named, TransferFailure{TransferErrc::too_slow}, retry_here, FailureClass::timeout);
  check_said(named, TransferFailure{TransferErrc::bad_certificate}, next_step, FailureClass::unknown);
  check_said(http(), std::system_error(make_error_code(TransferErrc::no_route)), retry_here, FailureClass::connection);
  check_said(http(), make_error_code(TransferErrc::too_slow), retry_here, FailureClass::timeout);
  // A returned error needs no name.
  CHECK(http()(Cause::of(TransferErrc::no_route)).failure_class == FailureClass::connection);
  CHECK(http()(Cause::of(TransferFailure{TransferErrc::too_slow})).failure_class == FailureClass::timeout);
  CHECK(http()(Cause::of(SocketError{std::make_error_code(std::errc::connection_reset)})) == retry_here);
}

// --- Through what wraps an error
// --------------------------------------------------------------------------------------

namespace {

template <class Inner>
Cause wrapped(const Inner& inner) {
  try {
    try {
      throw inner;
    } catch (...) {
      std::throw_with_nested(std::runtime_error("request failed"));
    }
  } catch (...) {
    return Cause::current();
  }
}

template <class Outer, class Inner>
Cause wrapped_as(const Outer& outer, const Inner& inner) {
  try {
    try {
      throw inner;
    } catch (...) {
      std::throw_with_nested(outer);
    }
  } catch (...) {
    return Cause::current();
  }
}

struct Fault {
  const char* what;
  Behaviour behaviour;
  Verdict verdict;
  FailureClass failure_class;
};

}  // namespace

TEST_CASE("an error is read through what wraps it") {
  const auto named = http_classifier<LlmError, HttpFailure>(ContentRefusal::abort);
  const auto check_cause = [&](const Cause& cause, Verdict verdict, FailureClass failure_class) {
    CHECK(named(cause) == verdict);
    CHECK(std::string(to_string(named(cause).failure_class)) == to_string(failure_class));
  };
  check_cause(wrapped(provider_error(400)), end_of_run, FailureClass::invalid_request);
  check_cause(wrapped(provider_error(403, "rateLimitExceeded")), retry_here, FailureClass::rate_limited);
  check_cause(wrapped(provider_error(0, "insufficient_quota")), next_and_alert, FailureClass::quota);
  check_cause(wrapped(HttpFailure(404)), next_and_alert, FailureClass::not_found);
  check_cause(wrapped(LlmError{413, {}, {}, {}}), next_guarded, FailureClass::context_too_long);
  check_cause(wrapped(ProviderError("no route")), retry_here, FailureClass::connection);
  check_cause(wrapped(LlmError{}), retry_here, FailureClass::connection);
  check_cause(wrapped(std::system_error(std::make_error_code(std::errc::connection_reset))), retry_here,
              FailureClass::connection);
  check_cause(wrapped(std::system_error(std::make_error_code(std::errc::timed_out))), retry_here,
              FailureClass::timeout);
  check_cause(wrapped(std::errc::connection_refused), retry_here, FailureClass::connection);
  check_cause(wrapped(planb::AttemptTimeout()), retry_here, FailureClass::timeout);
  check_cause(wrapped(std::runtime_error("503")), next_step, FailureClass::unknown);
  check_cause(wrapped(42), next_step, FailureClass::unknown);

  // The outermost that says something.
  check_cause(wrapped_as(provider_error(503), provider_error(400)), retry_here, FailureClass::overloaded);
  check_cause(wrapped_as(HttpFailure(401), provider_error(400)), next_and_alert, FailureClass::auth);
  check_cause(wrapped_as(ProviderError("failed"), HttpFailure(400)), end_of_run, FailureClass::invalid_request);
  check_cause(wrapped_as(ProviderError("failed"), std::system_error(std::make_error_code(std::errc::timed_out))),
              retry_here, FailureClass::timeout);
  check_cause(wrapped_as(ProviderError("failed"), std::runtime_error("odd")), retry_here, FailureClass::connection);
}

TEST_CASE("a plan within a plan fails as its last error, in each style") {
  const VirtualClock clock;
  for (const Fault& c : std::vector<Fault>{
           {"a status", Behaviour::status(429), retry_here, FailureClass::rate_limited},
           {"a code", Behaviour::status(400).code("content_filter"), next_step, FailureClass::content_refused},
           {"a connection", Behaviour::throws(ProviderError("no route")), retry_here, FailureClass::connection},
           {"a system error", Behaviour::throws(std::system_error(std::make_error_code(std::errc::broken_pipe))),
            retry_here, FailureClass::connection},
           {"nothing", Behaviour::throws(42), next_step, FailureClass::unknown},
       }) {
    INFO(c.what);
    for (const planb::FailureStyle style : {planb::FailureStyle::aggregate, planb::FailureStyle::original}) {
      const ExecutionPlan<FakeProvider> inner{{.name = "inner", .provide = FakeProvider("inner", {c.behaviour})}};
      const ExecutionPlan<int> outer{{.name = "outer", .provide = 1, .classify = http()}};
      const AttemptLog log;
      static_cast<void>(try_run_with_plan(
          outer, [&](int) { return run_with_plan(inner, [](FakeProvider& p) { return p(); }, {.failure = style}); },
          {.on_event = log}));
      const auto failures = log.of<planb::AttemptFailure>();
      REQUIRE(failures.size() == 1);
      CHECK(http()(failures[0].cause) == c.verdict);
      CHECK(std::string(to_string(http()(failures[0].cause).failure_class)) == to_string(c.failure_class));
    }
  }
}

#if PLANB_HAS_STOP_TOKEN
TEST_CASE("a plan within a plan whose last attempt ran out of time fails as a timeout") {
  VirtualClock clock;
  const ExecutionPlan<FakeProvider> inner{
      {.name = "inner", .provide = FakeProvider("inner", {Behaviour::value("late").after(1h)}, &clock), .timeout = 1s}};
  const auto call = [&](int) {
    return run_with_plan(
        inner, [](FakeProvider& p, const planb::Attempt& attempt) { return p.complete("hi", attempt.stop_token()); },
        {.clock = &clock});
  };
  const AttemptLog log;
  const ExecutionPlan<int> outer{{.name = "outer", .provide = 1, .classify = http()}};
  static_cast<void>(try_run_with_plan(outer, call, {.on_event = log, .clock = &clock}));
  const auto failures = log.of<planb::AttemptFailure>();
  REQUIRE(failures.size() == 1);
  const Cause& cause = failures[0].cause;
  CHECK(cause.kind() == CauseKind::error);
  CHECK(http()(cause) == retry_here);
  CHECK(http()(cause).failure_class == FailureClass::timeout);
  CHECK(http().on_timeout(next_step).on_connection(end_of_run)(cause) == next_step);
}
#endif

// --- The error's own word
// ---------------------------------------------------------------------------------------------

namespace {

struct OwnWord {
  int status = 0;
  std::string code;
  std::optional<bool> retryable;
};

class ThrownOwnWord : public std::runtime_error {
 public:
  ThrownOwnWord(int status, std::optional<bool> word) : std::runtime_error("own"), status_(status), word_(word) {}
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] std::optional<bool> retryable() const { return word_; }

 private:
  int status_;
  std::optional<bool> word_;
};

}  // namespace

TEST_CASE("an error's own word turns retry into next step and back, and nothing else") {
  struct Case {
    int status;
    const char* code;
    std::optional<bool> word;
    Verdict verdict;
    FailureClass failure_class;
  };
  for (const Case& c : std::vector<Case>{
           {503, "", {}, retry_here, FailureClass::overloaded},
           {503, "", true, retry_here, FailureClass::overloaded},
           {503, "", false, next_step, FailureClass::overloaded},
           {501, "", true, retry_here, FailureClass::server_error},
           {501, "", false, next_step, FailureClass::server_error},
           {401, "", true, Verdict{Action::retry, true}, FailureClass::auth},
           {401, "", false, next_and_alert, FailureClass::auth},
           {413, "", true, next_guarded, FailureClass::context_too_long},
           {413, "", false, next_guarded, FailureClass::context_too_long},
           {400, "", true, end_of_run, FailureClass::invalid_request},
           {400, "", false, end_of_run, FailureClass::invalid_request},
           {418, "", true, retry_here, FailureClass::unknown},
           {0, "odd", true, retry_here, FailureClass::unknown},
           {0, "", false, next_step, FailureClass::connection},
           {429, "insufficient_quota", true, Verdict{Action::retry, true}, FailureClass::quota},
       }) {
    INFO("status " << c.status << " " << c.code << ", word " << (c.word ? *c.word ? "true" : "false" : "none"));
    const auto named = http_classifier<OwnWord, ThrownOwnWord>(ContentRefusal::abort);
    check_said(named, OwnWord{c.status, c.code, c.word}, c.verdict, c.failure_class);
    if (*c.code == '\0') check_said(named, ThrownOwnWord(c.status, c.word), c.verdict, c.failure_class);
  }
}

TEST_CASE("an error's own word is asked after the caller's rules") {
  const auto changed =
      http_classifier<OwnWord>(ContentRefusal::next_step).on_status(503, next_and_alert).on_status(404, end_of_run);
  check_said(changed, OwnWord{503, "", true}, Verdict{Action::retry, true}, FailureClass::overloaded);
  check_said(changed, OwnWord{404, "", true}, end_of_run, FailureClass::not_found);
  check_said(changed, OwnWord{400, "content_filter", true}, retry_here, FailureClass::content_refused);
}

TEST_CASE("in a plan an error's own word keeps it from being tried again") {
  for (const std::optional<bool> word :
       {std::optional<bool>(), std::optional<bool>(true), std::optional<bool>(false)}) {
    const AttemptLog log;
    const ExecutionPlan<int> plan{{.name = "alpha",
                                   .provide = 0,
                                   .attempts = 2,
                                   .classify = http_classifier<ThrownOwnWord>(ContentRefusal::abort)},
                                  {.name = "beta", .provide = 1}};
    static_cast<void>(try_run_with_plan(
        plan, [&](int step) { return step == 0 ? throw ThrownOwnWord(503, word) : step; }, {.on_event = log}));
    CHECK(log.names() == (word == false ? Names{"alpha", "beta"} : Names{"alpha", "alpha", "beta"}));
  }
}

// --- Refused values
// ---------------------------------------------------------------------------------------------------

TEST_CASE("a refused value is read through its finish reason or status") {  // [field-23]
  const auto http_abort = http_classifier(ContentRefusal::abort);
  CHECK(http_abort(refused(Completion{"", "content_filter"})) == end_of_run);
  CHECK(http_abort(refused(Completion{"I cannot help with that.", "refusal"})) == end_of_run);
  CHECK(http()(refused(Completion{"", "content_filter"})) == next_step);
  CHECK(http()(refused(Completion{"", "model_context_window_exceeded"})) == next_guarded);
  CHECK(http()(refused(LlmError{503, {}, {}, {}})) == retry_here);
  CHECK(http()(refused(LlmError{200, {}, {}, {}})) == next_step);
}

TEST_CASE("a refused value that says nothing leaves the step") {
  CHECK(http()(refused(Completion{"", "stop"})) == next_step);
  CHECK(http()(refused(Completion{"", "length"})) == next_step);
  CHECK(http()(refused(std::string())) == next_step);
  CHECK(http()(refused(0)) == next_step);
  CHECK(http()(refused(LlmError{})) == next_step);
  CHECK(http_classifier<LlmError>(ContentRefusal::abort)(refused(LlmError{})) ==
        next_step);  // not a connection that failed
  CHECK(http().on_unknown(retry_here)(refused(std::string())) == retry_here);
}

TEST_CASE("a refused value has the class of what it says, or that of a refused value") {
  CHECK(http()(refused(Completion{"", "content_filter"})).failure_class == FailureClass::content_refused);
  CHECK(http()(refused(LlmError{503, {}, {}, {}})).failure_class == FailureClass::overloaded);
  CHECK(http()(refused(LlmError{200, {}, {}, {}})).failure_class == FailureClass::rejected_value);
  CHECK(http()(refused(Completion{"", "length"})).failure_class == FailureClass::rejected_value);
  CHECK(http()(refused(std::string())).failure_class == FailureClass::rejected_value);
  CHECK(http().on_unknown(retry_here)(refused(0)).failure_class == FailureClass::rejected_value);
}

TEST_CASE("a refused value's text is the model's, and not looked at") {
  const auto classifier = http().on_text("reset by peer", retry_here).on_text(200, "reset by peer", retry_here);
  CHECK(classifier(refused(std::string("Connection reset by peer means ..."))) == next_step);
  CHECK(classifier(refused(LlmError{200, {}, {}, "Connection reset by peer means ..."})) == next_step);
}

TEST_CASE("in a plan a refusal goes through accepting to the caller's decision") {
  const auto names = [](ContentRefusal refusal, planb::RunEnd& end) {
    const ExecutionPlan<int> plan =
        ExecutionPlan<int>{
            {.name = "alpha", .provide = [] { return 0; }, .attempts = 3},
            {.name = "beta", .provide = [] { return 1; }},
            {.name = "lenient", .provide = [] { return 2; }, .enter_when = [](const Completion&) { return true; }},
        }
            .with_classifier(http_classifier(refusal));
    const AttemptLog log;
    const auto result =
        try_run_with_plan(plan,
                          planb::accepting(
                              [](int step) {
                                return step == 0 ? Completion{"", "content_filter"} : Completion{"ok", "stop"};
                              },
                              [](const Completion& c) { return !c.text.empty(); }),
                          {.on_event = log});
    end = result.report().end;
    return log.names();
  };
  planb::RunEnd end{};
  CHECK(names(ContentRefusal::next_step, end) == Names{"alpha", "beta"});
  CHECK(end == planb::RunEnd::succeeded);
  CHECK(names(ContentRefusal::next_guarded, end) == Names{"alpha", "lenient"});
  CHECK(end == planb::RunEnd::succeeded);
  CHECK(names(ContentRefusal::abort, end) == Names{"alpha"});
  CHECK(end == planb::RunEnd::aborted);
}

// --- The caller's own error types
// -------------------------------------------------------------------------------------

TEST_CASE("a returned error of the caller's own is read through its members") {
  CHECK(http()(Cause::of(LlmError{503, {}, {}, {}})) == retry_here);
  CHECK(http()(Cause::of(LlmError{429, "insufficient_quota", {}, {}})) == next_and_alert);
  CHECK(http()(Cause::of(HttpFailure(401))) == next_and_alert);
}

TEST_CASE("a thrown error of the caller's own is read once it has been named") {  // [field-21]
  const auto named = http_classifier<LlmError, HttpFailure>(ContentRefusal::abort);
  for (const int status : {400, 401, 404, 413, 429, 501, 503}) {
    INFO("status " << status);
    CHECK(verdict_on(named, LlmError{status, {}, {}, {}}) == http()(Cause::of(provider_error(status))));
    CHECK(verdict_on(named, HttpFailure(status)) == http()(Cause::of(provider_error(status))));
  }
  CHECK(verdict_on(named, LlmError{400, "content_filter", {}, {}}) == end_of_run);
  CHECK(http()(thrown(LlmError{503, {}, {}, {}})) == next_step);
  CHECK(http()(thrown(HttpFailure(401))) == next_step);
}

TEST_CASE("a named error that can have a status and has neither status nor code is a connection that failed") {
  const auto named = http_classifier<LlmError, HttpFailure, CurlError, SocketError>(ContentRefusal::abort);
  CHECK(verdict_on(named, LlmError{0, {}, {}, "could not connect"}) == retry_here);
  CHECK(verdict_on(named, HttpFailure(0)) == retry_here);
  CHECK(verdict_on(named, LlmError{0, "odd", {}, {}}) == next_step);
  CHECK(verdict_on(named, CurlError{3}) == next_step);  // it cannot have one, so its absence says nothing
}

TEST_CASE("however a type is named, where it can have a status and has neither that nor a code nobody answered") {
  struct Named {
    const char* how;
    ExecutionPlan<int> plan;
  };
  const auto asks = [](const LlmError&) { return true; };
  const Named ways[] = {
      {"in the classifier",
       {{.provide = 1, .attempts = 2, .classify = http_classifier<LlmError>(ContentRefusal::abort)}}},
      {"in a retry_while", {{.provide = 1, .attempts = 2, .retry_while = asks, .classify = http()}}},
      {"elsewhere", {{.provide = 1, .attempts = 2, .classify = http()}, {.provide = 2, .enter_when = asks}}},
  };
  std::optional<Verdict> verdict;
  const auto keep = [&](const planb::AttemptFailure& f) {
    if (f.step_index == 0) verdict = f.verdict;
  };
  for (const Named& way : ways) {
    CAPTURE(way.how);
    for (const char* const code : {"", "odd"}) {
      verdict.reset();
      static_cast<void>(planb::try_run_with_plan(
          way.plan, [&](int&) -> int { throw LlmError{0, code, {}, {}}; }, {.on_event = keep}));
      REQUIRE(verdict);
      CHECK((verdict->failure_class == FailureClass::connection) == (*code == '\0'));
    }
  }
  struct Client {
    using error_type [[maybe_unused]] = LlmError;
  };
  const ExecutionPlan<Client> by_context{{.provide = Client(), .classify = http()}};
  static_cast<void>(
      planb::try_run_with_plan(by_context, [](Client&) -> int { throw LlmError(); }, {.on_event = keep}));
  CHECK(verdict->failure_class == FailureClass::connection);
  // A returned one needs no name.
  CHECK(http()(Cause::of(LlmError())).failure_class == FailureClass::connection);
  CHECK(http()(Cause::of(SocketError{std::make_error_code(std::errc::permission_denied)})) == next_step);
  CHECK(http()(Cause::of(CurlError{3})) == next_step);
}

TEST_CASE("a reader that throws has said nothing, and the rest is read") {
  const auto named = http_classifier<NoStatus, NoCode, NoSystemCode, NoWord>(ContentRefusal::abort);
  CHECK(verdict_on(named, NoStatus()) == next_and_alert);
  CHECK(verdict_on(named, NoCode()) == retry_here);
  CHECK(verdict_on(named, NoSystemCode()) == retry_here);  // as one that nobody answered
  CHECK(verdict_on(named, NoWord()) == retry_here);
  // Returned in a plan that names nothing.
  CHECK(http()(Cause::of(NoSystemCode())) == retry_here);
  CHECK(http()(Cause::of(NoWord())) == retry_here);

  const auto attempts = [&](const auto& error) {
    const ExecutionPlan<int> plan{{.provide = 1, .attempts = 3, .classify = named}};
    const auto result = planb::try_run_with_plan(plan, [&](int&) -> int { throw error; });
    CHECK(result.report().end == planb::RunEnd::exhausted);
    return result.report().attempts;
  };
  CHECK(attempts(NoStatus()) == 1);
  CHECK(attempts(NoCode()) == 3);
  CHECK(attempts(NoSystemCode()) == 3);
  CHECK(attempts(NoWord()) == 3);
}

TEST_CASE("error_traits give a type what it has no members for") {
  const auto named = http_classifier<LlmError, CurlError>(ContentRefusal::abort)
                         .on_code("connection_error", Verdict{Action::retry, true});
  CHECK(verdict_on(named, CurlError{7}) == Verdict{Action::retry, true});
  CHECK(verdict_on(named, CurlError{6}) == next_step);
}

TEST_CASE("an enumeration that a plan names beside classes is read as itself, and is none of them") {
  const auto named = http_classifier<Curl, LlmError>(ContentRefusal::abort);
  const ExecutionPlan<int> plan{{.provide = 1, .classify = named}, {.provide = 2, .classify = named}};
  const auto call = [](int& step) -> Expected<int, LlmError> {
    if (step == 1) return LlmError{503, {}, {}, {}};
    throw Curl::could_not_connect;
  };
  const AttemptLog log;
  static_cast<void>(try_run_with_plan(plan, call, {.on_event = log}));
  const auto failures = log.of<planb::AttemptFailure>();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].cause.status() == 503);
  CHECK(failures[0].cause.code().empty());
  CHECK(failures[1].cause.status() == std::nullopt);
  CHECK(failures[1].cause.code() == "connection_error");
}

TEST_CASE("a member `code` of type std::error_code tells a connection that failed") {
  const auto named = http_classifier<SocketError>(ContentRefusal::abort);
  CHECK(verdict_on(named, SocketError{std::make_error_code(std::errc::connection_reset)}) == retry_here);
  CHECK(verdict_on(named, SocketError{std::make_error_code(std::errc::permission_denied)}) == next_step);
  CHECK(verdict_on(named, SocketError{}) == next_step);
}

TEST_CASE("what derives from ProviderError or std::system_error is read, thrown or returned") {
  struct VendorError : ProviderError {
    using ProviderError::ProviderError;
  };
  struct DnsError : std::system_error {
    using std::system_error::system_error;
  };
  check_said(http(), VendorError(401), next_and_alert, FailureClass::auth);
  check_said(http(), VendorError("no route"), retry_here, FailureClass::connection);
  check_said(http(), DnsError(std::make_error_code(std::errc::host_unreachable)), retry_here, FailureClass::connection);
}

TEST_CASE("a base class that the plan names elsewhere does not hide what an error says") {
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan{
      {.name = "alpha",
       .provide = FakeProvider("alpha", {Behaviour::throws(HttpFailure(401))}),
       .attempts = 2,
       .retry_while = [](const std::exception&) { return true; },
       .classify = http_classifier<HttpFailure>(ContentRefusal::abort)},
      {.name = "beta",
       .provide = FakeProvider("beta", {Behaviour::status(400)}),
       .classify = http_classifier<HttpFailure>(ContentRefusal::abort)},
      {.name = "gamma", .provide = FakeProvider("gamma")},
  };
  const auto result = try_run_with_plan(plan, [](FakeProvider& p) { return p(); }, {.on_event = log});
  CHECK(log.names() == Names{"alpha", "beta"});
  CHECK(result.report().end == planb::RunEnd::aborted);
  CHECK(result.report().steps[0].alert);
}

TEST_CASE("naming a type in the classifier makes it readable in the whole plan, its wait hint too") {
  VirtualClock clock;
  const AttemptLog log;
  const ExecutionPlan<int> plan{
      {.name = "alpha",
       .provide = [] { return 0; },
       .attempts = 2,
       .classify = http_classifier<CurlError, LlmError>(ContentRefusal::abort)},
      {.name = "beta", .provide = [] { return 1; }, .enter_when = [](const Cause& c) { return c.status() == 429; }},
  };
  const auto result = try_run_with_plan(plan,
                                        [](int step) {
                                          return step == 0 ? throw LlmError{429, {}, 5s, "slow down"} : step;
                                        },
                                        {.on_event = log, .clock = &clock});
  CHECK(log.names() == Names{"alpha", "alpha", "beta"});
  CHECK(clock.elapsed() == 5s);
  CHECK(result.report().steps[0].cause->message() == "slow down");
}

// --- The caller's own rules
// -------------------------------------------------------------------------------------------

TEST_CASE("each status can be decided otherwise, alone or in a range") {
  const auto changed = http().on_status(404, end_of_run).on_status(520, 527, next_step).on_status(500, next_and_alert);
  CHECK(verdict_on(changed, provider_error(404)) == end_of_run);
  CHECK(verdict_on(changed, provider_error(404, "model_not_found")) == end_of_run);  // a code that means 404
  CHECK(verdict_on(changed, provider_error(519)) == retry_here);
  CHECK(verdict_on(changed, provider_error(520)) == next_step);
  CHECK(verdict_on(changed, provider_error(527)) == next_step);
  CHECK(verdict_on(changed, provider_error(528)) == retry_here);
  CHECK(verdict_on(changed, provider_error(500)) == next_and_alert);
  CHECK(verdict_on(changed, provider_error(503)) == retry_here);
}

TEST_CASE("each code can be decided otherwise, and stands before any status") {
  const auto changed = http_classifier(ContentRefusal::abort)
                           .on_status(400, retry_here)
                           .on_code("insufficient_quota", end_of_run)
                           .on_code("content_filter", next_guarded)
                           .on_code("my_own_code", next_and_alert);
  CHECK(verdict_on(changed, provider_error(429, "insufficient_quota")) == end_of_run);
  CHECK(verdict_on(changed, provider_error(400, "content_filter")) == next_guarded);
  CHECK(verdict_on(changed, provider_error(400, "content_policy_violation")) == end_of_run);
  CHECK(verdict_on(changed, provider_error(400, "context_length_exceeded")) == next_guarded);
  CHECK(verdict_on(changed, provider_error(400, "my_own_code")) == next_and_alert);
  CHECK(verdict_on(changed, provider_error(400)) == retry_here);
}

TEST_CASE("timeouts, connections and unknown errors can be decided otherwise") {
  const auto changed =
      http().on_timeout(next_step).on_connection(next_and_alert).on_unknown(Verdict{Action::abort, true});
  CHECK(changed(Cause::timed_out()) == next_step);
  CHECK(verdict_on(changed, ProviderError("no route")) == next_and_alert);
  CHECK(verdict_on(changed, std::system_error(std::make_error_code(std::errc::timed_out))) == next_and_alert);
  CHECK(changed(thrown(42)) == of_refusal);
  CHECK(verdict_on(changed, provider_error(418)) == of_refusal);
  CHECK(verdict_on(changed, provider_error(503)) == retry_here);
}

TEST_CASE("a rule gives its verdict's class, or where that says nothing the table's") {
  const Verdict own{Action::next_step, true, FailureClass::conflict};
  const auto silent = http()
                          .on_status(404, end_of_run)
                          .on_status(418, end_of_run)
                          .on_code("engine_warming_up", retry_here)
                          .on_code("content_filter", end_of_run)
                          .on_text(400, "no upstream", retry_here)
                          .on_timeout(next_step)
                          .on_connection(next_step)
                          .on_unknown(end_of_run);
  check_said(silent, provider_error(404), end_of_run, FailureClass::not_found);
  check_said(silent, provider_error(400, "model_not_found"), end_of_run, FailureClass::not_found);
  check_said(silent, provider_error(418), end_of_run, FailureClass::unknown);
  check_said(silent, provider_error(503, "engine_warming_up"), retry_here, FailureClass::overloaded);
  check_said(silent, provider_error(0, "engine_warming_up"), retry_here, FailureClass::unknown);
  check_said(silent, provider_error(400, "content_filter"), end_of_run, FailureClass::content_refused);
  check_said(silent, provider_error(400, "", "no upstream"), retry_here, FailureClass::invalid_request);
  check_said(silent, ProviderError("no route"), next_step, FailureClass::connection);
  check_said(silent, std::errc::timed_out, next_step, FailureClass::timeout);
  check_said(silent, std::runtime_error("odd"), end_of_run, FailureClass::unknown);
  CHECK(silent(Cause::timed_out()).failure_class == FailureClass::timeout);

  const auto telling = http()
                           .on_status(404, own)
                           .on_code("engine_warming_up", own)
                           .on_text("odd", own)
                           .on_text(400, "no upstream", own)
                           .on_timeout(own)
                           .on_connection(own)
                           .on_unknown(own);
  check_said(telling, provider_error(404), own, FailureClass::conflict);
  check_said(telling, provider_error(503, "engine_warming_up"), own, FailureClass::conflict);
  check_said(telling, provider_error(400, "", "no upstream"), own, FailureClass::conflict);
  check_said(telling, ProviderError("no route"), own, FailureClass::conflict);
  check_said(telling, std::runtime_error("odd"), own, FailureClass::conflict);
  check_said(telling, std::runtime_error("else"), own, FailureClass::conflict);
  CHECK(telling(Cause::timed_out()).failure_class == FailureClass::conflict);
}

TEST_CASE("of two rules for the same the later one stands") {
  const auto changed = http()
                           .on_status(500, 599, end_of_run)
                           .on_status(503, retry_here)
                           .on_code("a*", end_of_run)
                           .on_code("ab", retry_here)
                           .on_text("one", end_of_run)
                           .on_text("two", retry_here);
  CHECK(verdict_on(changed, provider_error(502)) == end_of_run);
  CHECK(verdict_on(changed, provider_error(503)) == retry_here);
  CHECK(verdict_on(changed, provider_error(400, "ac")) == end_of_run);
  CHECK(verdict_on(changed, provider_error(400, "ab")) == retry_here);
  CHECK(changed(thrown(std::runtime_error("one two"))) == retry_here);
  CHECK(verdict_on(changed.on_status(503, next_step), provider_error(503)) == next_step);
}

TEST_CASE("a rule gives a changed copy and leaves the classifier as it was") {
  const auto base = http();
  const auto derived = base.on_status(404, retry_here);
  auto assigned = base;
  assigned = derived.on_code("odd", end_of_run);
  CHECK(base(Cause::of(provider_error(404))) == next_and_alert);
  CHECK(derived(Cause::of(provider_error(404))) == retry_here);
  CHECK(derived(Cause::of(provider_error(503, "odd"))) == retry_here);
  CHECK(assigned(Cause::of(provider_error(503, "odd"))) == end_of_run);
  auto from = base.on_status(404, retry_here);
  const auto to = std::move(from);
  CHECK(from(Cause::of(provider_error(404))) == retry_here);  // NOLINT(bugprone-use-after-move): there is no move
  CHECK(to(Cause::of(provider_error(404))) == retry_here);
}

TEST_CASE("a code is compared as a whole, without case and separators") {
  struct Match {
    const char* pattern;
    const char* code;
    bool matches;
  };
  for (const Match& c : std::vector<Match>{{"content_filter", "content_filter", true},
                                           {"content_filter", "Content-Filter", true},
                                           {"content_filter", "ContentFilter", true},
                                           {"content_filter", "CONTENT FILTER", true},
                                           {"ContentFilter", "content_filter", true},
                                           {"content_filter", "_content__filter_", true},
                                           {"content_filter", "content_filters", false},
                                           {"content_filter", "content_filte", false},
                                           {"content_filter", "xcontent_filter", false},
                                           {"content_filter", "content.filter", false},
                                           {"quota_*", "quota_exceeded", true},
                                           {"quota_*", "quota", true},
                                           {"quota_*", "QuotaExceeded", true},
                                           {"quota_*", "insufficient_quota", false},
                                           {"*_limit_reached", "hard_limit_reached", true},
                                           {"*_limit_reached", "limit_reached", true},
                                           {"*_limit_reached", "limit_reached_twice", false},
                                           {"*spend*limit*", "monthly_spend_hard_limit_hit", true},
                                           {"*spend*limit*", "limit_spend", false},
                                           {"*", "anything", true},
                                           {"a*b*c", "aXbXbXc", true},
                                           {"a*b*c", "aXcXb", false},
                                           {"a**c", "ac", true},
                                           {"*ab", "aab", true},
                                           {"*aab", "aaab", true},
                                           {"?", "x", false},
                                           {"?", "?", true},
                                           {"[a]", "a", false},
                                           {"caf\xC3\xA9", "CAF\xC3\xA9", true}}) {
    INFO(c.pattern << " and " << c.code);
    const bool matched = http().on_code(c.pattern, of_refusal)(Cause::of(provider_error(599, c.code))) == of_refusal;
    CHECK(matched == c.matches);
  }
  CHECK(http().on_code("*", of_refusal)(Cause::of(provider_error(299))) == next_step);  // no code at all
}

TEST_CASE("a pattern costs no more than its length times the code's") {
  std::string pattern;
  for (int i = 0; i != 30; ++i) pattern += "*a";
  pattern += "*b";
  CHECK_FALSE(planb::detail::HttpMatch::code(pattern, std::string(20'000, 'a')));
  CHECK(planb::detail::HttpMatch::code(pattern, std::string(20'000, 'a') + "b"));
}

TEST_CASE("text is looked at last, and only for the caller's phrases") {  // [field-27]
  // Without any, no text says anything.
  for (const char* const message : {"timeout", "500", "insufficient_quota", "context_length_exceeded", "content_filter",
                                    "429 too many requests", "connection reset by peer"}) {
    INFO(message);
    CHECK(http()(thrown(std::runtime_error(message))) == next_step);
    CHECK(verdict_on(http(), provider_error(400, {}, message)) == end_of_run);
  }
  // With some, a validation message is no outage.
  const auto careless = http().on_text("500", retry_here).on_text("timeout", retry_here);
  CHECK(verdict_on(careless, provider_error(400, {}, "max_tokens must be at most 500")) == end_of_run);
  CHECK(verdict_on(careless, provider_error(422, {}, "timeout must be a positive number")) == end_of_run);
  CHECK(verdict_on(careless, provider_error(401, {}, "timeout")) == next_and_alert);
  CHECK(verdict_on(careless, provider_error(429, "insufficient_quota", "timeout")) == next_and_alert);
  CHECK(careless(thrown(std::runtime_error("upstream timeout"))) == retry_here);
  CHECK(verdict_on(careless, provider_error(418, {}, "upstream timeout")) == retry_here);  // the table has no 418
  // Kinds too come before text.
  const auto strict = http().on_text("refused", end_of_run);
  CHECK(verdict_on(strict, ProviderError("refused")) == retry_here);
  CHECK(strict(late(thrown(std::runtime_error("refused")))) == retry_here);
}

TEST_CASE("a phrase is found as whole words, in any case") {
  struct Match {
    const char* phrase;
    const char* text;
    bool matches;
  };
  for (const Match& c : std::vector<Match>{{"500", "error 500", true},
                                           {"500", "500", true},
                                           {"500", "(500)", true},
                                           {"500", "1500 tokens", false},
                                           {"500", "5000 tokens", false},
                                           {"500", "500ms", false},
                                           {"500", "1500, or 500", true},
                                           {"timeout", "TimeOut!", true},
                                           {"timeout", "timeouts", false},
                                           {"reset by peer", "Connection reset by peer", true},
                                           {"reset by peer", "reset by  peer", false},
                                           {"http_5", "got http_5xx", false},
                                           {"(500)", "error(500)now", true},
                                           {"peer", "\xC3\xA9peer", false},
                                           {"a", "", false},
                                           {"longer than", "long", false}}) {
    INFO(c.phrase << " in " << c.text);
    const bool matched = http().on_text(c.phrase, of_refusal)(thrown(std::runtime_error(c.text))) == of_refusal;
    CHECK(matched == c.matches);
  }
}

TEST_CASE("a phrase for one status decides in place of that status alone") {
  const auto changed = http()
                           .on_text(400, "prompt is too long", next_guarded)
                           .on_text(400, "credit balance is too low", next_and_alert)
                           .on_status(400, of_refusal);
  CHECK(verdict_on(changed, provider_error(400, "invalid_request_error", "prompt is too long: 9 > 8")) == next_guarded);
  CHECK(verdict_on(changed, provider_error(400, {}, "Your credit balance is too low")) == next_and_alert);
  CHECK(verdict_on(changed, provider_error(400, {}, "temperature: must be a number")) == of_refusal);
  CHECK(verdict_on(changed, provider_error(422, {}, "prompt is too long")) == end_of_run);
  CHECK(changed(thrown(std::runtime_error("prompt is too long"))) == next_step);
  CHECK(verdict_on(changed, provider_error(400, "content_filter", "prompt is too long")) == next_step);
}

TEST_CASE("rules that could never answer are refused") {
  CHECK_THROWS_AS(http_classifier(ContentRefusal{}), std::invalid_argument);
  CHECK_THROWS_AS(http_classifier(static_cast<ContentRefusal>(9)), std::invalid_argument);
  CHECK_THROWS_AS(http().on_status(0, retry_here), std::invalid_argument);
  CHECK_THROWS_AS(http().on_status(-404, retry_here), std::invalid_argument);
  CHECK_THROWS_AS(http().on_status(599, 500, retry_here), std::invalid_argument);
  CHECK_THROWS_AS(http().on_code("", retry_here), std::invalid_argument);
  CHECK_THROWS_AS(http().on_code("_- ", retry_here), std::invalid_argument);
  CHECK_THROWS_AS(http().on_text("", retry_here), std::invalid_argument);
  CHECK_THROWS_AS(http().on_text(" ... ", retry_here), std::invalid_argument);
  CHECK_THROWS_AS(http().on_text(0, "too long", retry_here), std::invalid_argument);
}

// --- In a plan
// --------------------------------------------------------------------------------------------------------

TEST_CASE("an exhausted quota costs one attempt, then the next step, with an alert") {  // [field-24]
  VirtualClock clock;
  const AttemptLog log;
  const FakeProvider alpha("alpha", {Behaviour::status(429).code("insufficient_quota").retry_after(5s)});
  const ExecutionPlan<FakeProvider> plan =
      ExecutionPlan<FakeProvider>{
          {.name = "alpha", .provide = alpha, .attempts = 4},
          {.name = "beta", .provide = FakeProvider("beta")},
      }
          .with_classifier(http());
  const auto result = try_run_with_plan(plan, [](FakeProvider& p) { return p(); }, {.on_event = log, .clock = &clock});
  REQUIRE(result.has_value());
  CHECK(*result == "beta");
  CHECK(log.names() == Names{"alpha", "beta"});
  CHECK(alpha.calls() == 1);
  CHECK(clock.waits() == 0);
  const auto failures = log.of<planb::AttemptFailure>();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].verdict == next_and_alert);
  CHECK(failures[0].next.kind == planb::NextMove::next_step);
  CHECK(failures[0].next.reason == planb::LeaveReason::classified);
  CHECK(result.report().steps[0].alert);
  CHECK_FALSE(result.report().steps[1].alert);
}

TEST_CASE("a bad request ends the run with its own error nested, and costs one call") {
  const FakeProvider beta("beta");
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan =
      ExecutionPlan<FakeProvider>{
          {.name = "alpha", .provide = FakeProvider("alpha", {Behaviour::status(400)}), .attempts = 3},
          {.name = "beta", .provide = beta},
      }
          .with_classifier(http());
  int nested_status = 0;
  try {
    static_cast<void>(run_with_plan(plan, [](FakeProvider& p) { return p(); }, {.on_event = log}));
    FAIL("it should have thrown");
  } catch (const planb::PlanAborted& aborted) {
    CHECK(aborted.end() == planb::RunEnd::aborted);
    CHECK(aborted.report().steps.size() == 1);
    CHECK_FALSE(aborted.report().steps[0].alert);
    try {
      std::rethrow_if_nested(aborted);
    } catch (const ProviderError& original) {
      nested_status = original.status;
    }
  }
  CHECK(nested_status == 400);
  CHECK(log.names() == Names{"alpha"});
  CHECK(beta.calls() == 0);
}

TEST_CASE("a context overflow enters only the step with the larger window") {  // [field-25]
  const auto run = [](std::vector<Behaviour> of_alpha, std::vector<Behaviour> of_beta, const AttemptLog& log) {
    const ExecutionPlan<FakeProvider> plan =
        ExecutionPlan<FakeProvider>{
            {.name = "alpha", .provide = FakeProvider("alpha", std::move(of_alpha))},
            {.name = "beta", .provide = FakeProvider("beta", std::move(of_beta))},
            {.name = "large",
             .provide = FakeProvider("large"),
             .enter_when = [](const Cause& c) { return c.code() == "context_length_exceeded"; }},
            {.name = "delta", .provide = FakeProvider("delta")},
        }
            .with_classifier(http());
    return try_run_with_plan(plan, [](FakeProvider& p) { return p(); }, {.on_event = log});
  };
  const Behaviour overflow = Behaviour::status(400).code("context_length_exceeded");

  const AttemptLog after_overflow;
  const auto found = run({overflow}, {}, after_overflow);
  REQUIRE(found.has_value());
  CHECK(*found == "large");
  CHECK(after_overflow.names() == Names{"alpha", "large"});
  REQUIRE(found.report().steps.size() == 3);
  CHECK(found.report().steps[1].skipped == planb::SkipReason::declined);

  const AttemptLog after_outage;
  const auto passed = run({Behaviour::status(503)}, {Behaviour::status(503)}, after_outage);
  REQUIRE(passed.has_value());
  CHECK(*passed == "delta");
  CHECK(after_outage.names() == Names{"alpha", "beta", "delta"});
  const auto skipped = after_outage.of<planb::StepSkipped>();
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].step_name == "large");
  CHECK(skipped[0].reason == planb::SkipReason::declined);
  CHECK(passed.report().steps[2].skipped == planb::SkipReason::declined);

  // 413 is the same overflow, but this guard wants the code: none accepts, and the run is aborted.
  const AttemptLog unaccepted;
  const auto aborted = run({Behaviour::status(413)}, {}, unaccepted);
  CHECK_FALSE(aborted.has_value());
  CHECK(aborted.report().end == planb::RunEnd::aborted);
  CHECK(unaccepted.names() == Names{"alpha"});
}

TEST_CASE("a connection that failed moves on when its attempts are used up") {  // [field-22]
  const AttemptLog log;
  const ExecutionPlan<FakeProvider> plan =
      ExecutionPlan<FakeProvider>{
          {.name = "alpha",
           .provide = FakeProvider("alpha", {Behaviour::throws(ProviderError("connection refused"))}),
           .attempts = 2},
          {.name = "beta",
           .provide = FakeProvider(
               "beta", {Behaviour::throws(std::system_error(std::make_error_code(std::errc::connection_reset)))})},
          {.name = "gamma", .provide = FakeProvider("gamma", {Behaviour::throws(42)}), .attempts = 5},
          {.name = "delta", .provide = FakeProvider("delta")},
      }
          .with_classifier(http());
  CHECK(run_with_plan(plan, [](FakeProvider& p) { return p(); }, {.on_event = log}) == "delta");
  CHECK(log.names() == Names{"alpha", "alpha", "beta", "gamma", "delta"});
}
