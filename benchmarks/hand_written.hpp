// The limit: the loop that a good engineer writes by hand, over a table of providers: the leanest that does the job.
#pragma once

#include <tl/expected.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct ApiError : std::runtime_error {
  explicit ApiError(int s) : std::runtime_error("api error"), status(s) {}
  int status;
  [[nodiscard]] bool retryable() const noexcept { return status == 429 || status >= 500; }
};

struct ErrorValue {
  int status = 0;
  [[nodiscard]] bool retryable() const noexcept { return status == 429 || status >= 500; }
};

using Reply = tl::expected<int, ErrorValue>;

// A provider client: its call is behind a std::function, as it would be behind a socket.
struct Client {
  const std::function<int(int)>* throwing = nullptr;
  const std::function<Reply(int)>* returning = nullptr;

  [[nodiscard]] int complete(int prompt) const { return (*throwing)(prompt); }
  [[nodiscard]] Reply try_complete(int prompt) const { return (*returning)(prompt); }
};

struct Row {
  std::function<Client()> provide;
  int attempts;
  std::function<bool(const ApiError&)> retry_while;
  std::function<bool(const ErrorValue&)> retry_while_value;
};

using Table = std::vector<Row>;

// The loops are in a file of their own, which sees nothing of planb: neither side is compiled with the other.
[[nodiscard]] int call_by_hand(const Table& table, int prompt);
[[nodiscard]] Reply try_call_by_hand(const Table& table, int prompt);

// What a loop that tells others what it does tells them, as much as planb does.
struct Told {
  int attempt = 0;
  int step_attempt = 0;
  int step_index = 0;
  std::string step_name;
  std::chrono::steady_clock::time_point at;
  std::chrono::nanoseconds duration{};
  ErrorValue error{};
};

struct Handlers {
  std::function<void(const Told&)> start = nullptr;
  std::function<void(const Told&)> success = nullptr;
  std::function<void(const Told&)> failure = nullptr;

  [[nodiscard]] bool any() const { return start || success || failure; }
};

[[nodiscard]] Reply try_call_told_by_hand(const Table& table, const Handlers& handlers, int prompt);

}  // namespace bench
