// The routing: who is asked, in which order, and when it is the next one's turn. Knows nothing of HTTP but its
// statuses.
#pragma once

#include <planb/error/http_classifier.hpp>
#include <planb/gate/circuit_breaker.hpp>
#include <planb/planb.hpp>

#include "provider.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ask {

// For how long a provider that keeps failing is left alone; its own wait hint may make it longer.
inline constexpr std::chrono::seconds time_off(30);

// A breaker that opens after as many failures in a row as one prompt may cost, and at least two.
[[nodiscard]] inline std::shared_ptr<planb::CircuitBreaker> make_breaker(const Provider& provider,
                                                                         const planb::HttpClassifier<>& classifier) {
  // Only what is about the provider counts. It is not to blame for a bad request or a refused prompt.
  const auto counts = [classifier](const planb::Cause& cause) {
    const planb::Verdict verdict = classifier(cause);
    return verdict.action == planb::Action::retry || verdict.alert;
  };
  return std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{
      .failure_threshold = (std::max)(provider.attempts, 2), .open_for = time_off, .counts_as_failure = counts});
}

// One step for each provider, in order, with a breaker of its own, which all runs of the plan share.
// `make_client(provider)` builds the client of one attempt, which has
//   std::string complete(const std::string& prompt, const planb::Attempt&)
//   void stream(const std::string& prompt, const planb::Attempt&, const Emit& emit)
// and throws planb::ProviderError.
template <class MakeClient>
[[nodiscard]] auto make_plan(const std::vector<Provider>& providers, planb::Duration timeout,
                             planb::ContentRefusal refusal, MakeClient make_client) {
  using Client = std::invoke_result_t<const MakeClient&, const Provider&>;
  const planb::HttpClassifier<> classifier = planb::http_classifier(refusal);
  std::vector<planb::Step<Client>> steps;
  for (const Provider& provider : providers) {
    steps.push_back({.name = provider.name,
                     .provide = [make_client, provider] { return make_client(provider); },
                     .attempts = provider.attempts,
                     .schedule = provider.pause,
                     .classify = classifier,
                     .timeout = timeout,
                     .gate = make_breaker(provider, classifier)});
  }
  return planb::ExecutionPlan<Client>(std::move(steps));
}

// The answer, or why there is none; in either case, who was asked.
template <class Client>
[[nodiscard]] planb::PlanResult<std::string> ask_providers(const planb::ExecutionPlan<Client>& plan,
                                                           const std::string& prompt,
                                                           const planb::RunOptions& options) {
  return planb::try_run_with_plan(
      plan, [&](Client& client, const planb::Attempt& attempt) { return client.complete(prompt, attempt); }, options);
}

// Hands each piece of the answer to `sink` as it comes, and gives the name of who answered and the number of the
// attempt. Throws planb::PlanError.
template <class Client, class Sink>
std::pair<std::string, int> stream_from_providers(const planb::ExecutionPlan<Client>& plan, const std::string& prompt,
                                                  Sink&& sink, const planb::StreamOptions& options) {
  return planb::push_with_plan(
      plan,
      [&](Client& client, const auto& emit, const planb::Attempt& attempt) {
        client.stream(prompt, attempt, emit);
        return std::pair(std::string(attempt.step_name), attempt.attempt);
      },
      sink, options);
}

// What somebody should hear of although the next provider may answer, such as "ALERT openai: 401 unauthorized".
[[nodiscard]] inline std::string alert_line(const planb::AttemptFailure& failure) {
  std::string line = "ALERT " + one_line(failure.step_name, 80) + ':';
  if (const std::optional<int> status = failure.cause.status()) line += ' ' + std::to_string(*status);
  const std::string message = one_line(failure.cause.message());
  return message.empty() ? line : line + ' ' + message;
}

}  // namespace ask
