// Settings from a document: a tree that an adapter shows.
#include <planb/settings.hpp>

#include "catch.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using planb::DocumentKind;
using planb::parse_settings;
using planb::read_settings;
using planb::SettingsResult;

// The smallest document there can be.
struct Tree {
  DocumentKind kind_ = DocumentKind::nothing;
  std::string text_;
  std::vector<std::string> keys_;
  std::vector<Tree> items_;

  [[nodiscard]] DocumentKind kind() const { return kind_; }
  [[nodiscard]] std::string text() const { return text_; }
  [[nodiscard]] planb::DocumentItems<Tree> items() const {
    planb::DocumentItems<Tree> result;
    for (std::size_t i = 0; i != items_.size(); ++i) result.emplace_back(keys_[i], items_[i]);
    return result;
  }

  void add(std::string key, Tree item) {
    keys_.push_back(std::move(key));
    items_.push_back(std::move(item));
  }
};

Tree t(std::string text) { return {DocumentKind::scalar, std::move(text), {}, {}}; }
Tree map(std::initializer_list<std::pair<std::string, Tree>> items) {
  Tree tree{DocumentKind::map, {}, {}, {}};
  for (const auto& [key, item] : items) tree.add(key, item);
  return tree;
}
Tree list(std::initializer_list<Tree> items) {
  Tree tree{DocumentKind::list, {}, {}, {}};
  for (const Tree& item : items) tree.add("", item);
  return tree;
}
Tree null() { return {}; }

// One that knows its lines, too.
struct PlacedTree {
  Tree tree;
  int line;

  [[nodiscard]] DocumentKind kind() const { return tree.kind(); }
  [[nodiscard]] std::string text() const { return tree.text(); }
  [[nodiscard]] std::vector<std::pair<std::string, PlacedTree>> items() const {
    std::vector<std::pair<std::string, PlacedTree>> result;
    for (const auto& [key, item] : tree.items()) {
      result.push_back({key, {item, line * 10 + static_cast<int>(result.size())}});
    }
    return result;
  }
  [[nodiscard]] planb::Place place() const { return {{}, line, 5, {}}; }
};

// One whose chains are in a file of their own.
struct IncludedTree {
  Tree tree;
  std::string file;

  [[nodiscard]] DocumentKind kind() const { return tree.kind(); }
  [[nodiscard]] std::string text() const { return tree.text(); }
  [[nodiscard]] planb::DocumentItems<IncludedTree> items() const {
    planb::DocumentItems<IncludedTree> result;
    for (const auto& [key, item] : tree.items()) {
      result.emplace_back(key, IncludedTree{item, key == "chains" ? "chains.yaml" : ""});
    }
    return result;
  }
  [[nodiscard]] planb::Place place() const { return {file, 0, 0, {}}; }
};

Tree good_tree() {
  return map({
      {"gates",
       map({{"openai", map({{"kind", t("circuit_breaker")}, {"failure_threshold", t("5")}, {"open_for", t("30s")}})},
            {"rpm", map({{"kind", t("rate_limit")},
                         {"permits", t("500")},
                         {"period", t("1min")},
                         {"patience", t("200ms")}})}})},
      {"providers",
       map({{"openai", map({{"url", t("https://llm.example/v1")}, {"empty", t("")}})}, {"local", null()}})},
      {"chains",
       map({{"chat",
             map({{"budget", t("30s")},
                  {"content_refusal", t("next_step")},
                  {"rules", list({map({{"code", t("weekly_limit*")}, {"action", t("next_step")}, {"alert", t("true")}}),
                                  map({{"status", t("418")}, {"action", t("abort")}, {"alert", t("false")}})})},
                  {"steps", list({map({{"name", t("openai")},
                                       {"attempts", t("2")},
                                       {"schedule", t("jittered(exponential(20ms))")},
                                       {"retry", list({t("rate_limited"), t("5xx"), t("code:a,b")})},
                                       {"gate", list({t("openai"), t("rpm")})}}),
                                  map({{"name", t("large one")}, {"provider", t("openai")}, {"enter", t("4xx,quota")}}),
                                  t("local")})}})}})},
  });
}

constexpr std::string_view same_as_text = R"(
gate openai circuit_breaker failure_threshold=5 open_for=30s
gate rpm rate_limit permits=500 period=1min patience=200ms
provider openai url=https://llm.example/v1 empty=""
provider local
chain chat budget=30s content_refusal=next_step
  rule code=weekly_limit* next_step alert
  rule status=418 abort
  openai attempts=2 schedule=jittered(exponential(20ms)) retry=rate_limited,5xx,code:"a,b" gate=openai,rpm
  "large one" provider=openai enter=4xx,quota
  local
)";

// A chain of one step, with these knobs.
Tree with_step(std::initializer_list<std::pair<std::string, Tree>> knobs) {
  Tree step = map({{"name", t("s")}});
  for (const auto& [key, item] : knobs) step.add(key, item);
  return map({{"chains", map({{"c", map({{"content_refusal", t("abort")}, {"steps", list({step})}})}})}});
}

Tree with_rule(Tree rule) {
  return map({{"chains", map({{"c", map({{"content_refusal", t("abort")},
                                         {"rules", list({std::move(rule)})},
                                         {"steps", list({t("s")})}})}})}});
}

}  // namespace

TEST_CASE("a document gives the settings that the text gives") {
  const SettingsResult result = read_settings(good_tree());
  INFO(result.error().message());
  REQUIRE(result.has_value());
  CHECK(to_string(*result) == to_string(*parse_settings(same_as_text)));
  CHECK(*result == *parse_settings(same_as_text));
  CHECK(result->chains.at("chat").steps.at(1).place.path == "chains.chat.steps[1].name");
  CHECK(result->providers.at("openai").find("url")->place.path == "providers.openai.url");

  CHECK(read_settings(map({})).value() == planb::Settings{});
  CHECK(read_settings(null()).value() == planb::Settings{});

  // Whatever the order of the keys is, and with nothing for what may be empty.
  const SettingsResult other =
      read_settings(map({{"chains", map({{"c", map({{"steps", list({map({{"attempts", t("2")},
                                                                         {"retry", t("code:f(a,b),code:c)d,503")},
                                                                         {"gate", t("g")},
                                                                         {"name", t("s")}})})},
                                                    {"rules", null()},
                                                    {"content_refusal", t("abort")}})}})},
                         {"gates", map({{"g", map({{"ratio", t("0.5")}, {"kind", t("retry_budget")}})}})}}));
  INFO(other.error().message());
  REQUIRE(other.has_value());
  CHECK(*other == *parse_settings("gate g retry_budget ratio=0.5\nchain c content_refusal=abort\n"
                                  "  s attempts=2 retry=code:\"f(a,b)\",code:\"c)d\",503 gate=g"));
}

TEST_CASE("a fault in a document has its path") {
  const std::pair<Tree, const char*> rows[] = {
      {t("chains"), "found \"chains\", expected a map of gates, providers and chains"},
      {list({}), "found \"a list\", expected a map of gates, providers and chains"},
      {map({{"chain", map({})}}),
       "chain: found \"chain\", expected gates, providers or chains; did you mean \"chains\"?"},
      {map({{"gates", list({})}}), "gates: found \"a list\", expected a map of gates by name"},
      {map({{"gates", map({{"g", t("x")}})}}), "gates.g: found \"x\", expected a map of a gate's kind and knobs"},
      {map({{"gates", map({{"g", map({{"kind", list({})}})}})}}),
       "gates.g.kind: found \"a list\", expected a kind of gate: circuit_breaker, rate_limit, concurrency_limit or "
       "retry_budget"},
      {map({{"gates", map({{"", map({{"kind", t("retry_budget")}})}})}}),
       "gates.\"\": found nothing, expected the name of a gate"},
      {map({{"providers", list({})}}), "providers: found \"a list\", expected a map of providers by name"},
      {map({{"providers", map({{"p", t("x")}})}}), "providers.p: found \"x\", expected a map of a provider's options"},
      {map({{"chains", t("x")}}), "chains: found \"x\", expected a map of chains by name"},
      {map({{"gates", map({{"g", map({})}})}}),
       "gates.g: found nothing, expected a kind of gate: circuit_breaker, rate_limit, concurrency_limit or "
       "retry_budget"},
      {map({{"gates", map({{"g", map({{"kind", t("rate_limt")}, {"permits", t("1")}, {"period", t("1s")}})}})}}),
       "gates.g.kind: found \"rate_limt\", expected a kind of gate: circuit_breaker, rate_limit, concurrency_limit or "
       "retry_budget; did you mean \"rate_limit\"?"},
      {map({{"gates", map({{"g h", map({{"kind", t("concurrency_limit")}})}})}}),
       "gates.\"g h\".kind: found nothing, expected limit=, the number of calls at a time"},
      {map({{"providers", map({{"p", map({{"url", list({})}})}})}}),
       "providers.p.url: found \"a list\", expected a text; \"\" for an empty one"},
      {map({{"providers", map({{"p", map({{"url", null()}})}})}}),
       "providers.p.url: found \"null\", expected a text; \"\" for an empty one"},
      {map({{"chains", map({{"c", t("x")}})}}),
       "chains.c: found \"x\", expected a map of a chain's knobs, rules and steps"},
      {map({{"chains", map({{"c", map({{"content_refusal", t("abort")}})}})}}),
       "chains.c: found nothing, expected at least one step in the chain"},
      {map({{"chains", map({{"c", map({{"steps", list({t("s")})}})}})}}),
       "chains.c: found nothing, expected content_refusal=, what a refusal means: next_step, next_guarded or abort"},
      {map({{"chains", map({{"c", map({{"content_refusal", t("abort")}, {"steps", map({})}})}})}}),
       "chains.c.steps: found \"a map\", expected a list of steps"},
      {map({{"chains", map({{"c", map({{"content_refusal", t("abort")}, {"steps", null()}})}})}}),
       "chains.c: found nothing, expected at least one step in the chain"},
      {map({{"chains",
             map({{"c", map({{"content_refusal", t("abort")}, {"rules", map({})}, {"steps", list({t("s")})}})}})}}),
       "chains.c.rules: found \"a map\", expected a list of rules"},
      {map({{"chains", map({{"c", map({{"content_refusal", t("abort")},
                                       {"steps", list({map({{"attempts", t("2")}, {"name", list({})}})})}})}})}}),
       "chains.c.steps[0].name: found \"a list\", expected the name of a step"},
      {map({{"chains", map({{"c", map({{"content_refusal", t("abort")}, {"steps", list({list({})})}})}})}}),
       "chains.c.steps[0]: found \"a list\", expected a step: its name, or a map"},
      {map({{"chains", map({{"c", map({{"content_refusal", t("abort")}, {"steps", list({t("s"), map({})})}})}})}}),
       "chains.c.steps[1]: found nothing, expected the name of a step"},
      {map({{"chains", map({{"c", map({{"content_refusal", t("abort")}, {"steps", list({t("s"), t("s")})}})}})}}),
       "chains.c.steps[1]: found \"s\", expected each step once in a chain; chains.c.steps[0] has it already"},
      {with_step({{"attemps", t("2")}}),
       "chains.c.steps[0].attemps: found \"attemps\", expected a knob of a step: provider, attempts, schedule, retry, "
       "enter, max_wait, timeout, first_timeout, reserve or gate; did you mean \"attempts\"?"},
      {with_step({{"attempts", map({})}}),
       "chains.c.steps[0].attempts: found \"a map\", expected a whole number from 1 to 2147483647, or unlimited"},
      {with_step({{"timeout", t("30")}}),
       "chains.c.steps[0].timeout: found \"30\", expected a unit behind it: ns, us, ms, s, min, h or d"},
      {with_step({{"schedule", t("up_to(spced(1s), 2)")}}),
       "chains.c.steps[0].schedule, column 7: found \"spced\", expected a schedule such as spaced(10ms); did you mean "
       "\"spaced\"?"},
      {with_step({{"gate", list({t("g")})}}),
       "chains.c.steps[0].gate[0]: found \"g\", expected the name of a gate that is defined"},
      {with_step({{"gate", list({})}}), "chains.c.steps[0].gate: found \"a list\", expected the name of a gate"},
      {with_step({{"gate", list({t("g"), list({})})}}),
       "chains.c.steps[0].gate: found \"a list\", expected the name of a gate"},
      {with_step({{"gate", list({list({}), t("g")})}}),
       "chains.c.steps[0].gate: found \"a list\", expected the name of a gate"},
      {with_step({{"timeout", t("1s")}, {"timeout", t("2s")}}),
       "chains.c.steps[0].timeout: found \"timeout\", expected each knob once"},
      {with_rule(t("x")), "chains.c.rules[0]: found \"x\", expected a map of a rule's knobs"},
      {with_rule(map({{"code", t("x")}})),
       "chains.c.rules[0]: found nothing, expected an action: retry, next_step, next_guarded or abort"},
      {with_rule(map({{"code", t("x")}, {"action", t("abrt")}})),
       "chains.c.rules[0].action: found \"abrt\", expected retry, next_step, next_guarded or abort; did you mean "
       "\"abort\"?"},
      {with_rule(map({{"code", t("x")}, {"action", list({t("abort")})}})),
       "chains.c.rules[0].action: found \"a list\", expected retry, next_step, next_guarded or abort"},
      {with_rule(map({{"code", t("x")}, {"action", t("abort")}, {"alert", list({})}})),
       "chains.c.rules[0].alert: found \"a list\", expected true or false"},
      {with_rule(map({{"code", list({t("x")})}, {"action", t("abort")}})),
       "chains.c.rules[0].code: found \"a list\", expected a code's pattern such as weekly_limit*"},
      {with_rule(map({{"code", t("x")}, {"action", t("abort")}, {"alert", t("yes")}})),
       "chains.c.rules[0].alert: found \"yes\", expected true or false"},
      {with_rule(map({{"code", t("x")}, {"action", t("abort")}, {"abort", t("true")}})),
       "chains.c.rules[0].abort: found \"abort\", expected a knob of a rule: code, status, text, kind or class"},
      // Keys twice, of which an adapter may show both.
      {map({{"gates", map({})}, {"gates", map({})}}), "gates: found \"gates\", expected each key once"},
      {map({{"gates", map({{"g", map({{"kind", t("circuit_breaker")}, {"kind", t("retry_budget")}})}})}}),
       "gates.g.kind: found \"kind\", expected each key once"},
      {map({{"chains",
             map({{"c",
                   map({{"content_refusal", t("abort")}, {"steps", list({t("s")})}, {"steps", list({t("t")})}})}})}}),
       "chains.c.steps: found \"steps\", expected each key once"},
      {with_step({{"name", t("other")}}), "chains.c.steps[0].name: found \"name\", expected each key once"},
      {with_rule(map({{"code", t("x")}, {"action", t("abort")}, {"action", t("retry")}})),
       "chains.c.rules[0].action: found \"retry\", expected one action in a rule"},
      {with_rule(map({{"code", t("x")}, {"action", t("abort")}, {"alert", t("false")}, {"alert", t("true")}})),
       "chains.c.rules[0].alert: found \"alert\", expected each key once"},
  };
  for (const auto& [tree, message] : rows) {
    CHECK(read_settings(tree).error().message() == message);
  }
}

TEST_CASE("a document that knows its lines has them in its faults, with the file's name") {
  const SettingsResult result = read_settings(PlacedTree{with_step({{"timeout", t("soon")}}), 1}, "a.yaml");
  REQUIRE(result.faults().size() == 1);
  CHECK(result.faults()[0].place == planb::Place{"a.yaml", 100101, 5, "chains.c.steps[0].timeout"});

  // In the text of a value, too: how it is written in the file is not known.
  const SettingsResult inside = read_settings(PlacedTree{with_step({{"schedule", t("up_to(spced(1s), 2)")}}), 1}, "a");
  REQUIRE(inside.faults().size() == 1);
  CHECK(inside.faults()[0].place == planb::Place{"a", 100101, 5, "chains.c.steps[0].schedule"});
}

TEST_CASE("a document that is put together of files says itself in which one a fault is") {
  const SettingsResult result = read_settings(IncludedTree{with_step({{"timeout", t("soon")}}), {}}, "main.yaml");
  REQUIRE(result.faults().size() == 1);
  CHECK(result.faults()[0].place == planb::Place{"chains.yaml", 0, 0, "chains.c.steps[0].timeout"});

  const SettingsResult other = read_settings(IncludedTree{map({{"gates", t("x")}}), {}}, "main.yaml");
  REQUIRE(other.faults().size() == 1);
  CHECK(other.faults()[0].place == planb::Place{"main.yaml", 0, 0, "gates"});

  const SettingsResult root = read_settings(IncludedTree{map({{"gates", t("x")}}), "root.yaml"}, "main.yaml");
  REQUIRE(root.faults().size() == 1);
  CHECK(root.faults()[0].place == planb::Place{"root.yaml", 0, 0, "gates"});
}

TEST_CASE("a document may refer to a gate that code has registered") {
  CHECK(read_settings(with_step({{"gate", t("shared")}}), planb::SettingsSource{"a.json", {"shared"}}).has_value());
  CHECK(read_settings(with_step({{"gate", t("other")}}), planb::SettingsSource{"a.json", {"shared"}})
            .error()
            .message()
            .starts_with("a.json: chains.c.steps[0].gate: found \"other\""));
}

TEST_CASE("a document that is too deep is a fault, and no harm") {
  Tree tree = t("x");
  for (int i = 0; i != 1000; ++i) tree = list({tree});
  CHECK(read_settings(with_step({{"gate", tree}})).faults().size() == 1);
}
