// A Redis server of one's own on this machine, for the demonstration and for the tests.
#pragma once

#include <hiredis/hiredis.h>

#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace redis_gate {

// Starts a program; its output is ours.
inline pid_t start(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t process = 0;
  if (::posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot start " + words.front());
  }
  return process;
}

// Its exit status; -1: a signal ended it.
inline int end_of(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class LoopbackServer {
 public:
  LoopbackServer() {
    for (int tries = 0; tries != 10; ++tries) {  // a port that is free now may be taken in a moment
      port_ = free_port();
      if (start_again()) return;
    }
    throw std::runtime_error("redis-server does not start");
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer() { kill(); }

  [[nodiscard]] int port() const { return port_; }

  // On the same port, with nothing in it. False: it has ended.
  bool start_again() {
    process_ = start({"redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1", "--save", "",
                      "--appendonly", "no", "--logfile", "/dev/null"});
    for (int i = 0; i != 1'500; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (::waitpid(process_, nullptr, WNOHANG) != 0) break;
      if (ask("PING") == "PONG") return true;
    }
    kill();
    return false;
  }
  void kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    end_of(process_);
    process_ = 0;
  }
  void pause() const { ::kill(process_, SIGSTOP); }
  void go_on() const { ::kill(process_, SIGCONT); }

  // What it answers to a command; empty: nothing.
  [[nodiscard]] std::string ask(const std::string& command) const {
    redisContext* const connection = redisConnect("127.0.0.1", port_);
    std::string answer;
    if (connection != nullptr && connection->err == 0) {
      auto* const reply = static_cast<redisReply*>(redisCommand(connection, command.c_str()));
      if (reply != nullptr && reply->str != nullptr) answer = reply->str;
      if (reply != nullptr && reply->type == REDIS_REPLY_INTEGER) answer = std::to_string(reply->integer);
      if (reply != nullptr) freeReplyObject(reply);
    }
    if (connection != nullptr) redisFree(connection);
    return answer;
  }

 private:
  static int free_port() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const bool bound = socket >= 0 && ::bind(socket, where, size) == 0 && ::getsockname(socket, where, &size) == 0;
    if (socket >= 0) ::close(socket);
    if (!bound) throw std::runtime_error("cannot open a port on 127.0.0.1");
    return ntohs(address.sin_port);
  }

  int port_ = 0;
  pid_t process_ = 0;
};

}  // namespace redis_gate
