// expect-first: planb: the callable returns something that is still to be awaited (a task, a future)
#include <planb/run.hpp>

#include <optional>

// An expected-like of something with an awaiter of its own.
struct Awaiter {
  bool await_ready();
  int await_resume();
};
struct Awaitable {
  Awaiter operator co_await();
};
struct Reply {
  bool has_value() const;
  int error() const;
  Awaitable& operator*();
};

#ifdef TWIN
inline auto use() {
  return planb::retry({.attempts = 2}, [] { return std::optional<int>(1); });
}
#else
inline auto use() {
  return planb::retry({.attempts = 2}, [] { return Reply(); });
}
#endif
