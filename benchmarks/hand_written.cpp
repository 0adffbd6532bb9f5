#include "hand_written.hpp"

#include <chrono>

namespace bench {

// Catches what its providers throw, and nothing else; keeps no error, since the last one is at hand where it gives up.
int call_by_hand(const Table& table, int prompt) {
  for (auto row = table.begin();; ++row) {
    for (int attempt = 1;; ++attempt) {
      try {
        Client client = row->provide();
        return client.complete(prompt);
      } catch (const ApiError& e) {
        if (row->retry_while(e) && attempt != row->attempts) continue;
        if (row + 1 == table.end()) throw;
        break;
      }
    }
  }
}

Reply try_call_by_hand(const Table& table, int prompt) {
  for (auto row = table.begin();; ++row) {
    for (int attempt = 1;; ++attempt) {
      Client client = row->provide();
      Reply reply = client.try_complete(prompt);
      if (reply) return reply;
      if (row->retry_while_value(reply.error()) && attempt != row->attempts) continue;
      if (row + 1 == table.end()) return reply;
      break;
    }
  }
}

Reply try_call_told_by_hand(const Table& table, const Handlers& handlers, int prompt) {
  using SteadyTime = std::chrono::steady_clock::time_point;
  const bool timed = handlers.any();
  int total = 0;
  int index = 0;
  for (auto row = table.begin();; ++row, ++index) {
    for (int attempt = 1;; ++attempt) {
      ++total;
      const SteadyTime started = timed ? std::chrono::steady_clock::now() : SteadyTime{};
      if (handlers.start) handlers.start({total, attempt, index, "one", started});
      Client client = row->provide();
      Reply reply = client.try_complete(prompt);
      if (const auto& handler = reply ? handlers.success : handlers.failure) {
        const SteadyTime at = std::chrono::steady_clock::now();
        handler({total, attempt, index, "one", at, at - started, reply ? ErrorValue{} : reply.error()});
      }
      if (reply) return reply;
      if (row->retry_while_value(reply.error()) && attempt != row->attempts) continue;
      if (row + 1 == table.end()) return reply;
      break;
    }
  }
}

}  // namespace bench
