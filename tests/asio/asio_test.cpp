// co_run_with_plan in Asio's coroutines: real timers, threads, sockets and Asio's own cancellation. Timers are of a
// millisecond at most, or cancelled.
#include "catch.hpp"
#include "two_steps.hpp"

#if PLANB_TEST_BOOST_ASIO
#include <boost/asio.hpp>
#include <boost/system/system_error.hpp>
#else
#ifndef ASIO_STANDALONE
#define ASIO_STANDALONE
#endif
#if defined(__clang__)  // which Asio 1.22 does not trust with coroutines
#ifndef ASIO_HAS_CO_AWAIT
#define ASIO_HAS_CO_AWAIT 1
#endif
#ifndef ASIO_HAS_STD_COROUTINE
#define ASIO_HAS_STD_COROUTINE 1
#endif
#endif
#include <asio.hpp>
#endif

#include <planb/coro.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/testing.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#if PLANB_TEST_BOOST_ASIO
namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using SystemError = boost::system::system_error;
#else
using ErrorCode = asio::error_code;
using SystemError = asio::system_error;
#endif

using two::Client;
using namespace std::chrono_literals;
using asio::ip::tcp;
using planb::Attempt;
using planb::AttemptFailure;
using planb::AttemptStart;
using planb::CauseKind;
using planb::co_run_with_plan;
using planb::CurrentMetadata;
using planb::Duration;
using planb::ExecutionPlan;
using planb::Metadata;
using planb::ProviderError;
using planb::testing::AttemptLog;

namespace {

using Lines = std::vector<std::string>;

asio::awaitable<void> sleep_for(Duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

// What a spawned coroutine came to.
template <class T>
struct Outcome {
  std::exception_ptr error;
  T value{};
  bool done = false;

  auto handler() {
    return [this](std::exception_ptr e, T v) {
      error = std::move(e);
      value = std::move(v);
      done = true;
    };
  }
  [[nodiscard]] bool aborted() const {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const SystemError& e) {
      return e.code() == asio::error::operation_aborted;
    } catch (...) {
    }
    return false;
  }
};

}  // namespace

TEST_CASE("waits are Asio's timers, and attempts suspend in its operations", "[asio]") {
  asio::io_context io;
  const AttemptLog log;
  Outcome<int> outcome;
  {
    const ExecutionPlan<Client> plan{
        {.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(1ms)},
        {.name = "two", .provide = Client{2}}};
    const auto fn = [](Client& client, const Attempt& attempt) -> asio::awaitable<int> {
      co_await sleep_for(100us);
      if (client.id == 1) throw ProviderError(503, "busy");
      co_return 10 * client.id + attempt.attempt;
    };
    asio::co_spawn(io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for, {.on_event = log}),
                   outcome.handler());
  }
  const auto start = std::chrono::steady_clock::now();
  io.run();
  CHECK(std::chrono::steady_clock::now() - start >= 1ms);
  REQUIRE(outcome.done);
  CHECK(outcome.value == 23);
  CHECK(log.lines() == Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one 503 busy, retry in 1 ms",
                             "AttemptStart #2 step=0 one", "AttemptFailure #2 step=0 one 503 busy, next step",
                             "AttemptStart #3 step=1 two", "AttemptSuccess #3 step=1 two"});
}

TEST_CASE("a run that fails throws what run_with_plan throws", "[asio]") {
  asio::io_context io;
  Outcome<int> outcome;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}};
  const auto fn = [](Client&) -> asio::awaitable<int> {
    throw ProviderError(503, "busy");
    co_return 1;
  };
  asio::co_spawn(io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for), outcome.handler());
  io.run();
  REQUIRE(outcome.error);
  CHECK_THROWS_AS(std::rethrow_exception(outcome.error), planb::PlanExhausted);
}

TEST_CASE("two hundred runs take turns on one thread", "[asio]") {
  asio::io_context io;
  int running = 0;
  int most = 0;
  int ended = 0;
  bool right = true;
  const ExecutionPlan<Client> plan{
      {.name = "one", .provide = Client{1}, .attempts = 3, .schedule = planb::spaced(500us)},
      {.name = "two", .provide = Client{2}}};
  const auto fn = [&](Client& client, const Attempt& attempt) -> asio::awaitable<int> {
    most = (std::max)(most, ++running);
    const int number = attempt.attempt;
    co_await sleep_for(100us);
    --running;
    right = right && attempt.attempt == number && CurrentMetadata::get() == Metadata{};
    if (client.id == 1) throw ProviderError(503);
    co_return number;
  };
  for (int i = 0; i != 200; ++i) {
    asio::co_spawn(io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for),
                   [&](std::exception_ptr error, int value) {
                     ++ended;
                     right = right && !error && value == 4;
                   });
  }
  io.run();
  CHECK(ended == 200);
  CHECK(right);
  CHECK(most > 1);
  CHECK(running == 0);
}

TEST_CASE("two hundred runs of one plan on a pool of two threads", "[asio][threads]") {
  asio::thread_pool pool(2);
  std::atomic<int> ended = 0;
  std::atomic<int> wrong = 0;
  std::vector<AttemptLog> logs(200);
  const ExecutionPlan<Client> plan{
      {.name = "one",
       .provide = Client{1},
       .attempts = 3,
       .schedule = planb::spaced(200us),
       .gate = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1'000'000})},
      {.name = "two", .provide = Client{2}}};
  const auto fn = [&wrong](Client& client, const Attempt& attempt) -> asio::awaitable<int> {
    if (CurrentMetadata::get() != Metadata{}) ++wrong;  // started lazily: this is not the call itself any more
    co_await sleep_for(100us);
    if (client.id == 1) throw ProviderError(503);
    co_return attempt.attempt;
  };
  for (const AttemptLog& log : logs) {
    asio::co_spawn(pool, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for, {.on_event = log}),
                   [&](std::exception_ptr error, int value) {
                     ++ended;
                     if (error || value != 4) ++wrong;
                   });
  }
  pool.join();
  CHECK(ended == 200);
  CHECK(wrong == 0);
  for (const AttemptLog& log : logs) {
    CHECK(log.names() == std::vector<const char*>{"one", "one", "one", "two"});
    CHECK(log.events().size() == 8);
  }
}

TEST_CASE("cancelled in a wait: no further attempt, and operation_aborted leaves", "[asio]") {
  asio::io_context io;
  asio::cancellation_signal signal;
  const AttemptLog log;
  Outcome<int> outcome;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(1h)},
                                   {.name = "two", .provide = Client{2}}};
  const auto fn = [](Client&) -> asio::awaitable<int> {
    throw ProviderError(503);
    co_return 1;
  };
  const auto handler = [&](const planb::Event& event) {
    log(event);
    if (event.get_if<AttemptFailure>() != nullptr) {
      asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
    }
  };
  asio::co_spawn(io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for, {.on_event = handler}),
                 asio::bind_cancellation_slot(signal.slot(), outcome.handler()));
  io.run();
  CHECK(outcome.aborted());
  CHECK(log.lines() == Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one 503, retry in 1 h"});
}

TEST_CASE("cancelled inside an attempt: it ends as interrupted, nothing is tried again, operation_aborted leaves",
          "[asio]") {
  asio::io_context io;
  asio::cancellation_signal signal;
  const AttemptLog log;
  Outcome<int> outcome;
  const auto gate = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1});
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .gate = gate},
                                   {.name = "two", .provide = Client{2}}};
  const bool translates = GENERATE(false, true);  // a client that makes an error of its own of every failure
  const auto fn = [&io, &signal, translates](Client& client) -> asio::awaitable<int> {
    asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
    try {
      co_await sleep_for(1h);
    } catch (const SystemError&) {
      if (translates) throw ProviderError("connection lost");
      throw;
    }
    co_return client.id;
  };
  asio::co_spawn(io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for, {.on_event = log}),
                 asio::bind_cancellation_slot(signal.slot(), outcome.handler()));
  io.run();
  CHECK(outcome.aborted());
  CHECK(log.lines() ==
        Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one interrupted, end: interrupted"});
  CHECK(log.of<AttemptFailure>()[0].cause.kind() == CauseKind::interrupted);
  CHECK(gate->state() == planb::CircuitState::closed);
}

TEST_CASE("an operation that the provider itself cancels is a failure like any other", "[asio]") {
  asio::io_context io;
  const AttemptLog log;
  Outcome<int> outcome;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
  const auto fn = [](Client& client) -> asio::awaitable<int> {
    if (client.id == 1) {
      asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
      asio::post(timer.get_executor(), [&timer] { timer.cancel(); });
      co_await timer.async_wait(asio::use_awaitable);
    }
    co_return client.id;
  };
  asio::co_spawn(io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for, {.on_event = log}), outcome.handler());
  io.run();
  CHECK(outcome.value == 2);
  REQUIRE(log.of<AttemptFailure>().size() == 1);
  const AttemptFailure failure = log.of<AttemptFailure>()[0];
  CHECK(failure.cause.kind() == CauseKind::error);
  CHECK(failure.cause.get_if<SystemError>()->code() == asio::error::operation_aborted);
  CHECK(log.names() == std::vector<const char*>{"one", "two"});
}

TEST_CASE("a loop that is destroyed with a run in it: the attempt ends as interrupted", "[asio]") {
  const AttemptLog log;
  {
    asio::io_context io;
    const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}}, {.name = "two", .provide = Client{2}}};
    const auto fn = [](Client& client) -> asio::awaitable<int> {
      co_await sleep_for(1h);
      co_return client.id;
    };
    asio::co_spawn(io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep_for, {.on_event = log}), asio::detached);
    io.poll();
    CHECK(log.events().size() == 1);
  }
  CHECK(log.lines() ==
        Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one interrupted, end: interrupted"});
}

#if PLANB_HAS_STOP_TOKEN

TEST_CASE("a requested stop ends a wait that listens to it", "[asio]") {
  asio::io_context io;
  std::stop_source stop;
  const AttemptLog log;
  Outcome<int> outcome;
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .schedule = planb::spaced(1h)},
                                   {.name = "two", .provide = Client{2}}};
  const auto fn = [](Client&) -> asio::awaitable<int> {
    throw ProviderError(503);
    co_return 1;
  };
  const auto sleep = [](Duration time, planb::StopToken token) -> asio::awaitable<void> {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    const std::stop_callback wake(token, [&] { timer.cancel(); });
    ErrorCode error;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error && !token.stop_requested()) throw SystemError(error);
  };
  const auto handler = [&](const planb::Event& event) {
    log(event);
    if (event.get_if<AttemptFailure>() != nullptr) asio::post(io, [&] { stop.request_stop(); });
  };
  asio::co_spawn(
      io, co_run_with_plan<asio::awaitable<int>>(plan, fn, sleep, {.on_event = handler, .stop = stop.get_token()}),
      outcome.handler());
  io.run();
  REQUIRE(outcome.error);
  CHECK_THROWS_AS(std::rethrow_exception(outcome.error), planb::PlanInterrupted);
  CHECK(log.names() == std::vector<const char*>{"one"});
}

#endif

TEST_CASE("a provider behind a socket refuses, hangs up, and answers", "[asio]") {
  asio::io_context io;
  const AttemptLog log;
  Outcome<std::string> outcome;

  tcp::acceptor server(io, {asio::ip::address_v4::loopback(), 0});
  const auto serve = [&]() -> asio::awaitable<void> {
    for (int connection = 1; connection <= 2; ++connection) {
      tcp::socket socket = co_await server.async_accept(asio::use_awaitable);
      std::string line;
      co_await asio::async_read_until(socket, asio::dynamic_buffer(line), '\n', asio::use_awaitable);
      if (connection == 1) continue;  // hangs up
      const std::string answer = "pong " + line;
      co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
    }
  };
  asio::co_spawn(io, serve(), asio::detached);

  tcp::endpoint nobody;
  {  // a port at which nobody listens any more
    const tcp::acceptor closed(io, {asio::ip::address_v4::loopback(), 0});
    nobody = closed.local_endpoint();
  }
  const ExecutionPlan<tcp::endpoint> plan{
      {.name = "away", .provide = nobody},
      {.name = "here", .provide = server.local_endpoint(), .attempts = 2, .schedule = planb::spaced(100us)}};
  const auto ask = [](tcp::endpoint& endpoint, const Attempt& attempt) -> asio::awaitable<std::string> {
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(endpoint, asio::use_awaitable);
    const std::string question = std::to_string(attempt.attempt) + "\n";
    co_await asio::async_write(socket, asio::buffer(question), asio::use_awaitable);
    std::string line;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(line), '\n', asio::use_awaitable);
    co_return line;
  };
  asio::co_spawn(io, co_run_with_plan<asio::awaitable<std::string>>(plan, ask, sleep_for, {.on_event = log}),
                 outcome.handler());
  io.run();
  CHECK_FALSE(outcome.error);
  CHECK(outcome.value == "pong 3\n");
  CHECK(log.names() == std::vector<const char*>{"away", "here", "here"});
  REQUIRE(log.of<AttemptFailure>().size() == 2);
  CHECK(log.of<AttemptFailure>()[0].cause.get_if<SystemError>()->code() == asio::error::connection_refused);
  CHECK(log.of<AttemptFailure>()[1].cause.get_if<SystemError>()->code() == asio::error::eof);
}

// --- co_push_with_plan -----------------------------------------------------------------------------------------------

namespace {

// Elements 0 to 9 with a timer between them; the first step breaks off after three.
asio::awaitable<void> count_up(Client& client, auto& emit) {
  for (int i = 0; i != 10; ++i) {
    co_await sleep_for(20us);
    if (client.id == 1 && i == 3) throw ProviderError(503, "gone");
    const bool wanted = co_await emit(100 * client.id + i);
    if (!wanted) co_return;
  }
}

using Numbers = std::vector<int>;
const Numbers counted{100, 101, 102, 200, 201, 202, 203, 204, 205, 206, 207, 208, 209};

template <class Context>
void stream_on(Context& context, std::vector<Numbers>& streams, std::atomic<int>& ended, std::atomic<int>& wrong) {
  const ExecutionPlan<Client> plan = two::two_steps();
  const auto producer = [](Client& client, auto& emit) { return count_up(client, emit); };
  for (Numbers& mine : streams) {
    const auto sink = [&mine](int x) -> asio::awaitable<void> {
      co_await sleep_for(20us);
      mine.push_back(x);
    };
    asio::co_spawn(context, planb::co_push_with_plan<asio::awaitable<void>>(plan, producer, sink, sleep_for),
                   [&](std::exception_ptr error) {
                     ++ended;
                     if (error) ++wrong;
                   });
  }
}

}  // namespace

TEST_CASE("two hundred streams take turns on one thread", "[asio][co_push]") {
  asio::io_context io;
  std::vector<Numbers> streams(200);
  std::atomic<int> ended = 0;
  std::atomic<int> wrong = 0;
  stream_on(io, streams, ended, wrong);
  io.run();
  CHECK(ended == 200);
  CHECK(wrong == 0);
  CHECK(std::count(streams.begin(), streams.end(), counted) == 200);
}

TEST_CASE("two hundred streams of one plan on two threads", "[asio][co_push][threads]") {
  asio::thread_pool pool(2);
  std::vector<Numbers> streams(200);
  std::atomic<int> ended = 0;
  std::atomic<int> wrong = 0;
  stream_on(pool, streams, ended, wrong);
  pool.join();
  CHECK(ended == 200);
  CHECK(wrong == 0);
  CHECK(std::count(streams.begin(), streams.end(), counted) == 200);
}

TEST_CASE("cancelled between elements, or in the sink: no further element, no further attempt", "[asio][co_push]") {
  const bool in_sink = GENERATE(false, true);
  const bool translates = GENERATE(false, true);  // a producer that makes an error of its own of every failure
  asio::io_context io;
  asio::cancellation_signal signal;
  const AttemptLog log;
  Outcome<int> outcome;
  Numbers seen;
  const auto gate = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1});
  const ExecutionPlan<Client> plan{{.name = "one", .provide = Client{1}, .attempts = 2, .gate = gate},
                                   {.name = "two", .provide = Client{2}}};
  const auto producer = [&](Client&, auto& emit) -> asio::awaitable<int> {
    co_await sleep_for(0us);  // co_spawn() of Asio 1.24 throws out of run() where what is cancelled has never waited
    try {
      for (int i = 0;; ++i) {
        if (!in_sink && i == 2) signal.emit(asio::cancellation_type::terminal);  // seen by the next await
        co_await emit(i);
      }
    } catch (const SystemError&) {
      if (translates) throw ProviderError("connection lost");
      throw;
    }
  };
  const auto sink = [&](int x) -> asio::awaitable<void> {
    if (in_sink && x == 2) {
      asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
      co_await sleep_for(1h);
    }
    seen.push_back(x);
  };
  asio::co_spawn(io, planb::co_push_with_plan<asio::awaitable<int>>(plan, producer, sink, sleep_for, {.on_event = log}),
                 asio::bind_cancellation_slot(signal.slot(), outcome.handler()));
  io.run();
  CHECK(outcome.aborted());
  CHECK(seen == Numbers{0, 1});
  CHECK(log.lines() ==
        Lines{"AttemptStart #1 step=0 one", "AttemptFailure #1 step=0 one interrupted, end: interrupted"});
  CHECK(gate->state() == planb::CircuitState::closed);
}

TEST_CASE("a hundred thousand elements that pass at once, and the try form", "[asio][co_push]") {
  asio::io_context io;
  bool done = false;
  int left = 100'000;
  const auto producer = [](Client&, auto& emit) -> asio::awaitable<int> {
    int given = 0;
    while (co_await emit(given)) ++given;
    co_return given;
  };
  const auto run = [&]() -> asio::awaitable<void> {
    const planb::PlanResult<int> result =
        co_await planb::co_try_push_with_plan<asio::awaitable<planb::PlanResult<int>>>(
            two::two_steps(), producer, [&](int) { return --left != 0; }, sleep_for);
    done = result.has_value() && *result == 99'999;
  };
  asio::co_spawn(io, run(), asio::detached);
  io.run();
  CHECK(done);
  CHECK(left == 0);
}

// A specialisation of one's own stands before the one for Asio.
namespace {

struct OwnExecutor : asio::any_io_executor {
  using asio::any_io_executor::any_io_executor;
};

template <class Task>
concept HasCheckpoint = requires {
  planb::task_traits<Task>::checkpoint();
};

}  // namespace

template <class T>
struct planb::task_traits<asio::awaitable<T, OwnExecutor>> {};

static_assert(HasCheckpoint<asio::awaitable<int>>);
static_assert(!HasCheckpoint<asio::awaitable<int, OwnExecutor>>);
