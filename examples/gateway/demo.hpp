// The gateway without arguments: providers that fail in the usual ways, requests through them, and what became of them.
#pragma once

#include "server.hpp"

#include <iostream>
#include <string>
#include <string_view>

namespace gateway {

// A provider for each first part of a path: /busy/chat/completions is that of `busy`.
class DemoProviders {
 public:
  explicit DemoProviders(asio::io_context& io) : io_(io), acceptor_(io, {asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(io, accept(), asio::detached);
  }

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  void close() { acceptor_.close(); }

 private:
  awaitable<void> accept() {
    for (;;) asio::co_spawn(io_, serve(co_await acceptor_.async_accept(use_awaitable)), asio::detached);
  }

  static awaitable<void> serve(tcp::socket socket) {
    beast::flat_buffer buffer;
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, use_awaitable);
    const std::string path(request.target());
    const std::string name = path.substr(1, path.find('/', 1) - 1);
    const bool streamed = json::parse(request.body()).value("stream", false);
    if (name == "busy") {
      co_await answer(socket, "503 Busy", R"({"error":{"message":"too many"}})");
    } else if (name == "limited") {
      co_await answer(socket, "429 Limited\r\nRetry-After: 300", R"({"error":{"message":"come back later"}})");
    } else if (name == "no-key") {
      co_await answer(socket, "401 Who", R"({"error":{"message":"wrong key"}})");
    } else if (name == "strict") {
      co_await answer(socket, "400 No", R"({"error":{"message":"no such role"}})");
    } else if (name == "slow") {
      char byte = 0;  // until the gateway hangs up
      boost::system::error_code error;
      co_await socket.async_read_some(asio::buffer(&byte, 1), asio::redirect_error(use_awaitable, error));
    } else if (name == "dies-early") {
      co_await answer(socket, "200 OK", event(R"({"role":"assistant"})"));
    } else if (name == "dies-late") {
      co_await answer(socket, "200 OK", event(R"({"role":"assistant"})") + event(R"({"content":"Plan "})"));
    } else if (streamed) {
      co_await answer(socket, "200 OK",
                      event(R"({"role":"assistant"})") + event(R"({"content":"Plan B "})") +
                          event(R"({"content":"worked."})") + "data: [DONE]\n\n");
    } else {
      co_await answer(
          socket, "200 OK",
          R"({"choices":[{"message":{"role":"assistant","content":"Plan B worked."},"finish_reason":"stop"}]})");
    }
  }

  static std::string event(const std::string& delta) { return R"(data: {"choices":[{"delta":)" + delta + "}]}\n\n"; }

  // The end of the connection is the end of what has no length.
  static awaitable<void> answer(tcp::socket& socket, std::string head, std::string body) {
    const std::string text = "HTTP/1.1 " + head + "\r\nConnection: close\r\n\r\n" + body;
    co_await asio::async_write(socket, asio::buffer(text), use_awaitable);
  }

  asio::io_context& io_;
  tcp::acceptor acceptor_;
};

inline std::string demo_settings(const std::string& url) {
  std::string text = R"(
gate shaky   circuit_breaker failure_threshold=3 open_for=1min
chain calm        content_refusal=next_step budget=5s
  good
chain shaky       content_refusal=next_step budget=5s
  busy        attempts=2 schedule=exponential(50ms) gate=shaky
  good
chain limited     content_refusal=next_step budget=5s
  limited     attempts=3 schedule=spaced(10ms)
  good
chain slow        content_refusal=next_step budget=5s
  slow        timeout=300ms
  good
chain locked-out  content_refusal=next_step budget=5s
  no-key      attempts=3
  gone
  good
chain strict      content_refusal=next_step budget=5s
  strict      attempts=3
  good
chain dies-early  content_refusal=next_step budget=5s
  dies-early
  good
chain dies-late   content_refusal=next_step budget=5s
  dies-late
  good
provider gone url=http://127.0.0.1:1
)";
  for (const char* name : {"good", "busy", "limited", "slow", "no-key", "strict", "dies-early", "dies-late"}) {
    text += std::string("provider ") + name + " url=" + url + "/" + name + "\n";
  }
  return text;
}

inline awaitable<void> demonstrate(unsigned short port, Server& server, DemoProviders& providers, bool& good) {
  struct Case {
    const char* chain;
    const char* what;
    unsigned status;
    bool streamed = false;
  };
  const Case cases[] = {
      {"calm", "a provider that works", 200},
      {"shaky", "503, tried again, then the next", 200},
      {"shaky", "the third 503 opens the circuit", 200},
      {"shaky", "it is open: nobody asks the first", 200},
      {"limited", "429 with a hint of five minutes: nobody waits for that", 200},
      {"slow", "no answer within the timeout of 300 ms", 200},
      {"locked-out", "401, then a connection refused", 200},
      {"strict", "400: the request is wrong, and would be elsewhere", 400},
      {"calm", "a stream", 200, true},
      {"dies-early", "a stream that dies before its first output falls back", 200, true},
      {"dies-late", "one that dies after it cannot: the client has half an answer", 200, true},
  };
  for (const Case& c : cases) {
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    co_await stream.async_connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), use_awaitable);
    http::request<http::string_body> request(
        http::verb::post, "/v1/chat/completions", 11,
        json{{"model", c.chain}, {"stream", c.streamed}, {"messages", json::array()}}.dump());
    request.prepare_payload();
    co_await http::async_write(stream, request, use_awaitable);
    beast::flat_buffer buffer;
    http::response<http::string_body> response;
    co_await http::async_read(stream, buffer, response, use_awaitable);
    good = good && response.result_int() == c.status;
    std::cout << c.chain << (c.streamed ? ", streamed" : "") << ": " << c.what << "\n  " << response.result_int();
    if (response.count("X-Answered-By") != 0) std::cout << " by " << response["X-Answered-By"];
    std::cout << ": " << response.body() << '\n'
              << server.trace().of(std::string(response["X-Request-Id"])).to_text(100) << '\n';
  }
  std::cout << "With providers of your own: a file such as\n\n"
               "  gate openai     circuit_breaker failure_threshold=5 open_for=30s\n"
               "  provider openai url=https://api.openai.com/v1 model=gpt-4o-mini key_env=OPENAI_API_KEY\n"
               "  provider local  url=http://127.0.0.1:8000/v1 model=llama\n"
               "  chain chat      content_refusal=next_step budget=60s\n"
               "    openai        attempts=2 schedule=jittered(exponential(200ms)) timeout=30s first_timeout=10s "
               "gate=openai\n"
               "    local\n\n"
               "and then\n\n"
               "  examples/gateway/run --settings FILE --check\n"
               "  examples/gateway/run --settings FILE --port 8080\n"
               "  curl -i http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\\n"
               "    -d '{\"model\": \"chat\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'\n";
  providers.close();
  server.shut_down(std::chrono::milliseconds(0));
}

inline int demonstrate() {
  asio::io_context io(1);
  DemoProviders providers(io);
  Chains chains([text = demo_settings(providers.url())] { return planb::parse_settings(text, "demonstration"); });
  if (const std::string faults = chains.load(); !faults.empty()) {
    std::cerr << faults << '\n';
    return 1;
  }
  Server server(io, chains, true);
  bool good = true;
  const unsigned short port = server.listen(0);
  std::exception_ptr error;
  asio::co_spawn(io, demonstrate(port, server, providers, good), [&](std::exception_ptr e) {
    error = e;
    if (e) io.stop();
  });
  io.run();
  return good && !error ? 0 : 1;
}

}  // namespace gateway
