// ChatClient: one provider over HTTP.
#pragma once

#include <planb/attempt.hpp>
#include <planb/clock.hpp>
#include <planb/error_traits.hpp>
#include <planb/retry_after.hpp>

#include "provider.hpp"
#include "text.hpp"

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
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

 private:
  [[nodiscard]] httplib::Request request(const std::string& prompt) const;
  [[nodiscard]] std::string read_answer(const httplib::Response& response) const;
  [[nodiscard]] planb::ProviderError refusal(const httplib::Response& response, const nlohmann::json& body) const;
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
  const Url& url = provider_.url;
  const std::unique_ptr<httplib::ClientImpl> http = url.tls ? std::make_unique<httplib::SSLClient>(url.host, url.port)
                                                            : std::make_unique<httplib::ClientImpl>(url.host, url.port);

  httplib::Request asked = request(prompt);
  int status = 0;
  std::string body;
  bool too_long = false;
  asked.response_handler = [&](const httplib::Response& response) {
    status = response.status;
    return true;
  };
  asked.content_receiver = [&](const char* data, std::size_t size, auto, auto) {
    too_long = size > most_bytes_ - body.size();
    if (!too_long) body.append(data, size);
    return !too_long;
  };

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

  httplib::Result result = http->send(asked);
  if (too_long) {
    throw planb::ProviderError(status, "the answer is longer than " + std::to_string(most_bytes_) + " bytes");
  }
  if (!result) throw no_answer(result.error());
  result->body = std::move(body);
  return read_answer(*result);
}

inline httplib::Request ChatClient::request(const std::string& prompt) const {
  nlohmann::json body{{"messages", {{{"role", "user"}, {"content", prompt}}}}};
  if (!provider_.model.empty()) body["model"] = provider_.model;
  httplib::Request request;
  request.method = "POST";
  request.path = provider_.url.path;
  request.set_header("Content-Type", "application/json");
  request.set_header("Accept", "application/json");
  if (!provider_.key.empty()) request.set_header("Authorization", "Bearer " + provider_.key);
  request.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return request;
}

inline std::string ChatClient::read_answer(const httplib::Response& response) const {
  const nlohmann::json body = nlohmann::json::parse(response.body, nullptr, false);  // discarded where it is not JSON
  const bool good = response.status >= 200 && response.status < 300;
  if (!good || !detail::member(body, "error").is_null()) throw refusal(response, body);
  if (body.is_discarded()) {
    const std::string start = response.body.empty() ? "nothing" : presentable(response.body);
    throw planb::ProviderError(response.status, "the answer is not JSON but " + one_line(start, 80));
  }
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

inline planb::ProviderError ChatClient::refusal(const httplib::Response& response, const nlohmann::json& body) const {
  const nlohmann::json& error = detail::member(body, "error");
  std::string message = detail::text_of(error.is_string() ? error : detail::member(error, "message"));
  if (message.empty()) message = detail::text_of(detail::member(body, "message"));
  if (message.empty()) message = response.reason;
  std::string code = detail::text_of(detail::member(error, "code"));
  if (code.empty()) code = detail::text_of(detail::member(error, "type"));
  return planb::ProviderError(response.status, presentable(std::move(message)), presentable(std::move(code)),
                              detail::read_wait_hint(response));
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
