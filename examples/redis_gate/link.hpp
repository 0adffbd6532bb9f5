// A way to a Redis server that is never waited for: it answers in time, or it is left alone for a while.
#pragma once

#include <hiredis/hiredis.h>

#include <sys/time.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redis_gate {

struct Server {
  std::string host = "127.0.0.1";  // an address: the look-up of a name has no time limit
  int port = 6379;
  std::chrono::milliseconds answers_within{50};  // to connect, to send and to receive, each
  std::chrono::milliseconds try_again_after{1'000};
};

// The process would end where a server has gone away while something was written to it; hiredis does not prevent that.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

// Safe to use from many threads at once: each takes a connection, and gives it back.
class Link {
 public:
  using Numbers = std::vector<long long>;

  Link(Server server, std::string script) : server_(std::move(server)), script_(std::move(script)) {}

  // Runs the script, in one round trip, and gives the numbers that it returns. None: the server is gone or too slow,
  // and is not asked again for a while; then `lost` says why, the first time.
  std::optional<Numbers> run(std::vector<std::string> arguments, std::string& lost) {
    if (lost_.load() && !may_try_again()) return std::nullopt;
    const NoSigpipe no_sigpipe;
    Connection connection = take();
    if (connection == nullptr) connection = connect(lost);
    if (connection == nullptr) return std::nullopt;
    Reply reply = ask(*connection, "EVALSHA", sha_of(), arguments);
    if (reply != nullptr && reply->type == REDIS_REPLY_ERROR && std::string(reply->str).find("NOSCRIPT") == 0) {
      reply = ask(*connection, "EVAL", script_, arguments);  // the server has forgotten it
    }
    if (reply == nullptr || reply->type != REDIS_REPLY_ARRAY) {
      leave_alone(reply != nullptr && reply->type == REDIS_REPLY_ERROR ? reply->str : connection->errstr, lost);
      return std::nullopt;
    }
    Numbers numbers;
    for (std::size_t i = 0; i != reply->elements; ++i) numbers.push_back(reply->element[i]->integer);
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(connection));
    return numbers;
  }

  // True once after each time it was lost and answers again.
  bool is_back() { return lost_.load() && lost_.exchange(false); }

  [[nodiscard]] bool is_lost() const { return lost_.load(); }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Connection = std::unique_ptr<redisContext, Free>;
  using Reply = std::unique_ptr<redisReply, Free>;
  using Ticks = std::chrono::steady_clock::rep;

  static Reply ask(redisContext& connection, const std::string& command, const std::string& script,
                   const std::vector<std::string>& arguments) {
    std::vector<const char*> words{command.data(), script.data()};
    std::vector<std::size_t> sizes{command.size(), script.size()};
    for (const std::string& argument : arguments) {
      words.push_back(argument.data());
      sizes.push_back(argument.size());
    }
    return Reply(static_cast<redisReply*>(
        redisCommandArgv(&connection, static_cast<int>(words.size()), words.data(), sizes.data())));
  }

  // True for one thread only: the others need not wait to find out.
  bool may_try_again() {
    const std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
    Ticks due = again_at_.load();
    return ticks(now) >= due && again_at_.compare_exchange_strong(due, ticks(now + server_.try_again_after));
  }
  static Ticks ticks(std::chrono::steady_clock::time_point time) { return time.time_since_epoch().count(); }

  Connection take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return nullptr;
    Connection connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }

  Connection connect(std::string& lost) {
    timeval limit{};
    limit.tv_sec = static_cast<time_t>(server_.answers_within.count() / 1'000);
    limit.tv_usec = static_cast<suseconds_t>(server_.answers_within.count() % 1'000 * 1'000);
    Connection connection(redisConnectWithTimeout(server_.host.c_str(), server_.port, limit));
    if (connection == nullptr || connection->err != 0 || redisSetTimeout(connection.get(), limit) != REDIS_OK) {
      leave_alone(connection != nullptr ? connection->errstr : "no memory", lost);
      return nullptr;
    }
    if (!sha_of().empty()) return connection;
    const Reply loaded = ask(*connection, "SCRIPT", "LOAD", {script_});  // once in the life of this object
    if (loaded == nullptr || loaded->type != REDIS_REPLY_STRING) {
      leave_alone(loaded != nullptr && loaded->str != nullptr ? loaded->str : connection->errstr, lost);
      return nullptr;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    sha_.assign(loaded->str, loaded->len);
    return connection;
  }

  std::string sha_of() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return sha_;
  }

  // Connections that are idle now may be to a server that is no more.
  void leave_alone(const std::string& why, std::string& lost) {
    again_at_ = ticks(std::chrono::steady_clock::now() + server_.try_again_after);
    if (!lost_.exchange(true)) lost = why.empty() ? "unknown" : why;
    std::vector<Connection> idle;
    const std::lock_guard<std::mutex> lock(mutex_);
    idle.swap(idle_);
  }

  const Server server_;
  const std::string script_;
  std::atomic<Ticks> again_at_{0};
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::string sha_;
  std::vector<Connection> idle_;
};

}  // namespace redis_gate
