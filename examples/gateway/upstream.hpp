// A provider, over Boost.Beast: one request, its answer as a whole or as a stream of server-sent events. What goes
// wrong is a planb::ProviderError with what the provider said of it.
#pragma once

#include <planb/planb.hpp>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast.hpp>
#include <boost/beast/ssl.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using json = nlohmann::ordered_json;  // the keys of a request stay as they came: a schema is read in their order

// Where a step's requests go: the context of a plan.
struct Endpoint {
  bool tls = false;
  std::string host;
  std::string port;
  std::string path;   // of the API, such as /v1
  std::string model;  // what the provider calls it
  std::string key;    // never told to anybody but the provider
};

// Text of the provider's, which may repeat the key that it was sent.
inline std::string without_key(std::string text, const Endpoint& endpoint) {
  if (endpoint.key.empty()) return text;
  for (std::size_t at = 0; (at = text.find(endpoint.key, at)) != std::string::npos;)
    text.replace(at, endpoint.key.size(), "***");
  return text;
}

// What {"error": {"message": ..., "type": ..., "code": ...}} says. A code that is a number is a status.
inline planb::ProviderError error_of(int status, const std::string& body, const Endpoint& endpoint,
                                     planb::OptionalDuration wait = {}) {
  std::string message = body;
  std::string code;
  const json document = json::parse(body, nullptr, false);
  if (document.is_object() && document.contains("error")) {
    const json& error = document["error"];
    if (error.is_string()) message = error.get<std::string>();
    if (error.is_object()) {
      const auto text = [&](const char* name) {
        return error.contains(name) && error[name].is_string() ? error[name].get<std::string>() : "";
      };
      message = text("message");
      code = text("code").empty() ? text("type") : text("code");
      if (error.contains("code") && error["code"].is_number_integer() && status == 200)
        status = error["code"].get<int>();
    }
  }
  return planb::ProviderError(status == 200 ? 0 : status, without_key(message.substr(0, 1000), endpoint), code, wait);
}

// Whether what came with a 200 is none of an answer.
inline bool is_error(const json& document) {
  return !document.is_object() || !document.value("error", json()).is_null();
}

// The blocks of text/event-stream, as they come in pieces.
class EventStream {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      if (c != '\r') buffer_ += c;
    }
  }
  // The data of the next event; comments and other fields are left out.
  std::optional<std::string> next() {
    for (std::size_t end; (end = buffer_.find("\n\n")) != std::string::npos;) {
      std::string data;
      for (std::size_t at = 0; at < end;) {
        const std::string_view line = std::string_view(buffer_).substr(at, buffer_.find('\n', at) - at);
        at += line.size() + 1;
        if (!line.starts_with("data:")) continue;
        if (!data.empty()) data += '\n';
        data += line.substr(line.starts_with("data: ") ? 6 : 5);
      }
      buffer_.erase(0, end + 2);
      if (!data.empty()) return data;
    }
    return std::nullopt;
  }

 private:
  std::string buffer_;
};

// A piece of a streamed answer. It is output where the client gets something of it: the role alone is not.
struct Chunk {
  std::string data;
  bool is_output = true;
};

inline Chunk chunk_of(std::string data, const Endpoint& endpoint) {
  const json document = json::parse(data, nullptr, false);
  if (!document.is_object()) throw planb::ProviderError("an event that is no JSON object");
  if (is_error(document)) throw error_of(200, data, endpoint);
  bool is_output = false;
  for (const json& choice : document.value("choices", json::array())) {
    is_output = is_output || !choice.value("finish_reason", json()).is_null();
    const json delta = choice.value("delta", json::object());
    for (const auto& [name, value] : delta.items())
      is_output = is_output || (name != "role" && !value.is_null() && value != "");
  }
  return {std::move(data), is_output};
}

// One request to a provider. Beast's streams have a deadline for each operation, and Asio cancels them with the
// coroutine; a look-up of a name can be neither hurried nor cancelled, for getaddrinfo() cannot.
template <class Stream>
class Exchange {
 public:
  Exchange(Stream& stream, const Endpoint& endpoint, const planb::Attempt& attempt)
      : stream_(stream), endpoint_(endpoint), attempt_(attempt) {}

  awaitable<void> send(const std::string& body) {
    tcp::resolver resolver(co_await asio::this_coro::executor);
    const auto addresses = co_await resolver.async_resolve(endpoint_.host, endpoint_.port, use_awaitable);
    expire();
    co_await beast::get_lowest_layer(stream_).async_connect(addresses, use_awaitable);
    beast::get_lowest_layer(stream_).socket().set_option(tcp::no_delay(true));
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>) {
      std::string name = endpoint_.host;
      SSL_ctrl(stream_.native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
      stream_.set_verify_callback(asio::ssl::host_name_verification(endpoint_.host));
      co_await stream_.async_handshake(asio::ssl::stream_base::client, use_awaitable);
    }
    http::request<http::string_body> request(http::verb::post, endpoint_.path + "/chat/completions", 11, body);
    request.set(http::field::host, endpoint_.host);
    request.set(http::field::content_type, "application/json");
    if (!endpoint_.key.empty()) request.set(http::field::authorization, "Bearer " + endpoint_.key);
    request.prepare_payload();
    co_await http::async_write(stream_, request, use_awaitable);

    parser_.body_limit(boost::none);
    co_await http::async_read_header(stream_, buffer_, parser_, use_awaitable);
    const int status = static_cast<int>(parser_.get().result_int());
    if (status == 200) co_return;
    std::string text;
    while (text.size() < 65536) {
      const std::string piece = co_await read();
      if (piece.empty()) break;
      text += piece;
    }
    std::vector<std::pair<std::string, std::string>> headers;
    for (const auto& field : parser_.get()) headers.emplace_back(field.name_string(), field.value());
    throw error_of(status, text, endpoint_,
                   planb::parse_retry_after(status, headers, std::chrono::system_clock::now()));
  }

  // The next piece of the body; empty: there is no more.
  awaitable<std::string> read() {
    if (parser_.is_done()) co_return std::string();
    expire();
    std::string piece(16384, '\0');
    parser_.get().body().data = piece.data();
    parser_.get().body().size = piece.size();
    boost::system::error_code error;
    co_await http::async_read_some(stream_, buffer_, parser_, asio::redirect_error(use_awaitable, error));
    if (error && error != http::error::need_buffer) throw boost::system::system_error(error);
    piece.resize(piece.size() - parser_.get().body().size);
    if (piece.empty() && !parser_.is_done()) co_return co_await read();
    co_return piece;
  }

 private:
  // In a stream the attempt's deadline moves with each element.
  void expire() {
    beast::tcp_stream& stream = beast::get_lowest_layer(stream_);
    if (const std::optional<planb::TimePoint> due = attempt_.deadline()) {
      stream.expires_at(*due);
    } else {
      stream.expires_never();
    }
  }

  Stream& stream_;
  const Endpoint& endpoint_;
  const planb::Attempt& attempt_;
  beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
};

// Sends the request, and lets `use(exchange)` read the answer.
template <class T, class Use>
awaitable<T> with_provider(const Endpoint& endpoint, const planb::Attempt& attempt, json request,
                           asio::ssl::context& tls, Use use) {
  request["model"] = endpoint.model;
  const std::string body = request.dump();
  const auto executor = co_await asio::this_coro::executor;
  try {
    if (endpoint.tls) {
      beast::ssl_stream<beast::tcp_stream> stream(executor, tls);
      Exchange exchange(stream, endpoint, attempt);
      co_await exchange.send(body);
      co_return co_await use(exchange);
    }
    beast::tcp_stream stream(executor);
    Exchange exchange(stream, endpoint, attempt);
    co_await exchange.send(body);
    co_return co_await use(exchange);
  } catch (const boost::system::system_error& e) {
    throw planb::ProviderError(e.code().message());  // without a status: nobody answered
  }
}

// The answer as a whole.
inline awaitable<std::string> complete(const Endpoint& endpoint, const planb::Attempt& attempt, const json& request,
                                       asio::ssl::context& tls) {
  return with_provider<std::string>(endpoint, attempt, request, tls, [&](auto& exchange) -> awaitable<std::string> {
    std::string answer;
    for (;;) {
      const std::string piece = co_await exchange.read();
      if (piece.empty()) break;
      answer += piece;
    }
    if (is_error(json::parse(answer, nullptr, false))) throw error_of(200, answer, endpoint);
    co_return answer;
  });
}

// The answer's events, each with `co_await emit(chunk)`, without the last, [DONE].
template <class Emit>
awaitable<void> stream(const Endpoint& endpoint, const planb::Attempt& attempt, const json& request,
                       asio::ssl::context& tls, Emit& emit) {
  return with_provider<void>(endpoint, attempt, request, tls, [&](auto& exchange) -> awaitable<void> {
    EventStream events;
    for (;;) {
      while (std::optional<std::string> data = events.next()) {
        if (*data == "[DONE]") co_return;
        const bool wanted = co_await emit(chunk_of(*std::move(data), endpoint));
        if (!wanted) co_return;
      }
      const std::string piece = co_await exchange.read();
      if (piece.empty()) throw planb::ProviderError("the stream ended before it was done");
      events.add(piece);
    }
  });
}

}  // namespace gateway
