// A provider: where its chat completions are, and what it is sent.
#pragma once

#include <planb/schedule/combinators.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>
#include <planb/time/clock.hpp>

#include "text.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ask {

// The command line, or what it points to, is wrong. The message is one line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Url {
  bool tls = false;
  std::string host = {};  // an IPv6 address without its brackets
  int port = 80;
  std::string path = "/";  // with its query

  // For messages: host and port.
  [[nodiscard]] std::string authority() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
  }
};

struct Provider {
  std::string name = {};
  Url url = {};
  std::string model = {};         // empty: whatever the provider takes for one
  std::string key_variable = {};  // the environment variable that holds the key; empty: none
  std::string key = {};           // sent to the provider, and never printed
  int attempts = 1;               // in all, counting the first
  planb::Schedule pause = {};     // between them
};

namespace detail {

// The whole number that a text is, or -1.
[[nodiscard]] inline int read_number(std::string_view text, int most) {
  if (text.empty() || text.size() > 9) return -1;
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number <= most ? number : -1;
}

// The path of the chat completions under a base such as "", "/v1" or "/openai/v1"; a full path stays.
[[nodiscard]] inline std::string completions_path(std::string_view base) {
  const std::string_view query = base.substr((std::min)(base.find('?'), base.size()));
  std::string path(base.substr(0, base.size() - query.size()));
  while (path.ends_with('/')) path.pop_back();
  if (!path.ends_with("/chat/completions"))
    path += path.ends_with("/v1") ? "/chat/completions" : "/v1/chat/completions";
  return path + std::string(query);
}

}  // namespace detail

// Reads "http[s]://host[:port][/path]". Throws UsageError.
[[nodiscard]] inline Url parse_url(std::string_view text) {
  const auto refuse = [&](const std::string& why) { throw UsageError("the URL " + in_quotes(text) + ' ' + why); };
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    refuse("must begin with http:// or https://");
  }
  const auto unfit = [](char c) { return static_cast<unsigned char>(c) <= 0x20U || c == 0x7F; };
  if (std::any_of(rest.begin(), rest.end(), unfit)) refuse("has a space or a control character in it");
  if (rest.find('#') != std::string_view::npos) refuse("has a fragment (#...), which is never sent");

  const std::size_t path_at = (std::min)(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, path_at);
  if (authority.find('@') != std::string_view::npos)
    throw UsageError("a URL must not hold a password: use key_env=VAR");
  url.path = detail::completions_path(rest.substr(path_at));

  std::size_t port_at = authority.find(':');
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) refuse("has a [ without its ]");
    url.host = authority.substr(1, close - 1);
    port_at = close + 1 == authority.size() ? std::string_view::npos : close + 1;
    if (port_at != std::string_view::npos && authority[port_at] != ':') refuse("has something between ] and the port");
  } else {
    url.host = authority.substr(0, port_at);
  }
  if (url.host.empty()) refuse("names no host");
  url.port = url.tls ? 443 : 80;
  if (port_at != std::string_view::npos) {
    url.port = detail::read_number(authority.substr(port_at + 1), 65535);
    if (url.port < 1) refuse("has no port from 1 to 65535 after its colon");
  }
  return url;
}

}  // namespace ask
