// Providers on this machine, for the demonstration and for the tests: real sockets, made-up answers.
#pragma once

#include <planb/schedule/combinators.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>

#include "provider.hpp"

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ask {

// What a provider sends, and how far it gets.
struct Reply {
  enum Extent {
    all,
    nothing,            // it never says a word
    half_then_silence,  // half of the body or of its pieces, and no more
    half_then_hang_up,
    endless,  // what does not count: white space or, after all pieces, comments, a bit now and then
  };

  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  httplib::Headers headers = {};
  Extent extent = all;
  std::vector<std::string> pieces = {};  // in place of the body: sent one by one
  std::chrono::milliseconds pause = {};  // before each piece
};

[[nodiscard]] inline Reply chat_answer(const std::string& text) {
  return {.body = nlohmann::json{{"choices", {{{"message", {{"role", "assistant"}, {"content", text}}}}}}}.dump()};
}

[[nodiscard]] inline Reply chat_error(int status, const std::string& message, const std::string& code) {
  return {.status = status, .body = nlohmann::json{{"error", {{"message", message}, {"code", code}}}}.dump()};
}

// Events of a streamed answer: a piece of its text, or an error in its place.
[[nodiscard]] inline std::string token_event(const std::string& text) {
  return "data: " + nlohmann::json{{"choices", {{{"delta", {{"content", text}}}}}}}.dump() + "\n\n";
}

[[nodiscard]] inline std::string error_event(int status, const std::string& message, const std::string& code) {
  const nlohmann::json error{{"status", status}, {"message", message}, {"code", code}};
  return "data: " + nlohmann::json{{"error", error}}.dump() + "\n\n";
}

[[nodiscard]] inline Reply event_stream(std::vector<std::string> events) {
  Reply reply;
  reply.content_type = "text/event-stream";
  reply.pieces = std::move(events);
  return reply;
}

// An answer word by word, as models make it.
[[nodiscard]] inline Reply chat_stream(const std::string& text) {
  std::vector<std::string> events;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = (std::min)(text.find(' ', begin + 1), text.size());
    events.push_back(token_event(text.substr(begin, end - begin)));
  }
  events.emplace_back("data: [DONE]\n\n");
  return event_stream(std::move(events));
}

// A server on 127.0.0.1, on a port that the system chose. Ends with its object, whatever its requests are waiting for.
class LoopbackProvider {
 public:
  using Answer = std::function<Reply(const httplib::Request&)>;  // called on the server's threads

  explicit LoopbackProvider(Answer answer) : answer_(std::move(answer)) {
    // A piece is sent when it is written.
    server_.set_tcp_nodelay(true);
    server_.new_task_queue = [] { return new httplib::ThreadPool(2); };  // the server takes it over
    server_.Post("/v1/chat/completions",
                 [this](const httplib::Request& request, httplib::Response& response) { serve(request, response); });
    port_ = server_.bind_to_any_port("127.0.0.1");
    if (port_ <= 0) throw std::runtime_error("cannot open a port on 127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();  // a server that is not yet running cannot be stopped
  }
  explicit LoopbackProvider(Reply reply) : LoopbackProvider([reply](const httplib::Request&) { return reply; }) {}

  LoopbackProvider(const LoopbackProvider&) = delete;
  LoopbackProvider& operator=(const LoopbackProvider&) = delete;

  ~LoopbackProvider() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    server_.stop();
    thread_.join();
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] Url url() const { return {.host = "127.0.0.1", .port = port_, .path = "/v1/chat/completions"}; }

  // What it was sent, in order.
  [[nodiscard]] std::vector<httplib::Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve(const httplib::Request& request, httplib::Response& response) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const Reply reply = answer_(request);
    response.status = reply.status;
    for (const auto& [name, value] : reply.headers) response.set_header(name, value);
    if (!reply.pieces.empty() && reply.extent != Reply::nothing) {
      response.set_chunked_content_provider(
          reply.content_type, [this, reply](std::size_t, httplib::DataSink& sink) { return send_pieces(reply, sink); });
      return;
    }
    switch (reply.extent) {
      case Reply::all: response.set_content(reply.body, reply.content_type); break;
      case Reply::nothing: wait_for_the_end(); break;
      case Reply::half_then_silence:
      case Reply::half_then_hang_up:
        response.set_content_provider(reply.body.size(), reply.content_type,
                                      [this, reply](std::size_t at, std::size_t, httplib::DataSink& sink) {
                                        if (at == 0) return sink.write(reply.body.data(), reply.body.size() / 2);
                                        if (reply.extent == Reply::half_then_silence) wait_for_the_end();
                                        return false;
                                      });
        break;
      case Reply::endless:
        response.set_chunked_content_provider(reply.content_type, [this](std::size_t, httplib::DataSink& sink) {
          return !at_the_end_within(std::chrono::milliseconds(10)) && sink.write(" ", 1);
        });
        break;
    }
  }

  bool send_pieces(const Reply& reply, httplib::DataSink& sink) {
    const bool half = reply.extent == Reply::half_then_silence || reply.extent == Reply::half_then_hang_up;
    for (std::size_t i = 0; i != (half ? reply.pieces.size() / 2 : reply.pieces.size()); ++i) {
      if (reply.pause > reply.pause.zero() && at_the_end_within(reply.pause)) return false;
      if (!sink.write(reply.pieces[i].data(), reply.pieces[i].size())) return false;
    }
    if (reply.extent == Reply::half_then_silence) wait_for_the_end();
    while (reply.extent == Reply::endless && !at_the_end_within(std::chrono::milliseconds(10))) {
      if (!sink.write(": still here\n", 13)) return false;
    }
    if (reply.extent != Reply::all) return false;
    sink.done();
    return true;
  }

  void wait_for_the_end() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return closing_; });
  }

  bool at_the_end_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return wake_.wait_for(lock, time, [this] { return closing_; });
  }

  Answer answer_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool closing_ = false;
  std::vector<httplib::Request> requests_;
};

namespace detail {

[[nodiscard]] inline std::string echo(const httplib::Request& request) {
  const nlohmann::json body = nlohmann::json::parse(request.body, nullptr, false);
  return "No model here, only an echo: " + body.at("messages").at(0).at("content").get<std::string>();
}

}  // namespace detail

// The chain that is shown without arguments: one provider is down, one is busy, and one is well.
class DemoProviders {
 public:
  [[nodiscard]] std::vector<Provider> list() const {
    Provider openai{.name = "openai", .url = down_.url(), .attempts = 2};
    openai.pause = planb::exponential(std::chrono::milliseconds(20));
    return {openai, {.name = "anthropic", .url = busy_.url()}, {.name = "local", .url = well_.url()}};
  }

 private:
  static Reply busy() {
    Reply reply = chat_error(429, "too many requests", "rate_limit_exceeded");
    reply.headers = {{"Retry-After", "2"}};
    return reply;
  }

  static Reply echo(const httplib::Request& request) { return chat_answer(detail::echo(request)); }

  LoopbackProvider down_{chat_error(503, "service unavailable", "overloaded")};
  LoopbackProvider busy_{busy()};
  LoopbackProvider well_{echo};
};

// The same for streams: one provider hangs up after half of its answer, one has an error in it, one falls silent, and
// one is well. The first three open with a good status, and begin to answer.
class DemoStreams {
 public:
  // For how long the silent one is waited for.
  static constexpr std::chrono::milliseconds patience{400};

  [[nodiscard]] std::vector<Provider> list() const {
    return {{.name = "openai", .url = breaks_off_.url()},
            {.name = "anthropic", .url = fails_.url()},
            {.name = "mistral", .url = falls_silent_.url()},
            {.name = "local", .url = well_.url()}};
  }

 private:
  static Reply echo(const httplib::Request& request) {
    Reply reply = chat_stream(detail::echo(request));
    reply.pause = std::chrono::milliseconds(10);
    return reply;
  }
  static Reply half(const httplib::Request& request, Reply::Extent extent) {
    Reply reply = echo(request);
    reply.extent = extent;
    return reply;
  }
  static Reply error_within(const httplib::Request& request) {
    Reply reply = echo(request);
    reply.pieces.resize(2);
    reply.pieces.push_back(error_event(529, "overloaded", "overloaded_error"));
    return reply;
  }

  LoopbackProvider breaks_off_{[](const httplib::Request& request) { return half(request, Reply::half_then_hang_up); }};
  LoopbackProvider fails_{error_within};
  LoopbackProvider falls_silent_{
      [](const httplib::Request& request) { return half(request, Reply::half_then_silence); }};
  LoopbackProvider well_{echo};
};

}  // namespace ask
