// The routing: who is asked, in which order, and when it is the next one's turn. Knows nothing of HTTP.
#pragma once

#include <planb/planb.hpp>

#include "provider.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ask {

// Whether the same provider may do better in a moment: it is overloaded, it is broken, or there was no answer at all.
// Any other failure is left to the next provider.
[[nodiscard]] inline bool worth_retrying(const planb::ProviderError& error) {
  return error.status == 0 || error.status == 429 || error.status >= 500;
}

// One step for each provider, in order. `make_client(provider)` builds the client of one attempt, which has
//   std::string complete(const std::string& prompt, const planb::Attempt&)
// and throws planb::ProviderError.
template <class MakeClient>
[[nodiscard]] auto make_plan(const std::vector<Provider>& providers, planb::Duration timeout, MakeClient make_client) {
  using Client = std::invoke_result_t<const MakeClient&, const Provider&>;
  std::vector<planb::Step<Client>> steps;
  for (const Provider& provider : providers) {
    steps.push_back({.name = provider.name,
                     .provide = [make_client, provider] { return make_client(provider); },
                     .attempts = provider.attempts,
                     .schedule = provider.pause,
                     .retry_while = worth_retrying,
                     .timeout = timeout});
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

}  // namespace ask
