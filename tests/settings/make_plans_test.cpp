// Settings as plans: every knob, every fault, and what becomes of the gates in the registry.
#include <planb/settings.hpp>

#include "catch.hpp"

#include <planb/gates.hpp>
#include <planb/observe.hpp>
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::ConfiguredChain;
using planb::ConfiguredChains;
using planb::Duration;
using planb::ExecutionPlan;
using planb::FailureClass;
using planb::GateRegistry;
using planb::Provide;
using planb::ProviderError;
using planb::ProviderSettings;
using planb::Settings;
using planb::SettingsFault;
using planb::SettingsFaults;
using planb::SettingsOr;
using planb::SettingsText;
using planb::StepProviders;
using planb::StepSettings;
using planb::testing::AttemptLog;
using planb::testing::VirtualClock;

struct Llm {
  std::string vendor;
};

using Chains = SettingsOr<ConfiguredChains<Llm>>;
using Names = std::vector<std::string>;

const StepProviders<Llm>& vendors() {
  static const StepProviders<Llm> list{
      {"a", Llm{"a"}}, {"b", [] { return Llm{"b"}; }}, {"c", Llm{"c"}}, {"local", Llm{"local"}}};
  return list;
}

// One that any text can be read of: the gates that it does not define are those of the registry.
Settings settings_of(std::string_view text, std::vector<std::string> gates = {}) {
  const planb::SettingsResult settings =
      planb::parse_settings(text, planb::SettingsSource{.file = "chat.conf", .gates = std::move(gates)});
  INFO(text);
  INFO(settings.error().message());
  REQUIRE(settings.has_value());
  return *settings;
}

ConfiguredChains<Llm> made_of(std::string_view text, GateRegistry& gates) {
  const Chains chains = planb::make_plans<Llm>(settings_of(text), vendors(), gates);
  INFO(text);
  INFO(chains.error().message());
  REQUIRE(chains.has_value());
  return *chains;
}

// The chain `c` of these knobs and lines.
ConfiguredChain<Llm> chain_of(const std::string& text) {
  GateRegistry gates;
  return made_of("chain c content_refusal=" + text, gates).at("c");
}

planb::Step<Llm> step_of(const std::string& knobs) { return chain_of("next_step\n  a " + knobs).steps()[0]; }

// What attempts are made of a chain whose providers fail as told; one that is not told of answers.
struct Outcome {
  Names attempts;
  Names reported;  // the classes of the failures
  std::optional<planb::RunEnd> end;
  bool alert = false;
  Duration took{};
};

using Failures = std::map<std::string, std::function<void()>>;

Outcome run(const ConfiguredChain<Llm>& chain, const Failures& failures) {
  VirtualClock clock;
  const AttemptLog log;
  planb::RunOptions options = chain.run_options;
  options.on_event = log;
  options.clock = &clock;
  const auto result = planb::try_run_with_plan(
      chain,
      [&](Llm& llm) {
        if (const auto found = failures.find(llm.vendor); found != failures.end()) found->second();
        return llm.vendor;
      },
      options);
  Outcome outcome;
  outcome.end = result.report().end;
  outcome.took = clock.elapsed();
  outcome.attempts = log.names();
  for (const planb::StepReport& step : result.report().steps) outcome.alert = outcome.alert || step.alert;
  for (const planb::AttemptFailure& failure : log.of<planb::AttemptFailure>()) {
    outcome.reported.emplace_back(failure.verdict ? to_label(failure.verdict->failure_class) : "none");
  }
  return outcome;
}

std::function<void()> fails(int status, std::string code = {}, std::string text = "no") {
  return [=] { throw ProviderError(status, text, code); };
}

std::string message_of(const Chains& chains) {
  REQUIRE_FALSE(chains.has_value());
  return chains.error().message();
}

constexpr std::string_view shared = R"(
gate breaker circuit_breaker failure_threshold=1 open_for=30s
gate rate    rate_limit permits=500 period=1min
gate places  concurrency_limit limit=8
gate retries retry_budget

chain chat  content_refusal=next_step
  a   gate=breaker,rate
  b   gate=places,retries
chain batch content_refusal=abort
  c   gate=breaker
)";

}  // namespace

TEST_CASE("chains of settings are plans that run") {
  GateRegistry gates;
  const ConfiguredChains<Llm> chains = made_of(shared, gates);
  REQUIRE(chains.size() == 2);
  const ConfiguredChain<Llm>& chat = chains.at("chat");
  REQUIRE(chat.steps().size() == 2);
  CHECK(run(chat, {}).attempts == Names{"a"});
  CHECK(run(chat, {{"a", fails(503)}}).attempts == Names{"a", "b"});
  CHECK(chains.at("batch").steps()[0].name == "c");
  CHECK(planb::make_plans<Llm>(Settings{}, vendors(), gates)->empty());
}

TEST_CASE("a configured chain is a plan, for whatever takes one", "[settings][make_plans]") {
  const ConfiguredChain<Llm> chain = chain_of("next_step\n  a\n  b");
  const auto vendor = [](Llm& llm) { return llm.vendor; };
  const auto one_word = [](Llm& llm) { return std::vector<std::string>{llm.vendor}; };
  Names heard;
  const auto hear = [&](const std::string& word) { heard.push_back(word); };

  CHECK(planb::run_with_plan(chain, vendor) == "a");
  CHECK(planb::try_run_with_plan(chain, vendor, chain.run_options).value() == "a");
  for (const std::string& word : planb::stream_with_plan(chain, one_word, chain.stream_options)) hear(word);
  planb::push_with_plan(chain, [](Llm& llm, auto& emit) { emit(llm.vendor); }, hear, chain.stream_options);
  CHECK(heard == Names{"a", "a"});

  planb::PlanRun<Llm> run(chain, chain.run_options);
  CHECK(run.next() == planb::RunPhase::attempt);
  const planb::ExecutionPlan<Llm> plan = planb::merge(chain, chain);
  CHECK(plan.steps().size() == 4);
}

TEST_CASE("each knob of a step is in the plan") {
  const planb::Step<Llm> plain = step_of("");
  CHECK(plain.name == "a");
  CHECK_FALSE(plain.attempts);
  CHECK(to_string(plain.schedule) == to_string(planb::Schedule()));
  CHECK_FALSE(plain.retry_while);
  CHECK(plain.classify);
  CHECK_FALSE(plain.enter_when);
  CHECK_FALSE(plain.max_wait);
  CHECK_FALSE(plain.timeout);
  CHECK_FALSE(plain.first_timeout);
  CHECK(plain.reserve == Duration::zero());
  CHECK(plain.gate == nullptr);

  CHECK(step_of("attempts=3").attempts == 3);
  CHECK(step_of("attempts=unlimited").attempts == planb::unlimited);
  CHECK(to_string(step_of("attempts=2 schedule=jittered(exponential(20ms))").schedule) ==
        "jittered(exponential(20ms))");
  CHECK(step_of("retry=5xx").retry_while);
  CHECK(step_of("enter=5xx").enter_when);
  CHECK(step_of("max_wait=0").max_wait == 0s);
  CHECK(step_of("max_wait=2s").max_wait == 2s);
  CHECK(step_of("timeout=3s").timeout == 3s);
  CHECK(step_of("first_timeout=4s").first_timeout == 4s);
  CHECK(step_of("reserve=5s").reserve == 5s);
}

TEST_CASE("a step's provider is that of its name, or the one it says") {
  const ConfiguredChain<Llm> chain = chain_of("next_step\n  first provider=b\n  a\n  again provider=b");
  Names used;
  CHECK_THROWS(planb::run_with_plan(chain, [&](Llm& llm) {
    used.push_back(llm.vendor);
    throw ProviderError(503);
  }));
  CHECK(used == Names{"b", "a", "b"});
}

TEST_CASE("each knob of a chain is in its options") {
  const ConfiguredChain<Llm> plain = chain_of("abort\n  a");
  CHECK_FALSE(plain.run_options.budget);
  CHECK(plain.run_options.entry == planb::StepEntry::immediate);
  CHECK_FALSE(plain.run_options.failure);
  CHECK_FALSE(plain.run_options.seed);
  CHECK_FALSE(plain.stream_options.budget);
  CHECK(plain.stream_options.partial == planb::PartialStream::allow);

  const ConfiguredChain<Llm> chain =
      chain_of("abort budget=30s entry=scheduled failure=original seed=7 partial=prevent_retry\n  a");
  CHECK(chain.run_options.budget == 30s);
  CHECK(chain.run_options.entry == planb::StepEntry::scheduled);
  CHECK(chain.run_options.failure == planb::FailureStyle::original);
  CHECK(chain.run_options.seed == std::uint64_t{7});
  CHECK(chain.stream_options.budget == 30s);
  CHECK(chain.stream_options.entry == planb::StepEntry::scheduled);
  CHECK(chain.stream_options.failure == planb::FailureStyle::original);
  CHECK(chain.stream_options.seed == std::uint64_t{7});
  CHECK(chain.stream_options.partial == planb::PartialStream::prevent_retry);
}

TEST_CASE("what a refusal of the content means is the chain's decision") {
  const Failures refusal{{"a", fails(400, "content_filter")}};
  const std::string steps = "\n  a\n  b\n  c enter=content_refused";
  CHECK(run(chain_of("next_step" + steps), refusal).attempts == Names{"a", "b"});
  CHECK(run(chain_of("next_guarded" + steps), refusal).attempts == Names{"a", "c"});
  CHECK(run(chain_of("abort" + steps), refusal).attempts == Names{"a"});
}

TEST_CASE("each kind of rule is a row of the chain's classifier") {
  struct Row {
    std::string rule;
    std::function<void()> failure;
    Names attempts;  // of a, twice where it is tried again, and b
    std::string of_class;
    bool alert = false;
  };
  const std::vector<Row> rows = {
      {"code=weekly_limit* next_step alert", fails(429, "weekly_limit_reached"), {"a", "b"}, "rate_limited", true},
      {"code=weekly_limit* next_step", fails(429, "daily_limit"), {"a", "a", "b"}, "rate_limited"},
      {"status=418 abort", fails(418), {"a"}, "unknown"},
      {"status=5xx abort class=quota", fails(599), {"a"}, "quota"},
      {"status=5xx abort class=quota", fails(400), {"a"}, "invalid_request"},
      {"status=520-523 abort", fails(523), {"a"}, "connection"},
      {"status=520-523 abort", fails(524), {"a", "a", "b"}, "timeout"},
      {"text=\"try later\" retry", fails(0, "odd", "Try later!"), {"a", "a", "b"}, "unknown"},
      {"text=\"model gone\" status=400 next_step", fails(400, "", "the model gone"), {"a", "b"}, "invalid_request"},
      {"text=\"model gone\" status=400 next_step", fails(402, "", "the model gone"), {"a", "b"}, "quota", true},
      {"kind=connection abort class=overloaded",
       [] { throw std::system_error(std::make_error_code(std::errc::timed_out)); },
       {"a"},
       "overloaded"},
      {"kind=connection abort",
       [] { throw std::system_error(std::make_error_code(std::errc::connection_refused)); },
       {"a"},
       "connection"},
      {"kind=unknown abort alert", [] { throw std::runtime_error("odd"); }, {"a"}, "unknown", true},
  };
  for (const Row& row : rows) {
    INFO(row.rule);
    const Outcome outcome = run(chain_of("abort\n  rule " + row.rule + "\n  a attempts=2\n  b"), {{"a", row.failure}});
    CHECK(outcome.attempts == row.attempts);
    CHECK(outcome.reported.at(0) == row.of_class);
    CHECK(outcome.alert == row.alert);
  }
}

TEST_CASE("a rule about timeouts is one about attempts that end without a word") {
  VirtualClock clock;
  const AttemptLog log;
  const ConfiguredChain<Llm> chain =
      chain_of("next_step\n  rule kind=timeout abort class=overloaded\n  a timeout=1s\n  b");
  planb::RunOptions options = chain.run_options;
  options.on_event = log;
  options.clock = &clock;
  const auto late = [&](Llm&) {
    clock.advance(2s);
    throw std::runtime_error("given up");
  };
  CHECK_FALSE(planb::try_run_with_plan(chain, late, options).has_value());
  CHECK(log.names() == Names{"a"});
  CHECK(log.of<planb::AttemptFailure>().at(0).verdict->failure_class == FailureClass::overloaded);
}

TEST_CASE("a later rule stands before an earlier one") {
  const std::string rules = "abort\n  rule status=5xx abort\n  rule status=503 next_step\n  a\n  b";
  CHECK(run(chain_of(rules), {{"a", fails(503)}}).attempts == Names{"a", "b"});
  CHECK(run(chain_of(rules), {{"a", fails(502)}}).attempts == Names{"a"});
}

TEST_CASE("retry lists what is tried again, of what the classifier allows") {
  struct Row {
    std::string list;
    std::function<void()> failure;
    bool again;
  };
  const auto no_status = [] { throw std::system_error(std::make_error_code(std::errc::connection_refused)); };
  const std::vector<Row> rows = {
      {"rate_limited", fails(429), true},
      {"rate_limited", fails(503), false},
      {"rate_limited,overloaded", fails(503), true},
      {"503", fails(503), true},
      {"503", fails(502), false},
      {"5xx", fails(500), true},
      {"5xx", fails(599), true},
      {"5xx", fails(429), false},
      {"5xx", no_status, false},
      {"5xx,connection", no_status, true},
      {"code:slow_down*", fails(503, "slow_down_please"), true},
      {"code:slow_down*", fails(503), false},
      {"401", fails(401), false},  // only ever narrows
      {"auth", fails(401), false},
  };
  for (const Row& row : rows) {
    INFO(row.list);
    const Outcome outcome =
        run(chain_of("next_step\n  a attempts=2 retry=" + row.list + "\n  b"), {{"a", row.failure}});
    CHECK(outcome.attempts == (row.again ? Names{"a", "a", "b"} : Names{"a", "b"}));
  }
}

TEST_CASE("enter lists the failures after which a step is entered") {
  struct Row {
    std::string list;
    std::function<void()> failure;
    bool entered;
  };
  const std::vector<Row> rows = {
      {"context_too_long", fails(400, "context_length_exceeded"), true},
      {"context_too_long", fails(503), false},
      {"4xx,overloaded", fails(503), true},
      {"429", fails(429), true},
      {"code:too_big,code:\"a,b\"", fails(503, "a,b"), true},
      {"code:too_big", fails(503, "small"), false},
  };
  for (const Row& row : rows) {
    INFO(row.list);
    const Outcome outcome = run(chain_of("next_step\n  rule code=context_length_exceeded next_step "
                                         "class=context_too_long\n  a\n  b enter=" +
                                         row.list + "\n  c"),
                                {{"a", row.failure}, {"b", fails(503)}});
    CHECK(outcome.attempts == (row.entered ? Names{"a", "b", "c"} : Names{"a", "c"}));
  }
}

TEST_CASE("a class in a list is the one that the chain's own rules give") {
  const ConfiguredChain<Llm> chain =
      chain_of("abort\n  rule status=599 retry class=quota\n  a attempts=2 retry=quota\n  b enter=quota\n  c");
  CHECK(run(chain, {{"a", fails(599)}}).attempts == Names{"a", "a", "b"});
  CHECK(run(chain, {{"a", fails(598)}}).attempts == Names{"a", "c"});
}

namespace {

struct OwnError {
  int status = 0;
};

}  // namespace

TEST_CASE("a program names its own error types") {
  GateRegistry gates;
  const Settings settings =
      settings_of("chain c content_refusal=abort\n  a attempts=2 retry=503\n  b enter=overloaded");
  const auto chains = planb::make_plans<Llm, OwnError>(settings, vendors(), gates);
  REQUIRE(chains.has_value());
  CHECK(run(chains->at("c"), {{"a", [] { throw OwnError{503}; }}}).attempts == Names{"a", "a", "b"});
  const auto unnamed = planb::make_plans<Llm>(settings, vendors(), gates);
  CHECK(run(unnamed->at("c"), {{"a", [] { throw OwnError{503}; }}}).attempts == Names{"a"});
}

TEST_CASE("the times of settings are those of a run") {
  const ConfiguredChain<Llm> chain =
      chain_of("next_step budget=10s seed=1\n  a attempts=3 schedule=spaced(2s) max_wait=2s\n  b reserve=7s");
  const Outcome outcome = run(chain, {{"a", fails(503)}, {"b", fails(503)}});
  CHECK(outcome.attempts == Names{"a", "a", "b"});  // a third would not end before what b reserves
  CHECK(outcome.took == 2s);
  CHECK(run(chain_of("next_step failure=original\n  a"), {{"a", fails(503)}}).end == planb::RunEnd::exhausted);
}

TEST_CASE("each knob of a gate reaches it") {
  // The gates of settings are compared with those that code would register.
  const auto is_kept = [](const std::string& knobs, const auto& register_it) {
    INFO(knobs);
    GateRegistry gates;
    static_cast<void>(made_of("gate g " + knobs, gates));
    const std::shared_ptr<planb::Gate> of_settings = gates.find("g");
    REQUIRE(of_settings != nullptr);
    CHECK(of_settings->name() == "g");
    CHECK(std::shared_ptr<planb::Gate>(register_it(gates)) == of_settings);
  };
  const auto breaker = [&](const std::string& knobs, planb::CircuitBreakerOptions options) {
    is_kept("circuit_breaker " + knobs, [&](GateRegistry& gates) { return gates.circuit_breaker("g", options); });
  };
  breaker("", {});
  breaker("failure_threshold=5", {});
  breaker("failure_threshold=7", {.failure_threshold = 7});
  breaker("failure_ratio=20%", {.failure_ratio = 0.2});
  breaker("minimum_calls=3", {.minimum_calls = 3});
  breaker("window=5s", {.window = 5s});
  breaker("open_for=5s", {.open_for = 5s});
  breaker("half_open_probes=2", {.half_open_probes = 2});
  breaker("honour_retry_after=false", {.honour_retry_after = false});
  breaker("longest_hint=5s", {.longest_hint = 5s});
  breaker("slow_call=5s slow_ratio=0.25", {.slow_call = 5s, .slow_ratio = 0.25});
  breaker("probe_timeout=5s", {.probe_timeout = 5s});
  breaker("probe_timeout=30s", {});  // as long as open_for
  breaker("failure_memory=5s", {.failure_memory = 5s});
  breaker("patience=5s", {.patience = 5s});
  const auto rate = [&](const std::string& knobs, planb::RateLimitOptions options) {
    is_kept("rate_limit " + knobs, [&](GateRegistry& gates) { return gates.rate_limit("g", options); });
  };
  rate("permits=5 period=1s", {.permits = 5, .period = 1s});
  rate("permits=5 period=1s burst=5", {.permits = 5, .period = 1s});
  rate("permits=5 period=1s burst=2 patience=1s", {.permits = 5, .period = 1s, .burst = 2, .patience = 1s});
  is_kept("concurrency_limit limit=3 patience=1s",
          [](GateRegistry& gates) { return gates.concurrency_limit("g", {.limit = 3, .patience = 1s}); });
  is_kept("retry_budget", [](GateRegistry& gates) { return gates.retry_budget("g"); });
  is_kept("retry_budget ratio=0.5 burst=3 patience=1s",
          [](GateRegistry& gates) { return gates.retry_budget("g", {.ratio = 0.5, .burst = 3, .patience = 1s}); });
}

TEST_CASE("a step's gates are asked in their order, all or none") {
  GateRegistry gates;
  const ConfiguredChains<Llm> chains = made_of(shared, gates);
  const std::shared_ptr<planb::Gate> of_batch = chains.at("batch").steps()[0].gate;
  CHECK(of_batch == gates.find("breaker"));  // one alone is not wrapped
  const std::shared_ptr<planb::Gate> of_chat = chains.at("chat").steps()[0].gate;
  CHECK(of_chat->name() == planb::all_of(gates.find("breaker"), gates.find("rate"))->name());
  CHECK(of_chat->snapshot().kind == "all_of");

  CHECK(run(chains.at("batch"), {{"c", fails(503)}}).attempts == Names{"c"});  // opens the breaker that chat has, too
  CHECK(run(chains.at("chat"), {}).attempts == Names{"b"});
}

TEST_CASE("a gate whose options are as they were keeps its state") {
  GateRegistry gates;
  static_cast<void>(made_of(shared, gates));
  const auto breaker = gates.find("breaker");
  const auto rate = gates.find("rate");
  gates.circuit_breaker("breaker", {.failure_threshold = 1, .open_for = 30s})->force_open();

  // Written otherwise, with defaults said, in another order.
  const ConfiguredChains<Llm> again = made_of(R"(
gate rate    rate_limit period=60s permits=500 burst=500 patience=0
gate breaker circuit_breaker open_for=30s probe_timeout=30s failure_threshold=1 window=1min slow_ratio=50%
chain other content_refusal=abort
  b gate=breaker
)",
                                              gates);
  CHECK(gates.find("breaker") == breaker);
  CHECK(gates.find("rate") == rate);
  CHECK(gates.find("places") == nullptr);  // removed
  CHECK(gates.size() == 2);
  CHECK(run(again.at("other"), {}).attempts.empty());
}

TEST_CASE("a gate with other options is made anew, and plans go on with the old one") {
  GateRegistry gates;
  const ConfiguredChains<Llm> before = made_of(shared, gates);
  const auto old = gates.find("breaker");
  const ConfiguredChains<Llm> after = made_of(
      "gate breaker circuit_breaker failure_threshold=2\nchain batch content_refusal=abort\n  c gate=breaker", gates);
  CHECK(gates.find("breaker") != old);
  CHECK(before.at("batch").steps()[0].gate == old);
  CHECK(after.at("batch").steps()[0].gate == gates.find("breaker"));
  static_cast<void>(made_of("gate breaker concurrency_limit limit=2", gates));
  CHECK(gates.snapshots().at(0).kind == "concurrency_limit");
  static_cast<void>(made_of("", gates));
  CHECK(gates.size() == 0);
}

TEST_CASE("a gate that code has registered may be referred to, and not redefined") {
  GateRegistry gates;
  const auto own = gates.circuit_breaker("own", {.failure_threshold = 1});
  const auto special = gates.gate(
      "special", [] { return std::make_shared<planb::ConcurrencyLimit>(planb::ConcurrencyLimitOptions{.limit = 1}); });
  const Chains chains = planb::make_plans<Llm>(
      settings_of("chain c content_refusal=abort\n  a gate=own\n  b gate=special", {"own", "special"}), vendors(),
      gates);
  REQUIRE(chains.has_value());
  CHECK(chains->at("c").steps()[0].gate == own);
  CHECK(chains->at("c").steps()[1].gate == special);
  CHECK(planb::make_plans<Llm>(Settings{}, vendors(), gates).has_value());
  CHECK(gates.find("own") == own);  // settings that say nothing of it do not remove it

  for (const std::string name : {"own", "special"}) {
    CHECK(message_of(planb::make_plans<Llm>(settings_of("gate " + name + " circuit_breaker failure_threshold=1"),
                                            vendors(), gates)) ==
          "chat.conf:1:6: found \"" + name +
              "\", expected the name of a gate that the program has not registered itself");
  }
}

TEST_CASE("all faults are told at once, in the order of the file, and nothing is changed") {
  GateRegistry gates;
  static_cast<void>(made_of(shared, gates));
  gates.retry_budget("own");
  const auto before = gates.snapshots();
  const auto breaker = gates.find("breaker");
  const Chains chains = planb::make_plans<Llm>(settings_of(R"(
gate own     retry_budget
gate breaker circuit_breaker failure_threshold=9
gate fresh   retry_budget
chain chat content_refusal=abort
  locla
  b  gate=braeker
chain batch content_refusal=abort
  x  provider=cc
  y
)",
                                                           {"braeker"}),
                                               vendors(), gates);
  CHECK(message_of(chains) ==
        "chat.conf:2:6: found \"own\", expected the name of a gate that the program has not registered itself\n"
        "chat.conf:6:3: found \"locla\", expected a provider that the program has: a, b, c or local; did you mean "
        "\"local\"?\n"
        "chat.conf:7:11: found \"braeker\", expected the name of a gate that is defined; did you mean \"breaker\"?\n"
        "chat.conf:9:15: found \"cc\", expected a provider that the program has: a, b, c or local\n"
        "chat.conf:10:3: found \"y\", expected a provider that the program has: a, b, c or local");
  CHECK(gates.find("breaker") == breaker);
  CHECK(gates.find("fresh") == nullptr);
  CHECK(gates.snapshots().size() == before.size());
}

TEST_CASE("what a program has put together itself is checked, too") {
  struct Row {
    const char* what;
    std::function<void(Settings&)> change;
    std::string expected;  // a part of the only fault
  };
  const auto chat = [](Settings& settings) -> planb::ChainSettings& { return settings.chains.at("chat"); };
  const auto rule = [&](planb::RuleSettings added) {
    return [=](Settings& settings) { chat(settings).rules.push_back(added); };
  };
  const auto step = [&](const auto& change) { return [=](Settings& settings) { change(chat(settings).steps.at(0)); }; };
  const auto gate = [](planb::GateKindSettings kind) {
    return [=](Settings& settings) { settings.gates["g"].kind = kind; };
  };
  const planb::StatusRange few{520, 523};
  const std::vector<Row> rows = {
      {"no refusal", [&](Settings& s) { chat(s).content_refusal.reset(); }, "content_refusal=, what a refusal means: "},
      {"no such refusal", [&](Settings& s) { chat(s).content_refusal = planb::ContentRefusal{}; }, "content_refusal="},
      {"no steps", [&](Settings& s) { chat(s).steps.clear(); }, "at least one step in the chain"},
      {"a step twice", [&](Settings& s) { chat(s).steps.push_back({.name = "a"}); }, "each step once in a chain"},
      {"a gate twice", step([](StepSettings& s) {
         s.gates = {"places", "places"};
       }),
       "each gate once"},
      {"an unknown gate", step([](StepSettings& s) { s.gates = {"plcaes"}; }), "did you mean \"places\"?"},
      {"no attempts", step([](StepSettings& s) { s.attempts = 0; }), "step \"a\": "},
      {"no schedule", step([](StepSettings& s) { s.schedule = "spaced("; }), "found \"spaced(\", expected "},
      {"without end", step([](StepSettings& s) { s.schedule = "spaced(1s)"; }), "never ends"},
      {"a negative wait", step([](StepSettings& s) { s.max_wait = -1s; }), "`max_wait` is negative"},
      {"no time", step([](StepSettings& s) { s.timeout = 0s; }), "`timeout` must be above zero"},
      {"no first", step([](StepSettings& s) { s.first_timeout = 0s; }), "`first_timeout` must be above zero"},
      {"a debt", step([](StepSettings& s) { s.reserve = -1s; }), "`reserve` is negative"},
      {"a rule of nothing", rule({.action = planb::Action::abort}), "what the rule is about"},
      {"a rule without action", rule({.code = "x"}), "an action: "},
      {"a rule of two", rule({.code = "x", .kind = planb::RuleKind::timeout, .action = planb::Action::abort}),
       "one of"},
      {"a text and a code", rule({.code = "x", .text = "y", .action = planb::Action::abort}), "one of code"},
      {"all three",
       rule({.code = "x", .status = planb::StatusRange{5, 5}, .text = "y", .action = planb::Action::abort}),
       "one of code"},
      {"a kind, a status and a text",
       rule({.status = planb::StatusRange{5, 5},
             .text = "y",
             .kind = planb::RuleKind::timeout,
             .action = planb::Action::abort}),
       "one of code"},
      {"a status and a code", rule({.code = "x", .status = few, .action = planb::Action::abort}), "one of code"},
      {"no status", rule({.status = planb::StatusRange{0, 5}, .action = planb::Action::abort}),
       "a status of 1 or more"},
      {"no range", rule({.status = planb::StatusRange{5, 4}, .action = planb::Action::abort}), "a range of them"},
      {"many for a text", rule({.status = few, .text = "x", .action = planb::Action::abort}), "one status beside"},
      {"an empty pattern", rule({.code = "_-", .action = planb::Action::abort}), "a pattern with something in it"},
      {"an empty text", rule({.text = "...", .action = planb::Action::abort}), "a text with a letter"},
      {"a breaker", gate(planb::CircuitBreakerSettings{.failure_ratio = 2.0}), "found \"g\", expected a gate that can"},
      {"a rate without permits", gate(planb::RateLimitSettings{.period = 1s}), "found \"g\", expected a gate that can"},
      {"a limit of none", gate(planb::ConcurrencyLimitSettings{}), "found \"g\", expected a gate that can be made"},
      {"a negative budget", gate(planb::RetryBudgetSettings{.ratio = -1.0}), "found \"g\", expected a gate that can"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Settings settings = settings_of(shared);
    row.change(settings);
    GateRegistry gates;
    const std::string message = message_of(planb::make_plans<Llm>(settings, vendors(), gates));
    INFO(message);
    CHECK(message.find(row.expected) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(gates.size() == 0);
  }
}

TEST_CASE("providers are contexts, factories, or functions of the step's settings") {
  const Settings settings =
      settings_of("provider a url=one\nchain c content_refusal=next_step\n  a\n  x provider=b\n  c");
  GateRegistry gates;
  const auto answers = [&](const auto& providers) {
    const Chains chains = planb::make_plans<Llm>(settings, providers, gates);
    INFO(chains.error().message());
    REQUIRE(chains.has_value());
    Names result;
    for (const planb::Step<Llm>& step : chains->at("c").steps()) {
      result.push_back(planb::run_with_plan(ExecutionPlan<Llm>{step}, [](Llm& llm) { return llm.vendor; }));
    }
    return result;
  };
  CHECK(answers(vendors()) == Names{"a", "b", "c"});
  CHECK(answers(std::map<std::string, Provide<Llm>>{{"a", Llm{"1"}}, {"b", Llm{"2"}}, {"c", Llm{"3"}}}) ==
        Names{"1", "2", "3"});
  CHECK(answers(std::map<std::string, Llm>{{"a", {"1"}}, {"b", {"2"}}, {"c", {"3"}}}) == Names{"1", "2", "3"});
  CHECK(answers(StepProviders<Llm>{
            {"a", [](const StepSettings& step) { return Llm{step.name + "!"}; }},
            {"b", [](const StepSettings& step) { return [name = step.name] { return Llm{name + "?"}; }; }},
            {"c", [](const StepSettings&, const ProviderSettings* of) { return Llm{of == nullptr ? "none" : "some"}; }},
        }) == Names{"a!", "x?", "none"});
  CHECK(answers([](const StepSettings& step) { return Llm{step.provider_name()}; }) == Names{"a", "b", "c"});
  CHECK(answers([](const StepSettings& step, const ProviderSettings* of) {
          return Provide<Llm>(Llm{of != nullptr ? of->find("url")->text : step.name});
        }) == Names{"one", "x", "c"});
}

TEST_CASE("what a provider's function refuses is told like any other fault") {
  GateRegistry gates;
  const auto provide = [](const StepSettings& step, const ProviderSettings* of) -> SettingsOr<Llm> {
    if (of == nullptr) return SettingsFaults{{{step.place, step.provider_name(), "a provider of the file", ""}}};
    const SettingsText* const model = of->find("model");
    if (model != nullptr && model->text == "huge") {
      return SettingsFaults{{{model->place, model->text, "large or small", ""}}};
    }
    return Llm{step.name};
  };
  const Chains chains = planb::make_plans<Llm>(
      settings_of("provider a model=huge\nprovider b model=small\nchain c content_refusal=abort\n  z\n  a\n  b"),
      provide, gates);
  CHECK(message_of(chains) ==
        "chat.conf:1:18: found \"huge\", expected large or small\n"
        "chat.conf:4:3: found \"z\", expected a provider of the file");
}

TEST_CASE("what a provider's function throws goes on, and nothing is changed") {
  GateRegistry gates;
  const auto provide = [](const StepSettings&) -> Llm { throw std::runtime_error("no such key"); };
  CHECK_THROWS_AS(planb::make_plans<Llm>(settings_of(shared), provide, gates), std::runtime_error);
  CHECK(gates.size() == 0);
}

TEST_CASE("a program that has no providers is told so") {
  GateRegistry gates;
  const std::map<std::string, std::function<Llm(const StepSettings&)>> empty = {{"a", nullptr}};
  CHECK_THROWS_WITH(planb::make_plans<Llm>(settings_of("chain c content_refusal=abort\n  a"), empty, gates),
                    "planb: make_plans: an empty function among the providers");
  CHECK(message_of(
            planb::make_plans<Llm>(settings_of("chain c content_refusal=abort\n  a"), StepProviders<Llm>{}, gates)) ==
        "chat.conf:2:3: found \"a\", expected a provider that the program has; it has none");
}

TEST_CASE("somebody who changes the registry meanwhile is not overruled") {
  GateRegistry gates;
  int asked = 0;
  const auto provide = [&](const StepSettings& step) {
    if (++asked == 1) gates.circuit_breaker("late", {.failure_threshold = 3});
    return Llm{step.name};
  };
  const Chains chains = planb::make_plans<Llm>(settings_of(shared), provide, gates);
  REQUIRE(chains.has_value());
  CHECK(gates.find("late") != nullptr);
  CHECK(gates.size() == 5);
}

TEST_CASE("changes that were found out before somebody else changed the registry are not made") {
  GateRegistry gates;
  planb::detail::GateChanges changes(gates, {{"g", planb::RetryBudgetOptions{.name = "g"}}});
  gates.retry_budget("late");
  CHECK_FALSE(changes.apply());
  CHECK(gates.find("g") == nullptr);
  CHECK(gates.find("late") != nullptr);
  planb::detail::GateChanges again(gates, {{"g", planb::RetryBudgetOptions{.name = "g"}}});
  CHECK(again.apply());
  CHECK(gates.size() == 2);
}

TEST_CASE("the explanation of a configured chain has its numbers") {
  const ConfiguredChain<Llm> chain = chain_of(
      "next_step budget=30s\n  a attempts=2 schedule=spaced(1s) timeout=5s first_timeout=40s\n  b timeout=5s "
      "reserve=5s");
  const planb::Explanation call = planb::explain(chain, chain.run_options);
  CHECK(call.worst.calls == 3);
  REQUIRE(call.steps.size() == 2);
  CHECK(call.steps[0].name == "a");
  const auto kinds = [](const planb::Explanation& explanation) {
    Names result;
    for (const planb::Finding& finding : explanation.findings) result.emplace_back(to_label(finding.kind));
    return result;
  };
  CHECK(kinds(call) == Names{"first_timeout_unused"});
  CHECK(kinds(planb::explain(chain, chain.stream_options)) == Names{"first_timeout_above_budget"});
}
