// A provider on this machine, for the demonstration and for the tests: a real socket, made-up answers.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fetch {

// What a provider does with one request.
struct Reply {
  enum Kind {
    answer,
    stall,   // it never says a word
    gather,  // an answer, but not before `together` such requests are there
  };

  int status = 200;
  std::string body = {};
  std::string headers = {};  // whole lines, such as "Retry-After: 1\r\n"
  Kind kind = answer;
};

// An HTTP server on 127.0.0.1, on a port that the system chose: one thread, a request for each connection. What it does
// is written down for each path, call by call; the last one repeats.
class LoopbackProvider {
 public:
  using Script = std::map<std::string, std::vector<Reply>>;

  explicit LoopbackProvider(Script script, std::size_t together = 0) : script_(std::move(script)), together_(together) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (listener_ < 0 || ::pipe(end_.data()) != 0 || ::bind(listener_, where, size) != 0 ||
        ::listen(listener_, 64) != 0 || ::getsockname(listener_, where, &size) != 0) {
      throw std::runtime_error("cannot open a port on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }

  LoopbackProvider(const LoopbackProvider&) = delete;
  LoopbackProvider& operator=(const LoopbackProvider&) = delete;

  ~LoopbackProvider() {
    ::close(end_[1]);  // its reader wakes up
    thread_.join();
    ::close(end_[0]);
    ::close(listener_);
  }

  [[nodiscard]] std::string url(const std::string& path = {}) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }

 private:
  void serve() {
    std::vector<int> stalled;
    std::vector<std::pair<int, std::string>> gathered;
    std::map<std::string, std::size_t> calls;
    for (;;) {
      std::array<pollfd, 2> ready{{{listener_, POLLIN, 0}, {end_[0], POLLIN, 0}}};
      ::poll(ready.data(), ready.size(), -1);
      if (ready[1].revents != 0) break;
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      const std::vector<Reply>& replies = script_[path_of(connection)];
      if (replies.empty()) {
        send(connection, text_of({.status = 404}));
        continue;
      }
      const std::size_t call = calls[path_]++;
      const Reply& reply = replies[call < replies.size() ? call : replies.size() - 1];
      switch (reply.kind) {
        case Reply::answer: send(connection, text_of(reply)); break;
        case Reply::stall: stalled.push_back(connection); break;
        case Reply::gather:
          gathered.emplace_back(connection, text_of(reply));
          if (gathered.size() < together_) break;
          for (const auto& [waiting, text] : gathered) send(waiting, text);
          gathered.clear();
          break;
      }
    }
    for (const int connection : stalled) ::close(connection);
    for (const auto& [connection, text] : gathered) ::close(connection);
  }

  // Reads a request without a body. The path is also in path_.
  const std::string& path_of(int connection) {
    const timeval patience{1, 0};
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string request;
    std::array<char, 1024> part{};
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(connection, part.data(), part.size(), 0);
      if (got <= 0) break;
      request.append(part.data(), static_cast<std::size_t>(got));
    }
    const std::size_t from = request.find(' ') + 1;
    path_ = request.substr(from, request.find(' ', from) - from);
    return path_;
  }

  static std::string text_of(const Reply& reply) {
    return "HTTP/1.1 " + std::to_string(reply.status) + " -\r\nContent-Length: " + std::to_string(reply.body.size()) +
           "\r\nConnection: close\r\n" + reply.headers + "\r\n" + reply.body;
  }

  // And hangs up.
  static void send(int connection, const std::string& text) {
#ifdef MSG_NOSIGNAL
    constexpr int flags = MSG_NOSIGNAL;  // a client that is gone is no reason to end the program
#else
    constexpr int flags = 0;
#endif
    static_cast<void>(::send(connection, text.data(), text.size(), flags));
    ::close(connection);
  }

  Script script_;
  const std::size_t together_;
  int listener_ = -1;
  std::array<int, 2> end_{-1, -1};
  int port_ = 0;
  std::string path_;
  std::thread thread_;
};

}  // namespace fetch
