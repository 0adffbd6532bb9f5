// The same as use_planb.cpp, as a loop over a table. It includes what include_standard.cpp does, so that the difference
// is that of the uses.
#include "llm.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

struct Provider {
  std::string name;
  std::function<Llm()> provide;
  int attempts = 1;
  std::chrono::milliseconds first_wait{};
  std::function<bool(const LlmError&)> retry_while = [](const LlmError&) { return true; };
};

std::string answer(const std::string& prompt) {
  static const std::vector<Provider> table{
      {"openai", [] { return Llm{"openai"}; }, 2, 20ms, [](const LlmError& e) { return e.status >= 500; }},
      {"anthropic", [] { return Llm{"anthropic"}; }},
      {"local", [] { return Llm{"local"}; }},
  };
  std::exception_ptr last;
  for (const Provider& provider : table) {
    std::chrono::milliseconds wait = provider.first_wait;
    for (int attempt = 1; attempt <= provider.attempts; ++attempt) {
      try {
        Llm llm = provider.provide();
        return llm.complete(prompt);
      } catch (const LlmError& e) {
        last = std::current_exception();
        if (!provider.retry_while(e)) break;
      } catch (...) {
        last = std::current_exception();
        break;
      }
      if (attempt != provider.attempts) std::this_thread::sleep_for(wait);
      wait *= 2;
    }
  }
  std::rethrow_exception(last);
}
