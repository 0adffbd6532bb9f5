// Four downloads at once on one thread, with libcurl's multi interface: providers that are busy, down or silent, and
// nobody waits for anybody else. curl_multi/fetcher.hpp is the part to copy.
#include <planb/planb.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "curl_multi/fetcher.hpp"
#include "curl_multi/loopback.hpp"

using namespace std::chrono_literals;

int main() {
  const fetch::Library library;
  using fetch::Reply;
  const fetch::LoopbackProvider mirror(
      {{"/busy", {{.status = 429, .headers = "Retry-After-Ms: 30\r\n"}, {.body = "busy, from the mirror"}}},
       {"/down", {{.status = 503, .headers = "Retry-After: 3600\r\n"}}},
       {"/silent", {{.kind = Reply::stall}}},
       {"/well", {{.body = "well, from the mirror"}}}});
  const fetch::LoopbackProvider origin({{"/down", {{.body = "down, from the origin"}}},
                                        {"/silent", {{.status = 500}, {.body = "silent, from the origin"}}}});

  // Shared by all runs of the plan.
  const auto breaker = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 5});
  const auto plan =
      planb::ExecutionPlan<fetch::Endpoint>{
          {.name = "mirror",
           .provide = fetch::Endpoint{mirror.url()},
           .attempts = 3,
           .schedule = planb::exponential(10ms),
           .timeout = 200ms,
           .gate = breaker},
          {.name = "origin", .provide = fetch::Endpoint{origin.url()}, .attempts = 2, .schedule = planb::spaced(10ms)},
      }
          .with_classifier(planb::http_classifier<fetch::HttpError>(planb::ContentRefusal::next_step)
                               .on_timeout({planb::Action::next_step}));

  fetch::Fetcher fetcher;
  std::map<std::string, std::string> bodies;
  for (const std::string path : {"/busy", "/down", "/silent", "/well"}) {
    fetcher.start(
        plan, path,
        [&bodies, path](const std::optional<std::string>& body, const planb::RunReport& report) {
          bodies[path] = body.value_or("nothing");
          std::cout << path << ": " << report.to_string() << '\n';
        },
        {.on_event = [path](const planb::Event& event) { std::cout << path << ": " << to_string(event) << '\n'; }});
  }
  fetcher.run();

  const bool good = bodies == std::map<std::string, std::string>{{"/busy", "busy, from the mirror"},
                                                                 {"/down", "down, from the origin"},
                                                                 {"/silent", "silent, from the origin"},
                                                                 {"/well", "well, from the mirror"}};
  return good ? 0 : 1;
}
