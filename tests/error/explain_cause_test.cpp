// http_classifier says which row has decided, and by what.
#include <planb/error/http_classifier.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "catch.hpp"

using planb::Action;
using planb::Cause;
using planb::FailureClass;
using planb::ProviderError;
using planb::VerdictReason;
using planb::VerdictSource;

namespace {

struct OwnWord {
  int status = 0;
  std::optional<bool> retryable = {};
};

Cause error(int status, const char* code = "", const char* message = "m") {
  return Cause::of(ProviderError(status, message, code));
}

Cause rejected(int value) { return planb::detail::CauseAccess::of_value(value); }

struct Row {
  Cause cause;
  VerdictSource by;
  std::string row;
  std::optional<int> read_as;
  std::string text;
};

}  // namespace

TEST_CASE("a verdict's reason is the row of the table, and what it was read from", "[classify][explain]") {
  const auto classify = planb::http_classifier(planb::ContentRefusal::abort);
  const std::vector<Row> rows = {
      {error(429), VerdictSource::status, "429", {}, "retry, rate_limited: status 429"},
      {error(502),
       VerdictSource::status,
       "500 to 599",
       {},
       "retry, server_error: status 500 to 599; the error has status 502"},
      {error(429, "insufficient_quota"), VerdictSource::code, "insufficient_quota", 402,
       "next_step, quota: code insufficient_quota, read as 402; the error has status 429"},
      {error(403, "rateLimitExceeded"), VerdictSource::code, "rate_limit*", 429,
       "retry, rate_limited: code rate_limit*, read as 429; the error has status 403 and code rateLimitExceeded"},
      {error(503, "no_such_code"),
       VerdictSource::status,
       "503",
       {},
       "retry, overloaded: status 503; the error has code no_such_code"},
      {error(400, "content_filter"),
       VerdictSource::code,
       "content_filter",
       {},
       "abort, content_refused: code content_filter; the error has status 400"},
      {error(302),
       VerdictSource::nothing,
       "",
       {},
       "next_step, unknown: nothing that is read says what it was; the error has status 302"},
      {Cause::timed_out(), VerdictSource::timed_out, "", {}, "retry, timeout: it timed out"},
      {Cause::of(std::errc::connection_refused),
       VerdictSource::connection_failed,
       "",
       {},
       "retry, connection: the connection failed"},
      {Cause::of(std::errc::timed_out), VerdictSource::timed_out, "", {}, "retry, timeout: it timed out"},
      {rejected(5), VerdictSource::value, "", {}, "next_step, rejected_value: the value was refused"},
      {Cause::of(std::string("500")),
       VerdictSource::nothing,
       "",
       {},
       "next_step, unknown: nothing that is read says what it was"},
  };
  for (const Row& row : rows) {
    const VerdictReason reason = classify.explain(row.cause);
    INFO(row.text);
    CHECK(reason.by == row.by);
    CHECK(reason.row == row.row);
    CHECK(reason.read_as == row.read_as);
    CHECK_FALSE(reason.own_rule);
    CHECK(to_string(reason) == row.text);
    CHECK(reason.verdict == classify(row.cause));
    CHECK(reason.verdict.failure_class == classify(row.cause).failure_class);
    CHECK(reason.status == row.cause.status());
    CHECK(reason.code == row.cause.code());
  }
}

TEST_CASE("a verdict's reason is a rule of the caller's where one stands before the table", "[classify][explain]") {
  const auto classify = planb::http_classifier(planb::ContentRefusal::abort)
                            .on_status(402, {Action::abort})
                            .on_status(300, 399, {Action::retry})
                            .on_code("my_*", {Action::abort})
                            .on_text(400, "credit balance", {Action::next_step})
                            .on_text("reset by peer", {Action::retry})
                            .on_timeout({Action::next_step})
                            .on_connection({Action::abort})
                            .on_unknown({Action::abort});
  const std::vector<Row> rows = {
      {error(302),
       VerdictSource::status,
       "300 to 399",
       {},
       "retry, unknown: status 300 to 399, by a rule of yours; the error has status 302"},
      {error(429, "insufficient_quota"), VerdictSource::status, "402", 402,
       "abort, quota: status 402, read as 402, by a rule of yours; the error has status 429 and code "
       "insufficient_quota"},
      {error(429, "my_code"),
       VerdictSource::code,
       "my_*",
       {},
       "abort, rate_limited: code my_*, by a rule of yours; the error has status 429 and code my_code"},
      {error(400, "", "Your credit balance is too low"),
       VerdictSource::text,
       "credit balance",
       {},
       "next_step, invalid_request: text \"credit balance\", by a rule of yours; the error has status 400"},
      {Cause::of(std::string("reset by peer")),
       VerdictSource::text,
       "reset by peer",
       {},
       "retry, unknown: text \"reset by peer\", by a rule of yours"},
      {Cause::timed_out(), VerdictSource::timed_out, "", {}, "next_step, timeout: it timed out, by a rule of yours"},
      {Cause::of(std::errc::connection_refused),
       VerdictSource::connection_failed,
       "",
       {},
       "abort, connection: the connection failed, by a rule of yours"},
      {Cause::of(std::string("?")),
       VerdictSource::nothing,
       "",
       {},
       "abort, unknown: nothing that is read says what it was, by a rule of yours"},
  };
  for (const Row& row : rows) {
    const VerdictReason reason = classify.explain(row.cause);
    INFO(row.text);
    CHECK(reason.by == row.by);
    CHECK(reason.row == row.row);
    CHECK(reason.read_as == row.read_as);
    CHECK(reason.own_rule);
    CHECK(to_string(reason) == row.text);
    CHECK(reason.verdict == classify(row.cause));
  }
  CHECK_FALSE(classify.explain(error(503)).own_rule);
}

TEST_CASE("a verdict's reason says where the error's own word was heard", "[classify][explain]") {
  const auto classify = planb::http_classifier<OwnWord>(planb::ContentRefusal::abort);
  const VerdictReason heard = classify.explain(Cause::of(OwnWord{503, false}));
  CHECK(heard.retryable == false);
  CHECK(heard.by == VerdictSource::status);
  CHECK(heard.verdict.action == Action::next_step);
  CHECK(to_string(heard) == "next_step, overloaded: status 503, and the error says retryable=false");
  CHECK_FALSE(classify.explain(Cause::of(OwnWord{400, true})).retryable);  // an abort stays
  CHECK(to_string(classify.explain(Cause::of(OwnWord{503, true}))) ==
        "retry, overloaded: status 503, and the error says retryable=true");
}
