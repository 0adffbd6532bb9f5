// The gateway's own side: requests of clients, each run through its chain by a coroutine of one thread.
#pragma once

#include "chains.hpp"

#include <planb/coro.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace gateway {

using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

inline awaitable<void> sleep_for(planb::Duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(use_awaitable);
}

// What a client is told of a failure, in OpenAI's form.
struct Problem {
  int status = 500;
  std::string type;
  std::string message;
  std::optional<planb::Duration> retry_after = std::nullopt;

  [[nodiscard]] std::string body() const {
    return json{{"error", {{"message", message}, {"type", type}, {"code", type}}}}.dump(-1, ' ', false,
                                                                                        json::error_handler_t::replace);
  }
};

// A failed run as a status: what is wrong with the request is the client's, the rest is the providers' and so 5xx, but
// for a rate limit, which clients know to wait for. A provider's 401 is about the gateway's key, not the client's.
inline Problem problem_of(const planb::PlanError& error) {
  const planb::RunReport& report = error.report();
  Problem problem{502, "upstream_error", error.what()};
  if (const std::optional<planb::TimePoint> at = report.retry_at()) {
    problem.retry_after = std::max(*at - planb::SteadyClock().now(), planb::Duration());
  }
  const planb::StepReport* const last =
      report.last_failed ? &report.steps[static_cast<std::size_t>(*report.last_failed)] : nullptr;
  const planb::FailureClass why =
      last != nullptr && last->verdict ? last->verdict->failure_class : planb::FailureClass::unknown;
  using enum planb::FailureClass;
  if (error.end() == planb::RunEnd::deadline) {
    problem.status = 504;
    problem.type = "deadline_exceeded";
  } else if (last == nullptr) {  // no provider was asked
    problem.status = 503;
    problem.type = "no_provider_ready";
  } else if (why == invalid_request || why == context_too_long || why == content_refused) {
    problem.status = last->cause->status().value_or(400);
    problem.type = last->cause->code().empty() ? std::string(to_label(why)) : last->cause->code();
    problem.message = last->cause->message();
    problem.retry_after.reset();
  } else if (why == rate_limited) {
    problem.status = 429;
    problem.type = "rate_limited";
  } else if (why == timeout) {
    problem.status = 504;
    problem.type = "upstream_timeout";
  } else if (why == overloaded || why == connection) {
    problem.status = 503;
    problem.type = "upstream_unavailable";
  }
  return problem;
}

class Server {
 public:
  Server(asio::io_context& io, Chains& chains, bool quiet = false) : io_(io), chains_(chains), quiet_(quiet) {
    tls_.set_default_verify_paths();
    tls_.set_verify_mode(asio::ssl::verify_peer);
  }

  // The port, which is another than the one asked for where that is 0.
  unsigned short listen(unsigned short port) {
    acceptor_ = tcp::acceptor(io_, {asio::ip::address_v4::loopback(), port});
    asio::co_spawn(io_, accept(), asio::detached);
    return acceptor_.local_endpoint().port();
  }

  // No new requests. Those in flight may end by themselves for so long, then they are told.
  void shut_down(std::chrono::milliseconds grace) {
    stopping_ = true;
    acceptor_.close();
    for (Session* session : sessions_) {
      if (session->idle) session->client.cancel();
    }
    asio::co_spawn(io_, end_sessions(grace), asio::detached);
  }

  [[nodiscard]] const planb::Trace& trace() const { return trace_; }

  void log(const json& line) {
    if (!quiet_) std::cout << line.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }

 private:
  using Request = http::request<http::string_body>;

  struct Session {
    explicit Session(tcp::socket socket) : client(std::move(socket)) {}

    beast::tcp_stream client;
    asio::cancellation_signal cancel;
    bool idle = true;
  };

  // One request, until it is answered.
  struct Call {
    Session& session;
    Request request;
    std::string id;
    std::string chain = {};
    std::string provider = {};  // the step that answers
    bool head_sent = false;     // of a stream
    bool client_left = false;
    int status = 0;
    std::optional<Problem> problem = std::nullopt;
    std::string answer = {};
  };

  awaitable<void> accept() {
    for (;;) {
      boost::system::error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(use_awaitable, error));
      if (stopping_) co_return;
      if (error) {  // no file descriptor is left, say
        co_await sleep_for(100ms);
        continue;
      }
      const auto session = std::make_shared<Session>(std::move(socket));
      sessions_.insert(session.get());
      asio::co_spawn(io_, serve(*session),
                     asio::bind_cancellation_slot(session->cancel.slot(), [this, session](std::exception_ptr) {
                       sessions_.erase(session.get());
                       if (stopping_ && sessions_.empty()) ended_.cancel();
                     }));
    }
  }

  awaitable<void> end_sessions(std::chrono::milliseconds grace) {
    for (int i = 0; i != 2 && !sessions_.empty(); ++i) {
      ended_.expires_after(i == 0 ? grace : 1000ms);
      boost::system::error_code error;
      co_await ended_.async_wait(asio::redirect_error(use_awaitable, error));
      if (i == 0) {
        for (Session* session : std::set(sessions_)) session->cancel.emit(asio::cancellation_type::terminal);
      }
    }
    if (!sessions_.empty()) std::_Exit(1);  // in getaddrinfo(), which nothing ends
  }

  awaitable<void> serve(Session& session) {
    session.client.socket().set_option(tcp::no_delay(true));
    beast::flat_buffer buffer;
    for (bool keep = true; keep && !stopping_;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(16 * 1024 * 1024);
      session.client.expires_after(60s);
      boost::system::error_code error;
      session.idle = true;
      co_await http::async_read(session.client, buffer, parser, asio::redirect_error(use_awaitable, error));
      session.idle = false;
      if (error) break;
      session.client.expires_never();
      Call call{session, parser.release(), next_id()};
      keep = call.request.keep_alive();
      const planb::TimePoint began = planb::SteadyClock().now();
      try {
        co_await answer(call);
      } catch (const std::exception&) {  // the client's socket
        call.client_left = true;
      }
      if (call.client_left) call.status = 499;
      keep = keep && !call.client_left;
      json line{{"event", "request"},
                {"label", call.id},
                {"method", std::string(call.request.method_string())},
                {"path", std::string(call.request.target())},
                {"status", call.status},
                {"duration", std::chrono::duration<double>(planb::SteadyClock().now() - began).count()}};
      if (!call.chain.empty()) line["chain"] = call.chain;
      if (!call.provider.empty()) line["answered_by"] = call.provider;
      if (call.problem) line["error"] = call.problem->message;
      log(line);
    }
    boost::system::error_code ignored;
    session.client.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  awaitable<void> answer(Call& call) {
    const std::string target(call.request.target());
    if (call.request.method() == http::verb::post && target == "/v1/chat/completions") {
      co_await chat(call);
    } else if (call.request.method() != http::verb::get) {
      co_await refuse(call, 405, "method_not_allowed", "GET, or POST of /v1/chat/completions");
    } else if (target == "/healthz") {
      co_await reply(call, 200, "ok\n", "text/plain");
    } else if (target == "/v1/models") {
      co_await reply(call, 200, chains_.models().dump(), "application/json");
    } else if (target == "/metrics") {
      co_await reply(call, 200, chains_.metrics(), "text/plain; version=0.0.4");
    } else if (target == "/admin/chains") {
      co_await reply(call, 200, chains_.explain(), "text/plain; charset=utf-8");
    } else if (target == "/admin/gates") {
      co_await reply(call, 200, chains_.gates(), "application/json");
    } else if (const planb::Trace trace = trace_.of(target.substr(target.rfind('/') + 1));
               target.starts_with("/admin/traces/") && trace.size() != 0) {
      co_await reply(call, 200, trace.to_svg(), "image/svg+xml");
    } else {
      co_await refuse(call, 404, "not_found", "nothing is at " + target);
    }
  }

  // --- A request through its chain

  awaitable<void> chat(Call& call) {
    const json body = json::parse(call.request.body(), nullptr, false);
    if (!body.is_object() || !body.contains("model") || !body["model"].is_string()) {
      co_return co_await refuse(call, 400, "invalid_request", "a JSON object with a model is expected");
    }
    call.chain = body["model"].get<std::string>();
    const Chain* const found = chains_.find(call.chain);
    if (found == nullptr) {
      co_return co_await refuse(call, 404, "model_not_found", "there is no chain " + std::exchange(call.chain, {}));
    }
    const Chain chain = *found;  // settings may change while this runs
    planb::StreamOptions options = chain.configured.stream_options;
    if (const auto header = call.request.find("X-Timeout"); header != call.request.end()) {
      const auto time = planb::parse_duration(std::string(header->value()));
      if (!time) {
        co_return co_await refuse(call, 400, "invalid_request", "X-Timeout is a duration, such as 2s or 500ms");
      }
      options.budget = std::min<planb::Duration>(options.budget.value_or(*time), *time);
    }
    options.label = call.id;
    options.on_event = [this, &call, counted = chain.counted](const planb::Event& event) {
      counted(event);
      trace_(event);
      told(call, event);
    };
    const bool streamed = body.contains("stream") && body["stream"] == true;
    // The one that ends first cancels the other, and with it whatever the chain is doing.
    co_await (run(call, chain, body, streamed, std::move(options)) || client_leaves(call));
    co_await asio::this_coro::reset_cancellation_state();  // where all sessions are ended, the client is told
    if (call.client_left) co_return;
    if (call.head_sent) {
      call.session.client.expires_after(60s);
      const std::string end = call.problem ? "data: " + call.problem->body() + "\n\n" : "data: [DONE]\n\n";
      co_await asio::async_write(call.session.client, http::make_chunk(asio::buffer(end)), use_awaitable);
      co_await asio::async_write(call.session.client, http::make_chunk_last(), use_awaitable);
    } else if (call.problem) {
      co_await tell_problem(call);
    } else if (streamed) {  // a stream without a single event
      co_await reply(call, 200, "data: [DONE]\n\n", "text/event-stream");
    } else {
      co_await reply(call, 200, std::move(call.answer), "application/json");
    }
  }

  // Never throws, so that `||` ends with it.
  awaitable<void> run(Call& call, const Chain& chain, const json& body, bool streamed, planb::StreamOptions options) {
    try {
      if (streamed) {
        const auto producer = planb::committing(
            [&](Endpoint& endpoint, auto& emit, const planb::Attempt& attempt) {
              return stream(endpoint, attempt, body, tls_, emit);
            },
            [](const Chunk& chunk) { return chunk.is_output; }, 64);
        const auto sink = [&](Chunk chunk) { return send(call, std::move(chunk.data)); };
        co_await planb::co_push_with_plan<awaitable<void>>(chain.configured, producer, sink, sleep_for,
                                                           std::move(options));
      } else {
        planb::RunOptions plain = chain.configured.run_options;
        plain.budget = options.budget;
        plain.label = options.label;
        plain.on_event = std::move(options.on_event);
        const auto ask = [&](Endpoint& endpoint, const planb::Attempt& attempt) {
          return complete(endpoint, attempt, body, tls_);
        };
        call.answer = co_await planb::co_run_with_plan<awaitable<std::string>>(chain.configured, ask, sleep_for,
                                                                               std::move(plain));
      }
    } catch (const planb::PlanError& e) {
      call.problem = problem_of(e);
    } catch (const boost::system::system_error&) {  // cancelled, or the sink's: the client's socket
      call.problem = Problem{503, "shutting_down", "the gateway is shutting down"};
      call.client_left = call.client_left || !stopping_;
    } catch (const std::exception& e) {
      call.problem = Problem{500, "internal_error", e.what()};
    }
  }

  // Returns when the client has hung up. One that sends its next request already is not watched any more.
  static awaitable<void> client_leaves(Call& call) {
    tcp::socket& socket = call.session.client.socket();
    co_await socket.async_wait(tcp::socket::wait_read, use_awaitable);
    char byte = 0;
    boost::system::error_code error;
    socket.non_blocking(true);
    socket.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
    if (error) {
      call.client_left = true;
      co_return;
    }
    co_await sleep_for(planb::Duration::max() / 4);
  }

  // The first element brings the head with it: a failure before that is a status.
  awaitable<void> send(Call& call, std::string data) {
    call.session.client.expires_after(60s);
    if (!std::exchange(call.head_sent, true)) {
      http::response<http::empty_body> head(http::status::ok, 11);
      head.chunked(true);
      head.keep_alive(call.request.keep_alive());
      head.set(http::field::content_type, "text/event-stream");
      head.set(http::field::cache_control, "no-cache");
      name(call, head);
      call.status = 200;
      http::response_serializer<http::empty_body> serializer(head);
      co_await http::async_write_header(call.session.client, serializer, use_awaitable);
    }
    data = "data: " + data + "\n\n";
    co_await asio::async_write(call.session.client, http::make_chunk(asio::buffer(data)), use_awaitable);
  }

  // A line for each attempt and for each step that was passed over; and who answers.
  void told(Call& call, const planb::Event& event) {
    if (const auto* const first = event.get_if<planb::FirstOutput>()) call.provider = first->step_name;
    if (const auto* const success = event.get_if<planb::AttemptSuccess>()) call.provider = success->step_name;
    const bool is_line = event.get_if<planb::AttemptSuccess>() != nullptr ||
                         event.get_if<planb::AttemptFailure>() != nullptr ||
                         event.get_if<planb::StepSkipped>() != nullptr;
    if (is_line && !quiet_) std::cout << planb::to_json(event, {.wall = std::chrono::system_clock::now()}) << std::endl;
  }

  // --- Answers

  template <class Response>
  static void name(const Call& call, Response& response) {
    response.set(http::field::server, "planb-gateway");
    response.set("X-Request-Id", call.id);
    if (!call.provider.empty()) response.set("X-Answered-By", call.provider);
  }

  static awaitable<void> reply(Call& call, int status, std::string body, std::string_view type,
                               std::optional<planb::Duration> retry_after = std::nullopt) {
    http::response<http::string_body> response;
    response.result(static_cast<unsigned>(status));
    response.version(call.request.version());
    response.body() = std::move(body);
    response.keep_alive(call.request.keep_alive());
    response.set(http::field::content_type, type);
    name(call, response);
    if (retry_after) {  // in whole seconds, and never too early
      response.set(http::field::retry_after,
                   std::to_string(std::chrono::ceil<std::chrono::seconds>(*retry_after).count()));
    }
    response.prepare_payload();
    call.status = status;
    call.session.client.expires_after(60s);
    co_await http::async_write(call.session.client, response, use_awaitable);
    call.session.client.expires_never();
  }

  static awaitable<void> tell_problem(Call& call) {
    return reply(call, call.problem->status, call.problem->body(), "application/json", call.problem->retry_after);
  }

  // No coroutine, and no Problem made where one is awaited: GCC 12 destroys such a temporary twice.
  static awaitable<void> refuse(Call& call, int status, std::string_view type, std::string message) {
    call.problem = Problem{status, std::string(type), std::move(message)};
    return tell_problem(call);
  }

  std::string next_id() { return "req-" + start_ + "-" + std::to_string(++requests_); }

  asio::io_context& io_;
  Chains& chains_;
  bool quiet_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer ended_{io_};
  std::set<Session*> sessions_;
  planb::Trace trace_;
  std::string start_ = std::to_string(std::random_device()() % 1'000'000);
  long requests_ = 0;
  bool stopping_ = false;
};

}  // namespace gateway
