// The limit: the loop that a good engineer writes by hand, over a table of providers.
#pragma once

#include <tl/expected.hpp>

#include <exception>
#include <functional>
#include <stdexcept>
#include <utility>
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

template <class F>
auto run_throwing(const Table& table, F&& fn) {
  std::exception_ptr last;
  for (const Row& row : table) {
    for (int attempt = 1; attempt <= row.attempts; ++attempt) {
      try {
        Client client = row.provide();
        return fn(client);
      } catch (const ApiError& e) {
        last = std::current_exception();
        if (!row.retry_while(e)) break;
      } catch (...) {
        last = std::current_exception();
        break;
      }
    }
  }
  std::rethrow_exception(last);
}

template <class F>
auto run_returning(const Table& table, F&& fn) -> decltype(fn(std::declval<Client&>())) {
  ErrorValue last;
  for (const Row& row : table) {
    for (int attempt = 1; attempt <= row.attempts; ++attempt) {
      Client client = row.provide();
      auto reply = fn(client);
      if (reply) return reply;
      last = reply.error();
      if (!row.retry_while_value(last)) break;
    }
  }
  return tl::unexpected(last);
}

}  // namespace bench
