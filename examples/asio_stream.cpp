// Server-sent events over Asio's sockets, through a chain: the first server dies half-way, before its first piece of
// text; the second one works. What is read is handed on with `co_await emit(x)`, and the sink, a browser's socket in a
// real program, is awaited before more is read.
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

#include <planb/coro.hpp>
#include <planb/planb.hpp>
#include <planb/stream.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

namespace {

awaitable<void> sleep_for(planb::Duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(use_awaitable);
}

// --- The client ------------------------------------------------------------------------------------------------------

struct Event {
  std::string name;
  std::string data;
};

// A provider's address: the context of a step.
struct Provider {
  tcp::endpoint address;
};

// Asks one provider, and emits the events of its answer as they come.
template <class Emit>
awaitable<void> ask(Provider& provider, Emit& emit) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(provider.address, use_awaitable);
  const std::string request = "GET /answer HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), use_awaitable);

  std::string buffer;
  std::size_t end = co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer), "\r\n\r\n", use_awaitable);
  const int status = std::stoi(buffer.substr(buffer.find(' ') + 1));
  if (status != 200) throw planb::ProviderError(status, "refused");
  buffer.erase(0, end);

  for (;;) {  // until "done"; a connection that ends earlier throws, and that is the attempt's failure
    end = co_await asio::async_read_until(socket, asio::dynamic_buffer(buffer), "\n\n", use_awaitable);
    Event event;
    const std::string_view block = std::string_view(buffer).substr(0, end);
    for (std::size_t at = 0; at < block.size();) {
      const std::string_view line = block.substr(at, block.find('\n', at) - at);
      if (line.starts_with("event: ")) event.name = line.substr(7);
      if (line.starts_with("data: ")) event.data += line.substr(6);
      at += line.size() + 1;
    }
    buffer.erase(0, end);
    if (event.name == "done") co_return;
    const bool wanted = co_await emit(std::move(event));
    if (!wanted) co_return;
  }
}

// --- Two servers on loopback -----------------------------------------------------------------------------------------

// Answers one request with these events, and then hangs up.
awaitable<void> serve(tcp::acceptor& acceptor, std::vector<std::string> events) {
  tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
  std::string request;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(request), "\r\n\r\n", use_awaitable);
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(head), use_awaitable);
  for (const std::string& event : events) {
    co_await asio::async_write(socket, asio::buffer(event), use_awaitable);
    co_await sleep_for(1ms);
  }
}

}  // namespace

int main() {
  asio::io_context io;
  const tcp::endpoint loopback(asio::ip::address_v4::loopback(), 0);
  tcp::acceptor dying(io, loopback);
  tcp::acceptor working(io, loopback);
  asio::co_spawn(io, serve(dying, {"event: start\ndata: primary\n\n", "event: text\nda"}), asio::detached);
  asio::co_spawn(io,
                 serve(working, {"event: start\ndata: backup\n\n", "event: text\ndata: Plan B \n\n",
                                 "event: text\ndata: is a fallback.\n\n", "event: done\n\n"}),
                 asio::detached);

  const planb::ExecutionPlan<Provider> plan{
      {.name = "primary", .provide = Provider{dying.local_endpoint()}, .timeout = 5s},
      {.name = "backup", .provide = Provider{working.local_endpoint()}, .timeout = 5s},
  };

  // The browser sees nothing of an answer that had only begun: its events are held back until there is text.
  const auto producer = planb::committing([](Provider& provider, auto& emit) { return ask(provider, emit); },
                                          [](const Event& event) { return event.name == "text"; }, 16);
  std::string answer;
  const auto sink = [&answer](const Event& event) -> awaitable<void> {
    co_await sleep_for(1ms);  // the browser's socket takes its time
    answer += event.name == "start" ? '[' + event.data + "] " : event.data;
  };
  planb::StreamOptions options;
  options.on_event = [](const planb::Event& event) { std::cout << to_string(event) << '\n'; };

  std::exception_ptr error;
  asio::co_spawn(io, planb::co_push_with_plan<awaitable<void>>(plan, producer, sink, sleep_for, std::move(options)),
                 [&error](std::exception_ptr e) { error = e; });
  io.run();
  if (error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      std::cout << e.what() << '\n';
    }
    return 1;
  }
  std::cout << answer << '\n';
  return answer == "[backup] Plan B is a fallback." ? 0 : 1;
}
