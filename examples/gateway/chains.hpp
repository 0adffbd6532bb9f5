// The gateway's chains: read from a file of settings, checked, explained, and changed while requests run.
#pragma once

#include "upstream.hpp"

#include "../settings/json.hpp"

#include <planb/observe.hpp>
#include <planb/settings.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace gateway {

// provider NAME url=https://HOST[:PORT][/PATH] [model=NAME] [key_env=VARIABLE]
inline planb::SettingsOr<Endpoint> endpoint_of(const planb::StepSettings& step,
                                               const planb::ProviderSettings* options) {
  planb::SettingsFaults faults;
  if (options == nullptr) {
    return planb::SettingsFaults{{{step.provider ? step.provider->place : step.place,
                                   step.provider_name(),
                                   "the name of a provider that the file has",
                                   {}}}};
  }
  Endpoint endpoint;
  endpoint.model = step.provider_name();
  for (const auto& [key, value] : options->options) {
    if (key == "url") {
      std::string url = value.text;
      endpoint.tls = url.starts_with("https://");
      if (!endpoint.tls && !url.starts_with("http://")) {
        faults.list.push_back({value.place, url, "a URL that begins with http:// or https://", {}});
        continue;
      }
      url.erase(0, url.find("//") + 2);
      const std::size_t slash = std::min(url.find('/'), url.size());
      const std::string authority = url.substr(0, slash);
      const std::size_t colon = authority.rfind(':');
      endpoint.path = url.substr(slash);
      if (endpoint.path.ends_with('/')) endpoint.path.pop_back();
      endpoint.host = authority.substr(0, colon);
      endpoint.port = colon != std::string::npos ? authority.substr(colon + 1) : endpoint.tls ? "443" : "80";
      if (endpoint.host.empty()) faults.list.push_back({value.place, value.text, "a URL with a host", {}});
    } else if (key == "model") {
      endpoint.model = value.text;
    } else if (key == "key_env") {
      const char* const set = std::getenv(value.text.c_str());
      if (set == nullptr || *set == '\0') {
        faults.list.push_back({value.place, value.text, "the name of an environment variable that has the key", {}});
      } else {
        endpoint.key = set;
      }
    } else {
      faults.list.push_back({value.place, key, "an option of a provider: url, model or key_env", {}});
    }
  }
  if (options->find("url") == nullptr) faults.list.push_back({options->place, {}, "url=, where its API is", {}});
  if (!faults.list.empty()) return faults;
  return endpoint;
}

inline planb::SettingsResult read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return planb::SettingsFaults{{{{name}, {}, "a file that can be read", {}}}};
  if (!name.ends_with(".json")) return planb::parse_settings(text, name);
  try {
    const auto document = nlohmann::json::parse(text);
    return planb::read_settings(JsonDocument{&document}, name);
  } catch (const json::exception& e) {
    return planb::SettingsFaults{{{{name}, e.what(), "a JSON document", {}}}};
  }
}

// What a request runs. A copy goes on with it, whatever the file says meanwhile.
struct Chain {
  planb::ConfiguredChain<Endpoint> configured;
  planb::EventHandler counted;
};

class Chains {
 public:
  // `read` gives the settings as they are now.
  explicit Chains(std::function<planb::SettingsResult()> read) : read_(std::move(read)) {}

  // Empty, or all that is wrong with the settings; then everything is as it was.
  std::string load() {
    const planb::SettingsResult settings = read_();
    if (!settings) return settings.error().message();
    auto made = planb::make_plans<Endpoint>(*settings, endpoint_of, gates_);
    if (!made) return made.error().message();
    std::map<std::string, Chain> chains;
    for (auto& [name, configured] : *made) {
      // What a client has got cannot be taken back: after output nothing is tried again, whatever the file says.
      configured.stream_options.partial = planb::PartialStream::prevent_retry;
      configured.run_options.failure = configured.stream_options.failure = planb::FailureStyle::aggregate;
      chains.emplace(name, Chain{std::move(configured), metrics_.handler(name)});
    }
    chains_ = std::move(chains);
    return {};
  }

  [[nodiscard]] const Chain* find(const std::string& name) const {
    const auto found = chains_.find(name);
    return found != chains_.end() ? &found->second : nullptr;
  }

  [[nodiscard]] std::string explain() const {
    std::string text;
    for (const auto& [name, chain] : chains_) {
      const planb::ConfiguredChain<Endpoint>& of = chain.configured;
      planb::Explanation call = planb::explain(of, of.run_options);
      // Of use in a stream, and each chain is for both.
      std::erase_if(call.findings, [](const auto& f) { return f.kind == planb::FindingKind::first_timeout_unused; });
      text += "chain " + name + "\n" + to_string(call) + "\nstreamed:\n" +
              to_string(planb::explain(of, of.stream_options)) + "\n\n";
    }
    return text;
  }

  [[nodiscard]] json models() const {
    json list = json::array();
    for (const auto& [name, chain] : chains_)
      list.push_back({{"id", name}, {"object", "model"}, {"created", 0}, {"owned_by", "planb"}});
    return {{"object", "list"}, {"data", list}};
  }

  [[nodiscard]] std::string gates() const {
    std::string list;
    for (const planb::GateSnapshot& gate : gates_.snapshots()) list += (list.empty() ? "" : ",\n") + to_json(gate);
    return "[" + list + "]\n";
  }

  [[nodiscard]] std::string metrics() const { return metrics_.to_prometheus(); }

 private:
  std::function<planb::SettingsResult()> read_;
  planb::GateRegistry gates_;
  planb::Metrics metrics_;
  std::map<std::string, Chain> chains_;
};

}  // namespace gateway
