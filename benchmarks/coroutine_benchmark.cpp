// co_run_with_plan against the coroutine that a good engineer writes by hand, over the same task type.
#include "hand_written.hpp"
#include "providers.hpp"
#include "rows.hpp"

#include <planb/coro.hpp>

#include <exception>
#include <utility>

namespace bench {

namespace {

planb::Task<int> ask(Client& client, int prompt) { co_return client.complete(prompt); }
planb::Task<Reply> try_ask(Client& client, int prompt) { co_return client.try_complete(prompt); }

// The hand-written loops, as coroutines.
template <class F>
planb::Task<int> co_run_throwing(const Table& table, F fn) {
  std::exception_ptr last;
  for (const Row& row : table) {
    for (int attempt = 1; attempt <= row.attempts; ++attempt) {
      try {
        Client client = row.provide();
        co_return co_await fn(client);
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
planb::Task<Reply> co_run_returning(const Table& table, F fn) {
  ErrorValue last;
  for (const Row& row : table) {
    for (int attempt = 1; attempt <= row.attempts; ++attempt) {
      Client client = row.provide();
      Reply reply = co_await fn(client);
      if (reply) co_return reply;
      last = reply.error();
      if (!row.retry_while_value(last)) break;
    }
  }
  co_return tl::unexpected(last);
}

// Everything here completes at once: what is measured is the coroutine, not an event loop.
template <class T>
T finish(planb::Task<T> task) {
  task.start();
  return task.get();
}

constexpr auto no_sleep = [](planb::Duration) -> planb::Task<> { co_return; };

}  // namespace

void add_coroutine_rows() {
  static Providers answering(0);
  static Providers failing_once(1);
  const auto by_throwing = [](const char* row, Providers& p) {
    add(row, "hand", p, [&p](int& prompt) {
      return finish(co_run_throwing(p.table, [prompt](Client& client) { return ask(client, prompt); }));
    });
    add(row, "planb", p, [&p](int& prompt) {
      return finish(planb::co_run_with_plan<planb::Task<int>>(
          p.plan, [prompt](Client& client) { return ask(client, prompt); }, no_sleep));
    });
  };
  by_throwing("coroutine: success at once", answering);
  by_throwing("coroutine: one thrown failure, then success", failing_once);
  const auto by_value = [](const char* row, Providers& p) {
    add(row, "hand", p, [&p](int& prompt) {
      return finish(co_run_returning(p.table, [prompt](Client& client) { return try_ask(client, prompt); }));
    });
    add(row, "planb", p, [&p](int& prompt) {
      return finish(planb::co_run_with_plan<planb::Task<Reply>>(
          p.value_plan, [prompt](Client& client) { return try_ask(client, prompt); }, no_sleep));
    });
  };
  by_value("coroutine: success at once, returned", answering);
  by_value("coroutine: one returned failure", failing_once);
}

}  // namespace bench
