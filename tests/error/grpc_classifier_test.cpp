// grpc_classifier: one row for each status code, in every spelling, and what it says of errors without one.
#include <planb/error/grpc_classifier.hpp>

#include "catch.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Action;
using planb::Cause;
using planb::FailureClass;
using planb::grpc_classifier;
using planb::GrpcCode;
using planb::ProviderError;
using planb::Verdict;

struct Row {
  GrpcCode code;
  const char* name;
  Action action;
  bool alert;
  FailureClass what;
};

const Row rows[] = {
    {GrpcCode::ok, "OK", Action::next_step, false, FailureClass::unknown},
    {GrpcCode::cancelled, "CANCELLED", Action::next_step, false, FailureClass::unknown},
    {GrpcCode::unknown, "UNKNOWN", Action::retry, false, FailureClass::server_error},
    {GrpcCode::invalid_argument, "INVALID_ARGUMENT", Action::abort, false, FailureClass::invalid_request},
    {GrpcCode::deadline_exceeded, "DEADLINE_EXCEEDED", Action::retry, false, FailureClass::timeout},
    {GrpcCode::not_found, "NOT_FOUND", Action::next_step, true, FailureClass::not_found},
    {GrpcCode::already_exists, "ALREADY_EXISTS", Action::abort, false, FailureClass::invalid_request},
    {GrpcCode::permission_denied, "PERMISSION_DENIED", Action::next_step, true, FailureClass::auth},
    {GrpcCode::resource_exhausted, "RESOURCE_EXHAUSTED", Action::retry, false, FailureClass::rate_limited},
    {GrpcCode::failed_precondition, "FAILED_PRECONDITION", Action::abort, false, FailureClass::invalid_request},
    {GrpcCode::aborted, "ABORTED", Action::retry, false, FailureClass::conflict},
    {GrpcCode::out_of_range, "OUT_OF_RANGE", Action::abort, false, FailureClass::invalid_request},
    {GrpcCode::unimplemented, "UNIMPLEMENTED", Action::next_step, false, FailureClass::server_error},
    {GrpcCode::internal, "INTERNAL", Action::retry, false, FailureClass::server_error},
    {GrpcCode::unavailable, "UNAVAILABLE", Action::retry, false, FailureClass::overloaded},
    {GrpcCode::data_loss, "DATA_LOSS", Action::next_step, false, FailureClass::server_error},
    {GrpcCode::unauthenticated, "UNAUTHENTICATED", Action::next_step, true, FailureClass::auth},
};

// As a wrapper around a stub would throw or return it.
struct RpcError {
  int code = 0;
  std::string message = {};
};
struct WithStatus {
  GrpcCode status = GrpcCode::unknown;
};
struct Word {
  int code = 14;
};

ProviderError with_code(std::string code) {
  ProviderError error("failed");
  error.code = std::move(code);
  return error;
}

void expect(const Verdict& verdict, const Row& row) {
  CAPTURE(row.name);
  CHECK(verdict == Verdict{row.action, row.alert});
  CHECK(verdict.failure_class == row.what);
}

}  // namespace

template <>
struct planb::error_traits<Word> {
  static int code(const Word& word) { return word.code; }
  static bool retryable(const Word& word) { return word.code != 14; }
};

TEST_CASE("each gRPC status has its row, as a number and as a name") {
  static_assert(std::size(rows) == 17);
  for (const Row& row : rows) {
    const int number = static_cast<int>(row.code);
    expect(grpc_classifier()(Cause::of(RpcError{number})), row);
    expect(grpc_classifier()(Cause::of(WithStatus{row.code})), row);
    expect(grpc_classifier()(Cause::of(with_code(row.name))), row);
    expect(grpc_classifier()(Cause::of(with_code(std::to_string(number)))), row);
  }
}

TEST_CASE("a thrown type is read where it is named, and through what wraps it") {
  const auto named = grpc_classifier<RpcError>();
  try {
    throw RpcError{16};
  } catch (...) {
    CHECK(named(Cause::current()) == Verdict{Action::next_step, true});
    CHECK(grpc_classifier()(Cause::current()) == Verdict{Action::next_step});  // nobody named it
  }
  try {
    try {
      throw with_code("UNAVAILABLE");
    } catch (...) {
      std::throw_with_nested(std::runtime_error("while asking"));
    }
  } catch (...) {
    CHECK(named(Cause::current()).failure_class == FailureClass::overloaded);
  }
}

TEST_CASE("without a gRPC code: connections and timeouts are retried, the rest leaves the step") {
  const auto of = [](const auto& error) { return grpc_classifier()(Cause::of(error)); };
  CHECK(of(std::make_error_code(std::errc::connection_refused)).failure_class == FailureClass::connection);
  CHECK(of(std::make_error_code(std::errc::connection_refused)) == Verdict{Action::retry});
  CHECK(grpc_classifier()(Cause::timed_out()) == Verdict{Action::retry});
  CHECK(grpc_classifier()(Cause::timed_out()).failure_class == FailureClass::timeout);
  CHECK(of(RpcError{17}) == Verdict{Action::next_step});
  CHECK(of(RpcError{-1}) == Verdict{Action::next_step});
  CHECK(of(with_code("no_such_code")) == Verdict{Action::next_step});
  CHECK(of(std::string("UNAVAILABLE")) == Verdict{Action::next_step});  // a message is no code
  CHECK(of(std::make_error_code(std::errc::timed_out)).failure_class == FailureClass::timeout);
  CHECK(of(std::make_error_code(std::errc::timed_out)) == Verdict{Action::retry});
  CHECK(of(RpcError{503}) == Verdict{Action::next_step});  // HTTP's are none of gRPC's
  CHECK(of(WithStatus{static_cast<GrpcCode>(17)}) == Verdict{Action::next_step});
  CHECK(of(ProviderError(503, "busy", "NOT_FOUND")) == Verdict{Action::next_step, true});
}

TEST_CASE("bugs and cancellations end the run under gRPC's codes, too; a refused value leaves the step") {
  CHECK(grpc_classifier()(Cause::of(planb::Defect("broken invariant"))) == Verdict{Action::abort});
  Cause interrupted = Cause::of(RpcError{14});
  planb::detail::CauseAccess::set_kind(interrupted, planb::CauseKind::interrupted);
  CHECK(grpc_classifier()(interrupted) == Verdict{Action::abort});
  const Verdict refused = grpc_classifier()(planb::detail::CauseAccess::of_value(std::string("no")));
  CHECK(refused == Verdict{Action::next_step});
  CHECK(refused.failure_class == FailureClass::rejected_value);
  const Verdict said = grpc_classifier()(planb::detail::CauseAccess::of_value(RpcError{14}));
  CHECK(said.failure_class == FailureClass::overloaded);
}

TEST_CASE("the error's own word makes a next step of a retry, and of an abort nothing") {
  CHECK(grpc_classifier()(Cause::of(Word{14})) == Verdict{Action::next_step});
  CHECK(grpc_classifier()(Cause::of(Word{12})) == Verdict{Action::retry});
  CHECK(grpc_classifier()(Cause::of(Word{3})) == Verdict{Action::abort});
}

TEST_CASE("a row can be changed, in a copy") {
  const auto usual = grpc_classifier();
  const auto changed = usual.on_code(GrpcCode::not_found, {Action::abort, false, FailureClass::invalid_request});
  CHECK(changed(Cause::of(RpcError{5})) == Verdict{Action::abort});
  CHECK(usual(Cause::of(RpcError{5})) == Verdict{Action::next_step, true});
  CHECK_THROWS_AS(usual.on_code(static_cast<GrpcCode>(17), {}), std::invalid_argument);
}

TEST_CASE("a plan is routed by gRPC's codes") {
  const planb::testing::AttemptLog log;
  planb::testing::VirtualClock clock;
  const planb::ExecutionPlan<int> plan{
      {.name = "down",
       .provide = 14,
       .attempts = 2,
       .schedule = planb::spaced(1s),
       .classify = grpc_classifier<RpcError>()},
      {.name = "no key", .provide = 16, .attempts = 2, .classify = grpc_classifier<RpcError>()},
      {.name = "works", .provide = 0}};
  const auto call = [](int& code) {
    if (code != 0) throw RpcError{code};
    return code;
  };
  CHECK(planb::run_with_plan(plan, call, {.on_event = log, .clock = &clock}) == 0);
  CHECK(log.names() == std::vector<std::string>{"down", "down", "no key", "works"});
}
