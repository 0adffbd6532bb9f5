// expect-first: planb: a result's error cannot be copied
#include <planb/run.hpp>

#include <memory>

struct Error {
  std::unique_ptr<int> detail;
};

struct Result {
  [[nodiscard]] bool has_value() const { return false; }
#ifdef TWIN
  [[nodiscard]] Error error() const { return {}; }
#else
  [[nodiscard]] const Error& error() const { return error_; }
#endif
  int operator*() const { return 0; }

  Error error_;
};

void run(const planb::ExecutionPlan<int>& plan) {
  planb::run_with_plan(plan, [](int&) { return Result{}; });
}
