// Writes pictures and metrics of real runs into a folder, for tests/look/run to show to a browser and to promtool.
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct Client {
  std::string name;
  int failures = 0;  // in each run, then it answers
  bool answers = true;
};

struct Look {
  std::filesystem::path folder;
  planb::Metrics metrics;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }

  // Runs the chain as often as there are labels, and draws it.
  void draw(const std::string& name, const std::vector<Client>& clients, const std::vector<std::string>& labels) const {
    planb::testing::VirtualClock clock;
    const planb::Trace trace;
    std::vector<planb::Step<Client>> steps;
    for (const Client& client : clients) {
      steps.push_back({.name = client.name,
                       .provide = client,
                       .attempts = client.failures + (client.answers ? 1 : 0),
                       .schedule = planb::spaced(40ms)});
    }
    const planb::ExecutionPlan<Client> plan =
        planb::ExecutionPlan<Client>(steps).with_classifier(planb::http_classifier(planb::ContentRefusal::abort));
    for (const std::string& label : labels) {
      const auto call = [&](Client& client, const planb::Attempt& attempt) {
        clock.advance(80ms);
        if (attempt.step_attempt <= client.failures) {
          throw planb::ProviderError(503, "service unavailable: " + client.name);
        }
        return attempt.attempt;
      };
      static_cast<void>(planb::try_run_with_plan(
          plan, call, {.on_event = {metrics.handler(name), trace}, .clock = &clock, .label = label}));
    }
    write(name + ".svg", trace.to_svg());
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Look look{.folder = argv[1], .metrics = {}};
  const std::string chinese = "提供者名字很长很长很长很长很长很长很长";
  const std::string wide(200, 'W');
  look.write("empty.prom", look.metrics.to_prometheus());
  look.draw("one", {{"openai", 0}}, {"request-1"});
  look.draw("sixty", {{"openai", 30, false}, {"anthropic", 29}}, {"request-1"});
  look.draw("chinese", {{chinese, 2, false}, {"本地", 0}}, {"请求一", "请求二"});
  look.draw("long", {{wide, 1, false}, {std::string(200, 'n'), 2, false}, {std::string(200, 'i'), 0}},
            {std::string(200, 'L')});
  look.draw("odd \"name\"\\\n", {{"</text>\n", 1, false}, {"\xFF\\\"", 0}}, {"\x01<b>&amp;"});
  look.write("counted.prom", look.metrics.to_prometheus());
  std::filesystem::rename(look.folder / "odd \"name\"\\\n.svg", look.folder / "odd.svg");
}
