// The text form of settings: what it says, and how it is written.
#include <iomanip>  // whose std::quoted was once taken for the one of the library

#include <planb/plan/step.hpp>
#include <planb/settings.hpp>

#include "catch.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::ChainSettings;
using planb::parse_settings;
using planb::RuleSettings;
using planb::Settings;
using planb::SettingsResult;
using planb::StepSettings;

Settings good(std::string_view text) {
  const SettingsResult result = parse_settings(text);
  INFO(text);
  INFO(result.error().message());
  REQUIRE(result.has_value());
  return *result;
}

std::string faults(std::string_view text) { return parse_settings(text).error().message(); }

// Of the one chain of the text.
ChainSettings chain_of(std::string_view text) {
  const Settings settings = good(text);
  REQUIRE(settings.chains.size() == 1);
  return settings.chains.begin()->second;
}

StepSettings step_with(const std::string& knobs) {
  return chain_of("chain c content_refusal=abort\n  s " + knobs).steps.at(0);
}

RuleSettings rule_with(const std::string& words) {
  return chain_of("chain c content_refusal=abort\n  rule " + words + "\n  s").rules.at(0);
}

// The settings, written and read again, are the same, and written the same.
void check_round_trip(const Settings& settings) {
  const std::string text = to_string(settings);
  INFO(text);
  const SettingsResult again = parse_settings(text);
  INFO(again.error().message());
  REQUIRE(again.has_value());
  CHECK(*again == settings);
  CHECK(to_string(*again) == text);
}

constexpr std::string_view example = R"(# shared by all chains
gate openai       circuit_breaker failure_threshold=5 open_for=30s
gate openai-rpm   rate_limit permits=500 period=1min burst=50 patience=200ms

# the application's own: kept as it stands, for it to read
provider openai   url=https://llm.example/v1 model=large key_env=LLM_KEY
provider local    url=http://127.0.0.1:8000/v1

chain chat   budget=30s content_refusal=next_step partial=prevent_retry
  rule code=weekly_limit* next_step alert
  openai     attempts=2 schedule=jittered(exponential(20ms)) retry=rate_limited,overloaded,5xx timeout=30s first_timeout=10s gate=openai,openai-rpm
  large      provider=openai enter=context_too_long
  anthropic  timeout=20s reserve=5s
  local
)";

}  // namespace

TEST_CASE("settings are read as data") {
  const Settings settings = good(example);

  REQUIRE(settings.gates.size() == 2);
  const auto& breaker = std::get<planb::CircuitBreakerSettings>(settings.gates.at("openai").kind);
  CHECK(breaker == planb::CircuitBreakerSettings{.failure_threshold = 5, .open_for = 30s});
  const planb::GateSettings& limit = settings.gates.at("openai-rpm");
  CHECK(std::get<planb::RateLimitSettings>(limit.kind) ==
        planb::RateLimitSettings{.permits = 500, .period = 1min, .burst = 50});
  CHECK(limit.patience == 200ms);

  REQUIRE(settings.providers.size() == 2);
  const planb::ProviderSettings& openai = settings.providers.at("openai");
  REQUIRE(openai.find("url") != nullptr);
  CHECK(openai.find("url")->text == "https://llm.example/v1");
  CHECK(openai.find("key_env")->text == "LLM_KEY");
  CHECK(openai.find("key") == nullptr);

  REQUIRE(settings.chains.size() == 1);
  const ChainSettings& chat = settings.chains.at("chat");
  CHECK(chat.budget == 30s);
  CHECK(chat.content_refusal == planb::ContentRefusal::next_step);
  CHECK(chat.partial == planb::PartialStream::prevent_retry);
  REQUIRE(chat.rules.size() == 1);
  CHECK(chat.rules[0].code == "weekly_limit*");
  CHECK(chat.rules[0].action == planb::Action::next_step);
  CHECK(chat.rules[0].alert);
  REQUIRE(chat.steps.size() == 4);
  CHECK(chat.steps[0].name == "openai");
  CHECK(chat.steps[0].provider_name() == "openai");
  CHECK(chat.steps[0].attempts == 2);
  CHECK(chat.steps[0].schedule == "jittered(exponential(20ms))");
  CHECK(chat.steps[0].retry == std::vector<planb::FailureMatch>{planb::FailureClass::rate_limited,
                                                                planb::FailureClass::overloaded,
                                                                planb::StatusRange{500, 599}});
  CHECK(chat.steps[0].timeout == 30s);
  CHECK(chat.steps[0].first_timeout == 10s);
  CHECK(chat.steps[0].gates == std::vector<planb::SettingsText>{"openai", "openai-rpm"});
  CHECK(chat.steps[1].name == "large");
  CHECK(chat.steps[1].provider_name() == "openai");
  CHECK(chat.steps[1].enter == std::vector<planb::FailureMatch>{planb::FailureClass::context_too_long});
  CHECK(chat.steps[2].reserve == 5s);
  CHECK(chat.steps[3] == StepSettings{.name = "local"});
}

TEST_CASE("settings know where they were read") {
  const SettingsResult result = parse_settings(example, "chat.conf");
  REQUIRE(result.has_value());
  const auto at = [](int line, int column) { return planb::Place{"chat.conf", line, column, {}}; };
  const auto same = [](const planb::Place& a, const planb::Place& b) { return a == b; };
  CHECK(same(result->gates.at("openai-rpm").place, at(3, 6)));
  CHECK(same(result->providers.at("openai").place, at(6, 10)));
  CHECK(same(result->providers.at("openai").find("model")->place, at(6, 52)));
  const ChainSettings& chat = result->chains.at("chat");
  CHECK(same(chat.place, at(9, 7)));
  CHECK(same(chat.rules[0].place, at(10, 3)));
  CHECK(same(chat.steps[1].place, at(12, 3)));
  CHECK(same(chat.steps[1].provider->place, at(12, 23)));
  CHECK(same(chat.steps[0].gates[1].place, at(11, 138)));

  CHECK(*result == good("\n\n" + std::string(example)));  // places take no part
}

TEST_CASE("settings are written in one way") {
  CHECK(to_string(good(example)) == R"(gate openai circuit_breaker failure_threshold=5 open_for=30s
gate openai-rpm rate_limit permits=500 period=1min burst=50 patience=200ms

provider local url=http://127.0.0.1:8000/v1
provider openai key_env=LLM_KEY model=large url=https://llm.example/v1

chain chat budget=30s content_refusal=next_step partial=prevent_retry
  rule code=weekly_limit* next_step alert
  openai attempts=2 schedule=jittered(exponential(20ms)) retry=rate_limited,overloaded,5xx timeout=30s first_timeout=10s gate=openai,openai-rpm
  large provider=openai enter=context_too_long
  anthropic timeout=20s reserve=5s
  local
)");
  check_round_trip(good(example));
  CHECK(to_string(Settings{}).empty());
  CHECK(good("") == Settings{});
  CHECK(good(" \n\t\r\n# nothing\n  # nothing either") == Settings{});
}

TEST_CASE("every knob of a gate is read and written") {
  const std::string text =
      "gate all circuit_breaker failure_threshold=3 failure_ratio=0.5 minimum_calls=20 window=10s open_for=15s "
      "half_open_probes=2 honour_retry_after=false longest_hint=1h slow_call=2s slow_ratio=0.25 probe_timeout=5s "
      "failure_memory=1min patience=10ms\n"
      "gate limit concurrency_limit limit=8 patience=1s\n"
      "gate rate rate_limit permits=10 period=1s burst=5 patience=0s\n"
      "gate retries retry_budget ratio=0.1 burst=20 patience=2ms\n";
  const Settings settings = good(text);
  CHECK(std::get<planb::CircuitBreakerSettings>(settings.gates.at("all").kind) ==
        planb::CircuitBreakerSettings{.failure_threshold = 3,
                                      .failure_ratio = 0.5,
                                      .minimum_calls = 20,
                                      .window = 10s,
                                      .open_for = 15s,
                                      .half_open_probes = 2,
                                      .honour_retry_after = false,
                                      .longest_hint = 1h,
                                      .slow_call = 2s,
                                      .slow_ratio = 0.25,
                                      .probe_timeout = 5s,
                                      .failure_memory = 1min});
  CHECK(settings.gates.at("limit") ==
        planb::GateSettings{.kind = planb::ConcurrencyLimitSettings{.limit = 8}, .patience = 1s});
  CHECK(settings.gates.at("rate") ==
        planb::GateSettings{.kind = planb::RateLimitSettings{.permits = 10, .period = 1s, .burst = 5}, .patience = 0s});
  CHECK(settings.gates.at("retries") ==
        planb::GateSettings{.kind = planb::RetryBudgetSettings{.ratio = 0.1, .burst = 20}, .patience = 2ms});
  CHECK(to_string(settings) == text);

  CHECK(std::get<planb::RetryBudgetSettings>(good("gate r retry_budget").gates.at("r").kind) ==
        planb::RetryBudgetSettings{});  // what is absent is the default of the gate
}

TEST_CASE("every knob of a chain is read and written") {
  const std::string text =
      "chain c budget=2min content_refusal=next_guarded partial=prevent_fallback entry=scheduled failure=original "
      "seed=18446744073709551615\n"
      "  s\n";
  const ChainSettings chain = chain_of(text);
  CHECK(chain == ChainSettings{.budget = 2min,
                               .content_refusal = planb::ContentRefusal::next_guarded,
                               .partial = planb::PartialStream::prevent_fallback,
                               .entry = planb::StepEntry::scheduled,
                               .failure = planb::FailureStyle::original,
                               .seed = 18446744073709551615U,
                               .steps = {{.name = "s"}}});
  CHECK(to_string(good(text)) == text);
}

TEST_CASE("every knob of a step is read and written") {
  const std::string text =
      "gate g retry_budget\n\n"
      "chain c content_refusal=abort\n"
      "  s provider=p attempts=3 schedule=exponential(10ms, 1.5) retry=503,code:slow*,timeout enter=4xx max_wait=5s "
      "timeout=10s first_timeout=2s reserve=1s gate=g\n";
  const StepSettings step = chain_of(text).steps.at(0);
  CHECK(step ==
        StepSettings{.name = "s",
                     .provider = "p",
                     .attempts = 3,
                     .schedule = "exponential(10ms, 1.5)",
                     .retry = {planb::StatusRange{503, 503}, planb::CodePattern{"slow*"}, planb::FailureClass::timeout},
                     .enter = {planb::StatusRange{400, 499}},
                     .max_wait = 5s,
                     .timeout = 10s,
                     .first_timeout = 2s,
                     .reserve = 1s,
                     .gates = {"g"}});
  CHECK(to_string(good(text)) == text);
  CHECK(step_with("attempts=unlimited").attempts == planb::unlimited);
  CHECK(to_string(good("chain c content_refusal=abort\n  s attempts=unlimited\n")) ==
        "chain c content_refusal=abort\n  s attempts=unlimited\n");
}

TEST_CASE("every row of the classifier can be written as a rule") {
  const std::pair<const char*, RuleSettings> rows[] = {
      {"code=weekly_limit* next_step alert",
       {.code = "weekly_limit*", .action = planb::Action::next_step, .alert = true}},
      {"status=418 abort", {.status = planb::StatusRange{418, 418}, .action = planb::Action::abort}},
      {"status=5xx next_step", {.status = planb::StatusRange{500, 599}, .action = planb::Action::next_step}},
      {"status=520-523 retry", {.status = planb::StatusRange{520, 523}, .action = planb::Action::retry}},
      {"status=500-598 retry", {.status = planb::StatusRange{500, 598}, .action = planb::Action::retry}},
      {"text=\"reset by peer\" retry", {.text = "reset by peer", .action = planb::Action::retry}},
      {"status=400 text=overloaded retry",
       {.status = planb::StatusRange{400, 400}, .text = "overloaded", .action = planb::Action::retry}},
      {"kind=timeout next_step", {.kind = planb::RuleKind::timeout, .action = planb::Action::next_step}},
      {"kind=connection retry", {.kind = planb::RuleKind::connection, .action = planb::Action::retry}},
      {"kind=unknown abort alert", {.kind = planb::RuleKind::unknown, .action = planb::Action::abort, .alert = true}},
      {"code=big class=context_too_long next_guarded",
       {.code = "big", .action = planb::Action::next_guarded, .failure_class = planb::FailureClass::context_too_long}},
  };
  for (const auto& [text, rule] : rows) {
    INFO(text);
    CHECK(rule_with(text) == rule);
    const std::string whole = "chain c content_refusal=abort\n  rule " + std::string(text) + "\n  s\n";
    CHECK(to_string(good(whole)) == whole);
  }
  CHECK(rule_with("alert next_step text=overloaded status=400") == RuleSettings{.status = planb::StatusRange{400, 400},
                                                                                .text = "overloaded",
                                                                                .action = planb::Action::next_step,
                                                                                .alert = true});
  CHECK(rule_with("status=5XX abort").status == planb::StatusRange{500, 599});
}

TEST_CASE("every class of failure can be listed") {
  const StepSettings step = step_with(
      "retry=connection,timeout,rate_limited,overloaded,server_error,conflict,quota,auth,not_found,context_too_long,"
      "content_refused,invalid_request,rejected_value,unknown");
  REQUIRE(step.retry.size() == static_cast<std::size_t>(planb::FailureClass::unknown) + 1);
  for (std::size_t i = 0; i != step.retry.size(); ++i) {
    CHECK(std::get<planb::FailureClass>(step.retry[i]) == static_cast<planb::FailureClass>(i));
  }
}

TEST_CASE("lines are words, quotes, parentheses and comments") {
  const auto url = [](const std::string& written) {
    const Settings settings = good("provider p url=" + written);
    return settings.providers.at("p").find("url")->text;
  };
  const std::pair<const char*, const char*> rows[] = {
      {"plain", "plain"},
      {"http://a/b?c=d,e&f=%20", "http://a/b?c=d,e&f=%20"},
      {"http://a/#top", "http://a/#top"},  // no space before it
      {"here # a comment", "here"},
      {"here\t#a comment", "here"},
      {"\"a b\"", "a b"},
      {"\"a # b\"", "a # b"},
      {"\"\"", ""},
      {"\"a\\\"b\\\\c\\n1\\t2\"", "a\"b\\c\n1\t2"},
      {"\"\\u0041\\u00e9\\u20AC\"", "A\xC3\xA9\xE2\x82\xAC"},
      {"\"\\uD83D\\uDE00\"", "\xF0\x9F\x98\x80"},
      {"\"\\uDBFF\\uDFFF\"", "\xF4\x8F\xBF\xBF"},
      {"\"\\ue000\\uFFFF\"", "\xEE\x80\x80\xEF\xBF\xBF"},  // no halves of a pair
      {"a\\b", "a\\b"},                                    // outside quotes a backslash is one
      {"a\" b \"c", "a b c"},
      {"(a b)", "(a b)"},
      {"f(g(a, b), c)d", "f(g(a, b), c)d"},
      {"(\") (\")", "() ()"},  // a quote may stand in parentheses
      {":)", ":)"},
      {"\xC3\xA9", "\xC3\xA9"},
      {"\xE0\xA0\x80\xED\x9F\xBF", "\xE0\xA0\x80\xED\x9F\xBF"},  // the first and last of their length, or before a gap
      {"\xEE\x80\x80", "\xEE\x80\x80"},
      {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
      {"a\r", "a"},
  };
  for (const auto& [written, text] : rows) {
    INFO(written);
    CHECK(url(written) == text);
    check_round_trip(good(std::string("provider p url=") + written));
  }
  CHECK(good("\xEF\xBB\xBFprovider p url=a\r\nprovider q url=b") == good("provider p url=a\nprovider q url=b\n"));
}

TEST_CASE("an indented line belongs to the last chain, by spaces or a tab") {
  const Settings settings = good(
      "chain a content_refusal=abort\n s1\n"
      "\n# a comment\n"
      "gate g retry_budget # another\n"
      "\ts2 gate=g\n"
      "chain b content_refusal=abort\n    s1");
  CHECK(settings.chains.at("a").steps.size() == 2);
  CHECK(settings.chains.at("b").steps.size() == 1);
}

TEST_CASE("gates, providers, chains and steps have their own names, and may be used before they are defined") {
  const Settings settings = good(
      "chain x content_refusal=abort\n  x gate=x provider=x\n"
      "chain y content_refusal=abort\n  x\n"
      "gate x retry_budget\nprovider x a=b\n");
  CHECK(settings.chains.size() == 2);
  check_round_trip(settings);
}

TEST_CASE("a name in quotes may be anything, a reserved word too") {
  const Settings settings = good(
      "gate \"a gate, or two\" retry_budget\n"
      "provider \"chain\" \"a key\"=x\n"
      "chain \"\\u00fc=\" content_refusal=abort\n"
      "  \"rule\" provider=\"chain\" gate=\"a gate, or two\"\n"
      "  \"#1\"\n");
  CHECK(settings.gates.count("a gate, or two") == 1);
  CHECK(settings.providers.at("chain").find("a key")->text == "x");
  CHECK(settings.chains.at("\xC3\xBC=").steps[0].name == "rule");
  check_round_trip(settings);

  // In quotes, or alone, what looks like `rule` is a step.
  const ChainSettings chain = chain_of("chain c content_refusal=abort\n  \"ruel\" provider=p\n  rul\n");
  REQUIRE(chain.steps.size() == 2);
  CHECK(chain.steps[0].name == "ruel");
  CHECK(chain.steps[1].name == "rul");
}

TEST_CASE("ratios are numbers or percentages") {
  const std::pair<const char*, double> rows[] = {
      {"0.2", 0.2}, {"20%", 0.2}, {"12.5%", 0.125}, {"1", 1}, {"100%", 1}, {"0", 0}, {"1e-3", 1e-3}, {"2.5", 2.5},
  };
  for (const auto& [text, ratio] : rows) {
    INFO(text);
    const Settings settings = good("gate g retry_budget ratio=" + std::string(text));
    CHECK(std::get<planb::RetryBudgetSettings>(settings.gates.at("g").kind).ratio == ratio);
    check_round_trip(settings);
  }
}

TEST_CASE("a schedule is written as its reader writes it") {
  CHECK(step_with("schedule=up_to( spaced( 0.5s ),3 )").schedule == "up_to(spaced(500ms), 3)");
  CHECK(step_with("schedule=\"up_to(spaced(1h30min), 3)\"").schedule == "up_to(spaced(90min), 3)");
  CHECK(step_with("attempts=4 schedule=forever()").schedule == "forever()");

  // One that a program has put together may be no schedule: it is written as it is.
  Settings settings;
  settings.chains["c"] = {
      .content_refusal = planb::ContentRefusal::abort,
      .steps = {{.name = "s", .schedule = "up_to( spaced(1000ms),3)"}, {.name = "t", .schedule = "now and then"}}};
  CHECK(to_string(settings) ==
        "chain c content_refusal=abort\n"
        "  s schedule=up_to(spaced(1s), 3)\n"
        "  t schedule=\"now and then\"\n");
}

TEST_CASE("a gate that code has registered may be referred to, and not defined") {
  const planb::SettingsSource source{.file = "a.conf", .gates = {"shared"}};
  const SettingsResult used = parse_settings("chain c content_refusal=abort\n  s gate=shared", source);
  CHECK(used.has_value());
  CHECK_FALSE(parse_settings("chain c content_refusal=abort\n  s gate=shared").has_value());
  const SettingsResult defined = parse_settings("gate shared retry_budget", source);
  REQUIRE(defined.faults().size() == 1);
  CHECK(defined.faults()[0].message() ==
        "a.conf:1:6: found \"shared\", expected the name of a gate that the program has not registered itself");
}

TEST_CASE("settings made by hand are written as they can be read") {
  Settings settings;
  settings.gates["g"].kind = planb::RateLimitSettings{.permits = 1, .period = 1ns};
  settings.providers["p"].options["note"] = "\x01 \"quoted\"\n";
  settings.chains["c"] = {
      .content_refusal = planb::ContentRefusal::abort,
      .rules = {{.code = "a b", .action = planb::Action::abort}, {.text = "c d", .action = planb::Action::retry}},
      .steps = {{.name = "s", .retry = {planb::CodePattern{"a,b"}}, .gates = {"g"}}}};
  check_round_trip(settings);

  settings.providers["p"].options["note"] = "caf\xE9";  // no UTF-8
  CHECK(good(to_string(settings)).providers.at("p").find("note")->text == "caf\xEF\xBF\xBD");

  // What no file can say is written all the same, for people to read.
  Settings odd;
  odd.chains["c"] = {.partial = static_cast<planb::PartialStream>(99), .rules = {{.code = "x"}}};
  CHECK(to_string(odd) == "chain c partial=unknown\n  rule code=x\n");
}

TEST_CASE("settings that differ in one thing are not the same") {
  const std::string text =
      "gate b circuit_breaker failure_threshold=3 failure_memory=1min\n"
      "gate r rate_limit permits=10 period=1s burst=5\n"
      "gate t retry_budget ratio=0.1 burst=20 patience=2ms\n"
      "provider p url=x model=y\n"
      "chain c content_refusal=abort seed=7\n"
      "  rule code=big abort alert class=quota\n"
      "  rule status=520-523 retry\n"
      "  s provider=p retry=503,code:slow gate=b,r,t\n";
  const Settings settings = good(text);
  CHECK(settings == good("# moved down\n" + text));
  const std::pair<const char*, const char*> changes[] = {
      {"failure_threshold=3", "failure_threshold=4"},
      {"failure_memory=1min", "failure_memory=2min"},
      {"permits=10", "permits=11"},
      {"period=1s", "period=2s"},
      {"burst=5", "burst=6"},
      {"ratio=0.1", "ratio=0.2"},
      {"burst=20", "burst=21"},
      {"patience=2ms", ""},
      {"retry_budget ratio=0.1 burst=20", "concurrency_limit limit=1"},
      {"url=x", "url=z"},
      {"model=y", "modes=y"},
      {"provider p url=x model=y", ""},
      {"content_refusal=abort", "content_refusal=next_step"},
      {"seed=7", "seed=8"},
      {"code=big abort", "code=bog abort"},
      {"alert", ""},
      {"class=quota", "class=auth"},
      {"520-523", "521-523"},
      {"520-523", "520-522"},
      {"  rule status=520-523 retry", ""},
      {"  s provider", "  z provider"},
      {"s provider=p", "s provider=q"},
      {"retry=503", "retry=502"},
      {"code:slow", "code:slower"},
      {"gate=b,r,t", "gate=b,t,r"},
      {"chain c", "chain d"},
  };
  for (const auto& [from, to] : changes) {
    INFO(from << " -> " << to);
    std::string other = text;
    const std::size_t at = other.find(from);
    REQUIRE(at != std::string::npos);
    other.replace(at, std::string_view(from).size(), to);
    CHECK_FALSE(good(other) == settings);
    CHECK(to_string(good(other)) != to_string(settings));
  }
  CHECK(planb::Place{"a", 1, 2, "p"} != planb::Place{"b", 1, 2, "p"});
  CHECK(planb::Place{"a", 1, 2, "p"} != planb::Place{"a", 2, 2, "p"});
  CHECK(planb::Place{"a", 1, 2, "p"} != planb::Place{"a", 1, 3, "p"});
  CHECK(planb::Place{"a", 1, 2, "p"} != planb::Place{"a", 1, 2, "q"});
}

TEST_CASE("what there is instead of settings is an expected-like") {
  SettingsResult good_result = parse_settings(example);
  CHECK(static_cast<bool>(good_result));
  CHECK(good_result.faults().empty());
  CHECK(good_result.value() == *good_result);
  CHECK(good_result->chains.size() == 1);

  const SettingsResult bad = parse_settings("gate\nchain", "f");
  CHECK_FALSE(bad);
  CHECK(bad.faults().size() == 2);
  CHECK(faults("gate\nchain") ==
        "line 1, column 5: found nothing, expected the name of a gate\n"
        "line 2, column 6: found nothing, expected the name of a chain");
#if PLANB_HAS_EXCEPTIONS
  CHECK_THROWS_WITH(bad.value(),
                    "planb: settings:\nf:1:5: found nothing, expected the name of a gate\n"
                    "f:2:6: found nothing, expected the name of a chain");
#endif
}
