// The same settings as text, JSON, YAML and TOML, and what is told of a fault in each.
#include <planb/settings.hpp>

#include "catch.hpp"

#include <string>

#include "settings/load.hpp"

namespace {

const std::string folder = SETTINGS_FOLDER;

std::string faults_of(const std::string& name, const std::string& text) {
  return read_text_as(name, text).error().message();
}

}  // namespace

TEST_CASE("settings are the same in every form") {
  const planb::SettingsResult text = load_settings(folder + "/chat.conf");
  INFO(text.error().message());
  REQUIRE(text.has_value());
  CHECK(text->chains.at("chat").steps.size() == 4);
  for (const char* form : {"json", "yaml", "toml"}) {
    const planb::SettingsResult document = load_settings(folder + "/chat." + form);
    INFO(form << ": " << document.error().message());
    REQUIRE(document.has_value());
    CHECK(to_string(*document) == to_string(*text));
    CHECK(*document == *text);
  }
}

TEST_CASE("a fault is told where it stands in a document") {
  CHECK(faults_of("a.json", R"({"gates": {"g": {"kind": "concurrency_limit", "limit": 0.5}}})") ==
        "a.json: gates.g.limit: found \"0.5\", expected a whole number from 1 to 2147483647");
  CHECK(faults_of("a.yaml", "gates:\n  g:\n    kind: concurrency_limit\n    limit: many\n") ==
        "a.yaml:4:12: gates.g.limit: found \"many\", expected a whole number from 1 to 2147483647");
  CHECK(faults_of("a.toml", "[gates.g]\nkind = \"concurrency_limit\"\nlimit = -8\n") ==
        "a.toml:3:9: gates.g.limit: found \"-8\", expected a whole number from 1 to 2147483647");
}

TEST_CASE("what is no document is a fault too") {
  CHECK(load_settings(folder + "/none.json").faults().at(0).expected == "a file that can be read");
}
