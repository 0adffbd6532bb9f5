// ChatClient: one provider over HTTP.
#pragma once

#include <planb/error/error_traits.hpp>
#include <planb/error/retry_after.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/time/clock.hpp>

#include "provider.hpp"
#include "sse.hpp"
#include "text.hpp"

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#if PLANB_HAS_STOP_TOKEN
#include <stop_token>
#endif

namespace ask {

// Asks an OpenAI-compatible endpoint. Everything that goes wrong is a planb::ProviderError: with the HTTP status where
// there was an answer, also one of 200 that is of no use or that refuses the prompt.
class ChatClient {
 public:
  // `most_bytes` is the longest answer that it takes.
  explicit ChatClient(Provider provider, std::size_t most_bytes = 16U << 20U)
      : provider_(std::move(provider)), most_bytes_(most_bytes) {}

  // The text of the answer. Over when the attempt is: its time bounds connecting, sending and receiving together. What
  // the system takes to look up a host's name is the one thing that cannot be cut short.
  [[nodiscard]] std::string complete(const std::string& prompt, const planb::Attempt& attempt) const;

  // The same in pieces, as the provider makes them: calls emit(std::string) for each, while it returns true. Here the
  // attempt's time bounds the provider's silence. A provider that knows no streaming gives all of it in one piece.
  template <class Emit>
  void stream(const std::string& prompt, const planb::Attempt& attempt, const Emit& emit) const;

 private:
  // An answer in pieces, so far.
  struct Progress {
    std::string refusal = {};
    bool complete = false;
  };

  [[nodiscard]] httplib::Request request(const std::string& prompt, bool stream) const;
  [[nodiscard]] httplib::Result send(httplib::Request& request, const planb::Attempt& attempt) const;
  [[nodiscard]] planb::ProviderError too_long(int status) const;
  [[nodiscard]] std::string read_answer(const httplib::Response& response) const;
  [[nodiscard]] std::string read_event(const ServerSentEvent& event, Progress& progress, int status) const;
  [[nodiscard]] planb::ProviderError refusal(const nlohmann::json& body, int status, std::string phrase,
                                             std::optional<planb::Duration> wait_hint = {}) const;
  [[nodiscard]] planb::ProviderError not_json(int status, const std::string& text) const;
  [[nodiscard]] planb::ProviderError no_answer(httplib::Error error) const;

  // What the provider says may quote the key.
  [[nodiscard]] std::string presentable(std::string text) const;

  Provider provider_;
  std::size_t most_bytes_;
};

namespace detail {

// The wait hint among the headers, the finest one first.
[[nodiscard]] inline std::optional<planb::Duration> read_wait_hint(const httplib::Response& response) {
  const auto now = std::chrono::system_clock::now();
  for (const char* const header : {"retry-after-ms", "x-ms-retry-after-ms", "retry-after"}) {
    if (const auto hint = planb::parse_retry_after(header, response.get_header_value(header), now)) return hint;
  }
  return std::nullopt;
}

// A member of a JSON object, or null.
[[nodiscard]] inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found != object.end() ? *found : none;
}

[[nodiscard]] inline std::string text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_integer() ? value.dump() : std::string();
}

}  // namespace detail

inline std::string ChatClient::complete(const std::string& prompt, const planb::Attempt& attempt) const {
  httplib::Request asked = request(prompt, false);
  int status = 0;
  std::string body;
  bool long_body = false;
  asked.response_handler = [&](const httplib::Response& response) {
    status = response.status;
    return true;
  };
  asked.content_receiver = [&](const char* data, std::size_t size, auto, auto) {
    long_body = size > most_bytes_ - body.size();
    if (!long_body) body.append(data, size);
    return !long_body;
  };

  httplib::Result result = send(asked, attempt);
  if (long_body) throw too_long(status);
  if (!result) throw no_answer(result.error());
  result->body = std::move(body);
  return read_answer(*result);
}

template <class Emit>
void ChatClient::stream(const std::string& prompt, const planb::Attempt& attempt, const Emit& emit) const {
  httplib::Request asked = request(prompt, true);
  int status = 0;
  bool in_events = false;
  std::size_t bytes = 0;
  std::string body;  // of an answer that is not in events
  SseParser parser;
  Progress progress;
  bool wanted = true;
  std::exception_ptr thrown;  // not through the HTTP library

  const auto on_event = [&](const ServerSentEvent& event) {
    std::string text = read_event(event, progress, status);
    if (!text.empty()) wanted = emit(std::move(text));
    return wanted && !progress.complete;
  };
  asked.response_handler = [&](const httplib::Response& response) {
    status = response.status;
    in_events =
        status >= 200 && status < 300 && response.get_header_value("Content-Type").starts_with("text/event-stream");
    return true;
  };
  asked.content_receiver = [&](const char* data, std::size_t size, auto, auto) {
    try {
      bytes += size;
      if (bytes > most_bytes_) throw too_long(status);
      if (in_events) {
        // A sign of life that is no text does not count.
        return parser.feed({data, size}, on_event) && attempt.timeout() != planb::Duration::zero();
      }
      body.append(data, size);
      return true;
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  };

  httplib::Result result = send(asked, attempt);
  if (thrown != nullptr) std::rethrow_exception(thrown);
  if (!wanted) return;
  if (!progress.complete) {
    if (!result) throw no_answer(result.error());
    if (!in_events) {
      result->body = std::move(body);
      emit(read_answer(*result));
      return;
    }
    parser.finish([&](const ServerSentEvent& event) {
      const bool whole = event.data == "[DONE]" || nlohmann::json::accept(event.data);
      return whole && on_event(event);
    });
    if (!wanted) return;
    if (!progress.complete) throw planb::ProviderError("the answer of " + provider_.url.authority() + " has no end");
  }
  if (!progress.refusal.empty()) throw planb::ProviderError(status, presentable(progress.refusal), "refusal");
}

// The text in an event of the answer; empty where it has none.
inline std::string ChatClient::read_event(const ServerSentEvent& event, Progress& progress, int status) const {
  if (event.data == "[DONE]") {
    progress.complete = true;
    return {};
  }
  if (event.data.empty()) return {};
  const nlohmann::json body = nlohmann::json::parse(event.data, nullptr, false);  // discarded where it is not JSON
  if (const nlohmann::json& error = detail::member(body, "error"); event.name == "error" || !error.is_null()) {
    // The status of the answer was sent before the trouble began, and says nothing of it. Some name one in the event;
    // otherwise it is the code that tells.
    int named = 0;
    for (const nlohmann::json* const value : {&detail::member(error, "status"), &detail::member(error, "code")}) {
      if (named < 400) named = detail::read_number(detail::text_of(*value), 599);
    }
    throw refusal(body, named < 400 ? 0 : named, body.is_discarded() ? event.data : "an error in the answer");
  }
  if (body.is_discarded()) throw not_json(status, event.data);

  const nlohmann::json& choices = detail::member(body, "choices");
  if (!choices.is_array() || choices.empty()) return {};  // such as the usage
  const nlohmann::json& delta = detail::member(choices[0], "delta");
  progress.refusal += detail::text_of(detail::member(delta, "refusal"));
  if (const std::string reason = detail::text_of(detail::member(choices[0], "finish_reason")); !reason.empty()) {
    // After text as well: what was said before it does not count as an answer.
    if (reason == "content_filter") throw planb::ProviderError(status, "the content was filtered", reason);
    progress.complete = true;
  }
  const nlohmann::json& content = detail::member(delta, "content");
  return content.is_string() ? content.get<std::string>() : std::string();
}

inline httplib::Result ChatClient::send(httplib::Request& request, const planb::Attempt& attempt) const {
  const Url& url = provider_.url;
  const std::unique_ptr<httplib::ClientImpl> http = url.tls ? std::make_unique<httplib::SSLClient>(url.host, url.port)
                                                            : std::make_unique<httplib::ClientImpl>(url.host, url.port);
  if (const std::optional<planb::Duration> left = attempt.timeout()) {
    // Each bounds one wait for the network. A little more than what is left: where the time for all of them together is
    // up, it is the stop token that says so, and the attempt's deadline has then passed.
    const auto longest = std::chrono::ceil<std::chrono::milliseconds>(*left) + std::chrono::milliseconds(1);
    http->set_connection_timeout(longest);
    http->set_write_timeout(longest);
    http->set_read_timeout(longest);
  }
#if PLANB_HAS_STOP_TOKEN
  const std::stop_callback hang_up(attempt.stop_token(), [&http] { http->stop(); });
#endif
  return http->send(request);
}

inline httplib::Request ChatClient::request(const std::string& prompt, bool stream) const {
  nlohmann::json body{{"messages", {{{"role", "user"}, {"content", prompt}}}}};
  if (!provider_.model.empty()) body["model"] = provider_.model;
  if (stream) body["stream"] = true;
  httplib::Request request;
  request.method = "POST";
  request.path = provider_.url.path;
  request.set_header("Content-Type", "application/json");
  request.set_header("Accept", stream ? "text/event-stream, application/json" : "application/json");
  if (!provider_.key.empty()) request.set_header("Authorization", "Bearer " + provider_.key);
  request.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return request;
}

inline std::string ChatClient::read_answer(const httplib::Response& response) const {
  const nlohmann::json body = nlohmann::json::parse(response.body, nullptr, false);  // discarded where it is not JSON
  const bool good = response.status >= 200 && response.status < 300;
  if (!good || !detail::member(body, "error").is_null()) {
    throw refusal(body, response.status, response.reason, detail::read_wait_hint(response));
  }
  if (body.is_discarded()) throw not_json(response.status, response.body);
  const nlohmann::json& choices = detail::member(body, "choices");
  const nlohmann::json none;
  const nlohmann::json& choice = choices.is_array() && !choices.empty() ? choices[0] : none;
  const nlohmann::json& message = detail::member(choice, "message");
  // A refusal comes with status 200; its code is what tells it from an answer.
  if (const std::string reason = detail::text_of(detail::member(choice, "finish_reason")); reason == "content_filter") {
    throw planb::ProviderError(response.status, "the content was filtered", reason);
  }
  if (const std::string refused = detail::text_of(detail::member(message, "refusal")); !refused.empty()) {
    throw planb::ProviderError(response.status, presentable(refused), "refusal");
  }
  const nlohmann::json& content = detail::member(message, "content");
  if (!content.is_string()) {
    throw planb::ProviderError(response.status, "the answer has no text in choices[0].message.content");
  }
  return content.get<std::string>();
}

inline planb::ProviderError ChatClient::refusal(const nlohmann::json& body, int status, std::string phrase,
                                                std::optional<planb::Duration> wait_hint) const {
  const nlohmann::json& error = detail::member(body, "error");
  std::string message = detail::text_of(error.is_string() ? error : detail::member(error, "message"));
  if (message.empty()) message = detail::text_of(detail::member(body, "message"));
  if (message.empty()) message = std::move(phrase);
  std::string code = detail::text_of(detail::member(error, "code"));
  if (code.empty()) code = detail::text_of(detail::member(error, "type"));
  return planb::ProviderError(status, presentable(std::move(message)), presentable(std::move(code)), wait_hint);
}

inline planb::ProviderError ChatClient::not_json(int status, const std::string& text) const {
  const std::string start = text.empty() ? "nothing" : presentable(text);
  return planb::ProviderError(status, "the answer is not JSON but " + one_line(start, 80));
}

inline planb::ProviderError ChatClient::too_long(int status) const {
  return planb::ProviderError(status, "the answer is longer than " + std::to_string(most_bytes_) + " bytes");
}

inline planb::ProviderError ChatClient::no_answer(httplib::Error error) const {
  const std::string where = provider_.url.authority();
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout: return planb::ProviderError("cannot connect to " + where);
    case httplib::Error::SSLConnection: return planb::ProviderError("no TLS connection to " + where);
    case httplib::Error::SSLLoadingCerts: return planb::ProviderError("cannot load this system's certificates");
    case httplib::Error::SSLServerVerification:
      return planb::ProviderError("the certificate of " + where + " is not valid");
    default: return planb::ProviderError("no complete answer from " + where);
  }
}

inline std::string ChatClient::presentable(std::string text) const {
  const std::string& key = provider_.key;
  for (std::size_t at = 0; !key.empty() && (at = text.find(key, at)) != std::string::npos;) {
    text.replace(at, key.size(), "[key]");
    at += std::string_view("[key]").size();
  }
  if (!is_utf8(text)) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80U; }, '?');
  }
  return one_line(text);
}

}  // namespace ask
