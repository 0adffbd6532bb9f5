// Error types of one's own, thrown or returned: none of them has to know planb.
#include <planb/planb.hpp>

#include <iostream>
#include <stdexcept>
#include <string>

namespace {

// A thrown error. What it has in its members `status` and `code` is found there.
struct HttpError : std::runtime_error {
  HttpError(int s, const std::string& what) : std::runtime_error(what), status(s) {}
  [[nodiscard]] bool retryable() const { return status >= 500; }

  int status;
};

// A returned error, with other names for the same things, and the result type that carries it.
struct GrpcStatus {
  int number;
  std::string text;
};

struct StatusOr {
  GrpcStatus error;
  std::string value;

  [[nodiscard]] bool ok() const { return error.number == 0; }
  [[nodiscard]] const GrpcStatus& status() const { return error; }
  const std::string& operator*() const { return value; }
};

StatusOr call(int number) { return {{number, "returned"}, "an answer"}; }

}  // namespace

template <>
struct planb::error_traits<GrpcStatus> {
  static int status(const GrpcStatus& e) { return e.number; }
  static const std::string& message(const GrpcStatus& e) { return e.text; }
};

int main() {
  // A predicate may be a member of the error: any other error is then not worth retrying.
  const planb::ExecutionPlan<int> thrown{
      {.name = "first", .provide = 503, .attempts = 2, .retry_while = &HttpError::retryable},
      {.name = "second", .provide = 404, .attempts = 2, .retry_while = &HttpError::retryable}};
  bool good = false;
  try {
    planb::run_with_plan(thrown, [](int& status) { throw HttpError(status, "thrown"); });
  } catch (const planb::PlanExhausted& e) {
    std::cout << e.what() << '\n';
    good = e.report().attempts == 3 && e.report().last_cause()->status() == 404;
  }

  // Or it takes any cause, and reads what error_traits finds.
  const auto busy = [](const planb::Cause& cause) { return cause.status() == 14; };
  const planb::ExecutionPlan<int> returned{{.name = "third", .provide = 14, .attempts = 2, .retry_while = busy},
                                           {.name = "fourth", .provide = 0}};
  const planb::PlanResult<std::string> answer = planb::try_run_with_plan(returned, call);
  std::cout << answer.report().to_string() << '\n';
  return good && answer && *answer == "an answer" && answer.report().attempts == 3 ? 0 : 1;
}
