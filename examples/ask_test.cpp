// Tests of the example `ask`: its command line, its routing with fakes, its client over loopback, and the program.
#include "catch.hpp"

#include "ask/chat_client.hpp"
#include "ask/loopback.hpp"
#include "ask/options.hpp"
#include "ask/printer.hpp"
#include "ask/route.hpp"
#include "ask/sse.hpp"

#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifndef _WIN32
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::string>;

// What parse_options says of wrong arguments; empty where it says nothing.
std::string complaint(const std::vector<std::string>& arguments) {
  try {
    static_cast<void>(ask::parse_options(arguments));
  } catch (const ask::UsageError& e) {
    return e.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr planb::ContentRefusal next_step = planb::ContentRefusal::next_step;

bool is_one_line(const std::string& text) { return !text.empty() && text.find_first_of("\r\n") == std::string::npos; }

}  // namespace

// --- The command line
// --------------------------------------------------------------------------------------------------

TEST_CASE("without arguments there are no providers, and the defaults hold", "[ask]") {
  const ask::Options options = ask::parse_options({});
  CHECK(options.providers.empty());
  CHECK(options.prompts.empty());
  CHECK(!options.timeout);
  CHECK(!options.budget);
  CHECK(!options.stream);
  CHECK(!options.partial);
  CHECK(options.refusal == next_step);
  CHECK(!options.attempts);
  CHECK(!options.quiet);
  CHECK(!options.help);
}

TEST_CASE("every option is read, with its value after a space or an equals sign", "[ask]") {
  const bool joined = GENERATE(false, true);
  std::vector<std::string> arguments;
  const std::vector<std::pair<std::string, std::string>> given{
      {"--provider", "a=https://api.example.com,model=big,key_env=A_KEY"},
      {"--provider", "b=http://localhost:8080/v1"},
      {"--prompt", "--help"},
      {"--prompt", "and then?"},
      {"--timeout", "250ms"},
      {"--attempts", "3"},
      {"--refusal", "abort"},
      {"--partial", "prevent-fallback"},
      {"--budget", "2m"}};
  for (const auto& [name, value] : given) {
    if (joined) {
      arguments.push_back(name + '=' + value);
    } else {
      arguments.insert(arguments.end(), {name, value});
    }
  }
  arguments.insert(arguments.end(), {"--quiet", "--stream"});

  const ask::Options options = ask::parse_options(arguments);
  REQUIRE(options.providers.size() == 2);
  CHECK(options.providers[0].name == "a");
  CHECK(options.providers[0].url.authority() == "api.example.com:443");
  CHECK(options.providers[0].model == "big");
  CHECK(options.providers[0].key_variable == "A_KEY");
  CHECK(options.providers[0].attempts == 3);
  CHECK(options.providers[1].name == "b");
  CHECK(options.providers[1].model.empty());
  CHECK(options.providers[1].key_variable.empty());
  CHECK(options.prompts == Lines{"--help", "and then?"});
  CHECK(options.timeout == 250ms);
  CHECK(options.budget == 2min);
  CHECK(options.refusal == planb::ContentRefusal::abort);
  CHECK(options.stream);
  CHECK(options.partial == planb::PartialStream::prevent_fallback);
  CHECK(options.quiet);
  CHECK(!options.help);
}

TEST_CASE("a provider is tried twice unless --attempts says otherwise, wherever it stands", "[ask]") {
  const std::string provider = "--provider=a=http://h";
  CHECK(ask::parse_options({provider}).providers.at(0).attempts == 2);
  CHECK(ask::parse_options({"--attempts=1", provider}).providers.at(0).attempts == 1);
  CHECK(ask::parse_options({provider, "--attempts=1"}).providers.at(0).attempts == 1);
}

TEST_CASE("--help ends the reading", "[ask]") {
  CHECK(ask::parse_options({"--help"}).help);
  CHECK(ask::parse_options({"-h", "--nonsense"}).help);
}

TEST_CASE("wrong arguments are refused in one line that names them", "[ask]") {
  struct Case {
    std::vector<std::string> arguments;
    std::string says;
  };
  const std::string form = "expected name=url[,model=...][,key_env=VAR]";
  const auto& [arguments, says] = GENERATE_COPY(values<Case>({
      {{"--speed", "9"}, "unknown option \"--speed\""},
      {{"-x"}, "unknown option \"-x\""},
      {{"--key=secret"}, "unknown option \"--key\""},
      {{"hello"}, "unexpected argument \"hello\""},
      {{"two\nlines"}, "unexpected argument \"two lines\""},
      {{"--prompt"}, "--prompt needs a value"},
      {{"--provider"}, "--provider needs a value"},
      {{"--timeout"}, "--timeout needs a value"},
      {{"--quiet=yes"}, "--quiet takes no value"},
      {{"--help=me"}, "--help takes no value"},
      {{"--timeout", "soon"}, "--timeout \"soon\": expected a time"},
      {{"--budget", "0"}, "--budget \"0\": expected a time"},
      {{"--refusal"}, "--refusal needs a value"},
      {{"--refusal", "maybe"}, "--refusal \"maybe\": expected next or abort"},
      {{"--stream=yes"}, "--stream takes no value"},
      {{"--stream", "--partial"}, "--partial needs a value"},
      {{"--stream", "--partial", "half"}, "--partial \"half\": expected allow, prevent-fallback or prevent-retry"},
      {{"--partial", "allow"}, "--partial says something of --stream only"},
      {{"--attempts", "0"}, "--attempts \"0\": expected a number from 1 to 1000"},
      {{"--attempts", "-1"}, "--attempts \"-1\""},
      {{"--attempts", "2x"}, "--attempts \"2x\""},
      {{"--attempts", ""}, "--attempts \"\""},
      {{"--attempts", "99999999999999999999"}, "--attempts \"99999999999999999999\""},
      {{"--provider", ""}, form},
      {{"--provider", "openai"}, form},
      {{"--provider", "=http://h"}, form},
      {{"--provider", "a="}, "--provider a: the URL \"\" must begin with http:// or https://"},
      {{"--provider", "a=ftp://h"}, "--provider a: the URL \"ftp://h\" must begin with http:// or https://"},
      {{"--provider", "a=localhost:8080"}, "must begin with http:// or https://"},
      {{"--provider", "a=http://h,"}, "--provider a: unknown setting \"\""},
      {{"--provider", "a=http://h,model"}, "--provider a: model= is empty"},
      {{"--provider", "a=http://h,model="}, "--provider a: model= is empty"},
      {{"--provider", "a=http://h,key_env="}, "--provider a: key_env= is empty"},
      {{"--provider", "a=http://h,temperature=1"}, "--provider a: unknown setting \"temperature\""},
  }));
  const std::string said = complaint(arguments);
  CAPTURE(said, says);
  CHECK(has(said, says));
  CHECK(is_one_line(said));
}

TEST_CASE("a key in the wrong place is refused without being shown", "[ask]") {
  const std::string wrong =
      GENERATE("a=http://h,key=sk-hidden-1", "a=http://h,key_env=sk-hidden-1", "a=https://user:sk-hidden-1@h");
  const std::string said = complaint({"--provider", wrong});
  CAPTURE(said);
  CHECK(is_one_line(said));
  CHECK(!has(said, "hidden"));
}

TEST_CASE("URLs are taken apart, and led to the chat completions", "[ask]") {
  struct Case {
    std::string url;
    std::string authority;
    std::string path;
    bool tls;
  };
  const Case c = GENERATE(values<Case>({
      {"http://localhost", "localhost:80", "/v1/chat/completions", false},
      {"https://api.example.com", "api.example.com:443", "/v1/chat/completions", true},
      {"https://api.example.com/", "api.example.com:443", "/v1/chat/completions", true},
      {"http://localhost:8080/v1", "localhost:8080", "/v1/chat/completions", false},
      {"http://localhost:8080/v1/", "localhost:8080", "/v1/chat/completions", false},
      {"https://h/proxy/v1/chat/completions", "h:443", "/proxy/v1/chat/completions", true},
      {"https://h/openai", "h:443", "/openai/v1/chat/completions", true},
      {"https://h/v2beta/chat/completions", "h:443", "/v2beta/chat/completions", true},
      {"https://h/v1?version=2", "h:443", "/v1/chat/completions?version=2", true},
      {"https://h?version=a/b", "h:443", "/v1/chat/completions?version=a/b", true},
      {"http://[::1]", "[::1]:80", "/v1/chat/completions", false},
      {"http://[fe80::a]:8080/v1", "[fe80::a]:8080", "/v1/chat/completions", false},
  }));
  CAPTURE(c.url);
  const ask::Url url = ask::parse_url(c.url);
  CHECK(url.authority() == c.authority);
  CHECK(url.path == c.path);
  CHECK(url.tls == c.tls);
}

TEST_CASE("URLs that lead nowhere are refused", "[ask]") {
  const std::string url =
      GENERATE("", "http://", "https:///v1", "http://:80", "http://h:", "http://h:0", "http://h:65536", "http://h:80x",
               "http://h:-1", "http://[::1", "http://[::1]80", "http://[]", "http://a b", "http://h/a\nb",
               "http://h/#top", "http://u:p@h", "HTTP//h", "file:///etc/passwd");
  CAPTURE(url);
  CHECK_THROWS_AS(ask::parse_url(url), ask::UsageError);
}

TEST_CASE("times are numbers of seconds, or have a unit", "[ask]") {
  using Case = std::pair<std::string, planb::Duration>;
  const auto& [text, time] = GENERATE(values<Case>({{"30s", 30s},
                                                    {"30", 30s},
                                                    {"1.5", 1500ms},
                                                    {"0.25s", 250ms},
                                                    {"250ms", 250ms},
                                                    {"0.5ms", 500us},
                                                    {"2m", 2min},
                                                    {"2min", 2min},
                                                    {"1.5h", 90min},
                                                    {"24h", 24h}}));
  CAPTURE(text);
  CHECK(ask::parse_time(text) == time);
}

TEST_CASE("what is not a time above zero and up to a day is refused", "[ask]") {
  const std::string text =
      GENERATE("", "0", "0s", "-1", "+1", "s", ".5", "1.", "1.s", "1..5", "1,5", " 1", "1 s", "1e3", "1d", "1S", "25h",
               "0.0000000001", "nan", "inf", "99999999999999999999999999s");
  CAPTURE(text);
  CHECK(!ask::parse_time(text));
}

TEST_CASE("a key comes from its variable, and a variable without one is named", "[ask]") {
  const auto key_of = [](const char* value) {
    std::vector<ask::Provider> providers{ask::parse_provider("a=http://h,key_env=A_KEY"),
                                         ask::parse_provider("b=http://h")};
    std::string asked;
    ask::read_keys(providers, [&](const char* name) {
      asked += name;
      return value;
    });
    CHECK(asked == "A_KEY");
    CHECK(providers[1].key.empty());
    return providers[0].key;
  };
  CHECK(key_of("sk-1") == "sk-1");
  for (const char* const wrong : {"", "sk 1", "sk-1\n", "sk-\xC3\xA9"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(key_of(wrong), ask::UsageError);
  }
  CHECK_THROWS_AS(key_of(nullptr), ask::UsageError);
  try {
    key_of("sk-hidden\n");
  } catch (const ask::UsageError& e) {
    CHECK(has(e.what(), "A_KEY"));
    CHECK(!has(e.what(), "hidden"));
  }
}

TEST_CASE("UTF-8 is told from what is not", "[ask]") {
  for (const char* const good :
       {"", "plain", "gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    CAPTURE(good);
    CHECK(ask::is_utf8(good));
  }
  for (const char* const bad : {"\x80", "\xC3", "\xC0\xAF", "\xC3(", "\xE2\x82", "\xE0\x80\x80", "\xED\xA0\x80",
                                "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    CAPTURE(bad);
    CHECK(!ask::is_utf8(bad));
  }
}

TEST_CASE("a text becomes one line of bounded length, cut between characters", "[ask]") {
  CHECK(ask::one_line("a\r\n\tb \x1B[0m c \n") == "a b [0m c");
  CHECK(ask::one_line("abcdef", 4) == "abcd...");
  CHECK(ask::one_line("abc\xE2\x82\xAC", 4) == "abc...");
}

// --- Server-sent events
// ------------------------------------------------------------------------------------------------

namespace {

// The events in the pieces, each as "name|data".
Lines events_in(const Lines& pieces) {
  Lines events;
  ask::SseParser parser;
  const auto note = [&](const ask::ServerSentEvent& event) {
    events.push_back(event.name + '|' + event.data);
    return true;
  };
  for (const std::string& piece : pieces) CHECK(parser.feed(piece, note));
  parser.finish(note);
  return events;
}

}  // namespace

TEST_CASE("an event is its data lines up to a blank line", "[ask][sse]") {
  using Case = std::pair<std::string, Lines>;
  const auto& [body, events] = GENERATE(values<Case>({
      {"", {}},
      {"\n\n\n", {}},
      {"data: a\n\n", {"|a"}},
      {"data:a\n\n", {"|a"}},
      {"data:  a \n\n", {"| a "}},
      {"data: a\n\ndata: b\n\n", {"|a", "|b"}},
      {"data: a\ndata: b\n\n", {"|a\nb"}},
      {"data\n\n", {"|"}},
      {"data:\ndata:\n\n", {"|\n"}},
      {"data: a:b\n\n", {"|a:b"}},
      {"event: error\ndata: a\n\ndata: b\n\n", {"error|a", "|b"}},
      {"event: nothing\n\ndata: a\n\n", {"|a"}},
      {": a comment\ndata: a\n: another\ndata: b\n:\n\n: the last\n\n", {"|a\nb"}},
      {"id: 1\nretry: 10\ndatabase: c\n data: d\ndata: a\n\n", {"|a"}},
      {"\xEF\xBB\xBF"
       "data: a\n\n",
       {"|a"}},
      // The body may end without the blank line, and without any.
      {"data: a\n\ndata: b\n", {"|a", "|b"}},
      {"data: a\n\ndata: b", {"|a", "|b"}},
      {"data: a\n\nevent: b", {"|a"}},
      {"data: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n", {"|a", "|b\nc"}},
      {"data: a\r\rdata: b\r\r", {"|a", "|b"}},
      {"data: a\r\n\ndata: b\n\r", {"|a", "|b"}},
      {"data: gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80\r\n\r\n", {"|gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"}},
  }));
  CAPTURE(body);
  CHECK(events_in({body}) == events);

  // Wherever it is cut in three, and in single bytes.
  for (std::size_t i = 0; i <= body.size(); ++i) {
    for (std::size_t j = i; j <= body.size(); ++j) {
      if (events_in({body.substr(0, i), body.substr(i, j - i), body.substr(j)}) != events)
        FAIL("cut at " << i << ", " << j);
    }
  }
  Lines bytes;
  for (const char c : body) bytes.emplace_back(1, c);
  CHECK(events_in(bytes) == events);
}

TEST_CASE("events come as soon as they are complete, and no more after a handler has had enough", "[ask][sse]") {
  Lines events;
  ask::SseParser parser;
  const auto until_b = [&](const ask::ServerSentEvent& event) {
    events.push_back(event.data);
    return event.data != "b";
  };
  CHECK(parser.feed("data: a\n", until_b));
  CHECK(events.empty());
  CHECK(parser.feed("\r", until_b));
  CHECK(events == Lines{"a"});
  CHECK(!parser.feed("data: b\n\ndata: c\n\n", until_b));
  CHECK(events == Lines{"a", "b"});
}

// --- The routing, with fakes
// -------------------------------------------------------------------------------------------

namespace {

using planb::testing::AttemptLog;
using planb::testing::Behaviour;
using planb::testing::FakeProvider;
using planb::testing::VirtualClock;

struct FakeClient {
  FakeProvider fake;

  std::string complete(const std::string& prompt, const planb::Attempt& attempt) const {
    return fake.complete(prompt, attempt.stop_token());
  }
};

// Fakes in place of the providers of the same names, on a clock of their own.
struct FakeRoute {
  VirtualClock clock = {};
  AttemptLog log = {};
  std::vector<ask::Provider> providers = {};
  std::vector<FakeProvider> fakes = {};
  std::optional<planb::Duration> budget = std::nullopt;
  planb::ContentRefusal refusal = next_step;
  std::optional<planb::ExecutionPlan<FakeClient>> plan = std::nullopt;

  void add(const std::string& name, std::vector<Behaviour> behaviours, int attempts = 1, planb::Schedule pause = {}) {
    providers.push_back({.name = name, .attempts = attempts, .pause = std::move(pause)});
    fakes.emplace_back(name, std::move(behaviours), &clock);
  }

  // Every run is of the same plan, as every prompt of the program's is.
  planb::PlanResult<std::string> run(planb::Duration timeout = 30s) {
    if (!plan) {
      plan = ask::make_plan(providers, timeout, refusal, [this](const ask::Provider& provider) {
        for (const FakeProvider& fake : fakes) {
          if (fake.name() == provider.name) return FakeClient{fake};
        }
        throw planb::Defect("no fake is named " + provider.name);
      });
    }
    return ask::ask_providers(*plan, "hello", {.on_event = log, .budget = budget, .clock = &clock});
  }

  // Another run; only what it adds to the log.
  Lines names_of_run() {
    const std::size_t before = log.names().size();
    static_cast<void>(run());
    const Lines all = log.names();
    return Lines(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  }

  // The alerts so far, as the program prints them.
  Lines alerts() const {
    Lines lines;
    for (const planb::AttemptFailure& failure : log.of<planb::AttemptFailure>()) {
      if (failure.verdict && failure.verdict->alert) lines.push_back(ask::alert_line(failure));
    }
    return lines;
  }
};

}  // namespace

TEST_CASE("the chain goes on from one that is down and one that is busy to one that is well", "[ask]") {
  FakeRoute route;
  route.add("openai", {Behaviour::status(503)}, 2, planb::exponential(20ms));
  route.add("anthropic", {Behaviour::status(429).retry_after(2s)});
  route.add("local", {Behaviour::value("hi")});

  const auto answer = route.run();

  REQUIRE(answer.has_value());
  CHECK(*answer == "hi");
  CHECK(answer.report().answered_by() == "local");
  CHECK(route.clock.elapsed() == 20ms);
  CHECK(route.log.lines() ==
        Lines{"AttemptStart #1 step=0 openai",
              "AttemptFailure #1 step=0 openai 503 service unavailable, retry in 20 ms",
              "AttemptStart #2 step=0 openai", "AttemptFailure #2 step=0 openai 503 service unavailable, next step",
              "AttemptStart #3 step=1 anthropic", "AttemptFailure #3 step=1 anthropic 429 too many requests, next step",
              "AttemptStart #4 step=2 local", "AttemptSuccess #4 step=2 local"});
  CHECK(route.fakes[2].prompts() == Lines{"hello"});
}

TEST_CASE("the order of the providers is the order of the calls", "[ask]") {
  struct Case {
    std::vector<int> statuses;  // 0: answers
    Lines names;
  };
  const Case c = GENERATE(values<Case>({{{0, 0, 0}, {"alpha"}},
                                        {{500, 0, 0}, {"alpha", "beta"}},
                                        {{500, 401, 0}, {"alpha", "beta", "gamma"}},
                                        {{500, 401, 503}, {"alpha", "beta", "gamma"}}}));
  FakeRoute route;
  const Lines names{"alpha", "beta", "gamma"};
  for (std::size_t i = 0; i != names.size(); ++i) {
    route.add(names[i], {c.statuses[i] == 0 ? Behaviour::value(names[i]) : Behaviour::status(c.statuses[i])});
  }
  const auto answer = route.run();
  CHECK(route.log.names() == c.names);
  CHECK(answer.has_value() == (c.statuses.back() == 0));
}

TEST_CASE("a status decides who is asked next, and who hears of it", "[ask]") {
  struct Case {
    int status;
    Lines calls;
    bool alert;
  };
  const Lines twice{"first", "first", "second"};
  const Lines once{"first", "second"};
  const Lines no_further{"first"};
  const Case c = GENERATE_COPY(values<Case>({{429, twice, false},
                                             {500, twice, false},
                                             {503, twice, false},
                                             {529, twice, false},
                                             {200, once, false},
                                             {301, once, false},
                                             {499, once, false},
                                             {401, once, true},
                                             {402, once, true},
                                             {403, once, true},
                                             {404, once, true},
                                             {400, no_further, false},
                                             {413, no_further, false},
                                             {422, no_further, false}}));
  CAPTURE(c.status);
  FakeRoute route;
  route.add("first", {Behaviour::status(c.status, "oh")}, 2);
  route.add("second", {});
  const auto answer = route.run();
  CHECK(route.log.names() == c.calls);
  CHECK(route.alerts() == (c.alert ? Lines{"ALERT first: " + std::to_string(c.status) + " oh"} : Lines{}));
  REQUIRE(answer.has_value() == (c.calls.back() == "second"));
  if (!answer) CHECK(answer.error().end() == planb::RunEnd::aborted);
}

TEST_CASE("an empty account is left at once, with an alert, whatever its status", "[ask]") {
  FakeRoute route;
  route.add("first", {Behaviour::status(429, "pay first").code("insufficient_quota")}, 3);
  route.add("second", {});
  CHECK(route.run().has_value());
  CHECK(route.log.names() == Lines{"first", "second"});
  CHECK(route.alerts() == Lines{"ALERT first: 429 pay first"});
}

TEST_CASE("a refused prompt goes on or not, as the caller decided", "[ask]") {
  const bool goes_on = GENERATE(true, false);
  FakeRoute route;
  route.refusal = goes_on ? next_step : planb::ContentRefusal::abort;
  route.add("first", {Behaviour::status(400).code("content_filter")}, 2);
  route.add("second", {});
  CHECK(route.run().has_value() == goes_on);
  CHECK(route.log.names() == (goes_on ? Lines{"first", "second"} : Lines{"first"}));
  CHECK(route.alerts().empty());
}

TEST_CASE("an alert is one line, whatever the provider says", "[ask]") {
  planb::AttemptFailure failure{.step_name = "it\n",
                                .cause = planb::Cause::of(planb::ProviderError(401, "no\r\nentry"))};
  CHECK(ask::alert_line(failure) == "ALERT it: 401 no entry");
  failure.cause = planb::Cause::of(planb::ProviderError(403));
  CHECK(ask::alert_line(failure) == "ALERT it: 403");
}

// --- The breakers

TEST_CASE("a provider that failed for one prompt is not asked for the next, until its time off is over", "[ask]") {
  FakeRoute route;
  route.add("down", {Behaviour::status(503), Behaviour::status(503), Behaviour::value("back")}, 2);
  route.add("well", {Behaviour::value("hi")});

  CHECK(route.names_of_run() == Lines{"down", "down", "well"});
  CHECK(route.names_of_run() == Lines{"well"});
  const auto skips = route.log.of<planb::StepSkipped>();
  REQUIRE(skips.size() == 1);
  CHECK(to_string(skips[0]) == "StepSkipped step=0 down circuit open for 30 s");

  route.clock.advance(ask::time_off - 1ns);
  CHECK(route.names_of_run() == Lines{"well"});
  route.clock.advance(1ns);
  CHECK(route.names_of_run() == Lines{"down"});
  CHECK(route.names_of_run() == Lines{"down"});
}

TEST_CASE("a provider that is tried once is given a second prompt before its breaker opens", "[ask]") {
  FakeRoute route;
  route.add("down", {Behaviour::status(401)});
  route.add("well", {});
  CHECK(route.names_of_run() == Lines{"down", "well"});
  CHECK(route.names_of_run() == Lines{"down", "well"});
  CHECK(route.names_of_run() == Lines{"well"});
  CHECK(route.alerts().size() == 2);
}

TEST_CASE("one prompt alone has all the attempts that it was promised", "[ask]") {
  const int attempts = GENERATE(1, 2, 3, 7);
  FakeRoute route;
  route.add("down", {Behaviour::status(503)}, attempts);
  route.add("well", {});
  CHECK(route.names_of_run().size() == static_cast<std::size_t>(attempts) + 1);
}

TEST_CASE("a provider's wait hint makes its time off longer", "[ask]") {
  FakeRoute route;
  route.add("busy", {Behaviour::status(429).retry_after(5min)}, 2);
  route.add("well", {});
  CHECK(route.names_of_run() == Lines{"busy", "well"});  // too long a wait to be tried again
  CHECK(route.names_of_run() == Lines{"busy", "well"});
  route.clock.advance(5min - 1ns);
  CHECK(route.names_of_run() == Lines{"well"});
  route.clock.advance(1ns);
  CHECK(route.names_of_run() == Lines{"busy", "well"});
}

TEST_CASE("bad and refused prompts open no breaker", "[ask]") {
  const Behaviour refused =
      GENERATE(Behaviour::status(400), Behaviour::status(413), Behaviour::status(400).code("content_filter"));
  FakeRoute route;
  route.add("it", {refused});
  for (int i = 0; i != 5; ++i) CHECK(route.names_of_run() == Lines{"it"});
}

TEST_CASE("each provider has a breaker of its own; with all of them open nobody is asked", "[ask]") {
  FakeRoute route;
  route.add("first", {Behaviour::status(503)}, 2);
  route.add("second", {Behaviour::status(500)}, 2);
  CHECK(route.names_of_run() == Lines{"first", "first", "second", "second"});
  const auto answer = route.run();
  REQUIRE(!answer.has_value());
  CHECK(std::string(answer.error().what()) ==
        "plan exhausted: first: skipped, circuit open for 30 s; second: skipped, circuit open for 30 s");
}

TEST_CASE("an error without a status is one of the connection, and tried again", "[ask][field-22]") {
  FakeRoute route;
  route.add("first", {Behaviour::throws(planb::ProviderError("cannot connect"))}, 2);
  route.add("second", {});
  CHECK(route.run().has_value());
  CHECK(route.log.names() == Lines{"first", "first", "second"});
}

TEST_CASE("a wait hint is honoured before the same provider is asked again", "[ask]") {
  FakeRoute route;
  route.add("first", {Behaviour::status(429).retry_after(7s), Behaviour::value("hi")}, 2, planb::exponential(20ms));
  CHECK(route.run().has_value());
  CHECK(route.clock.elapsed() == 7s);
}

TEST_CASE("a provider that hangs costs its time, and the next one gets its own", "[ask]") {
  FakeRoute route;
  route.add("slow", {Behaviour::value("late").after(10min)});
  route.add("quick", {Behaviour::value("hi").after(29s)});
  const auto answer = route.run(30s);
  REQUIRE(answer.has_value());
  CHECK(*answer == "hi");
  CHECK(route.clock.elapsed() == 59s);
  CHECK(route.log.of<planb::AttemptFailure>().at(0).cause.kind() == planb::CauseKind::timeout);
}

TEST_CASE("the budget bounds everything together", "[ask]") {
  FakeRoute route;
  route.add("slow", {Behaviour::value("late").after(10min)}, 5);
  route.add("never asked", {});
  route.budget = 45s;
  const auto answer = route.run(30s);
  REQUIRE(!answer.has_value());
  CHECK(answer.error().end() == planb::RunEnd::deadline);
  CHECK(route.clock.elapsed() == 45s);
  CHECK(route.log.names() == Lines{"slow", "slow"});
}

TEST_CASE("where nobody answers, one line says what became of each", "[ask]") {
  FakeRoute route;
  route.add("first", {Behaviour::status(503)}, 2);
  route.add("second", {Behaviour::status(401, "no\nentry")});
  const auto answer = route.run();
  REQUIRE(!answer.has_value());
  CHECK(std::string(answer.error().what()) ==
        "plan exhausted: first: 2 attempts, last 503 service unavailable; second: 401 no entry (alert)");
}

// --- The client, over loopback
// -----------------------------------------------------------------------------------------

namespace {

using ask::chat_answer;
using ask::chat_error;
using ask::LoopbackProvider;
using ask::Reply;

ask::Provider at(const ask::Url& url, const std::string& name = "it") { return {.name = name, .url = url}; }

planb::PlanResult<std::string> ask_one(const ask::Provider& provider, const std::string& prompt = "hello",
                                       planb::Duration timeout = 30s) {
  const auto plan =
      ask::make_plan({provider}, timeout, next_step, [](const ask::Provider& p) { return ask::ChatClient(p); });
  return ask::ask_providers(plan, prompt, {});
}

// Why the one provider did not answer.
planb::Cause failure_of(const ask::Provider& provider, planb::Duration timeout = 30s) {
  const auto answer = ask_one(provider, "hello", timeout);
  REQUIRE(!answer.has_value());
  REQUIRE(answer.report().last_cause() != nullptr);
  return *answer.report().last_cause();
}

#ifndef _WIN32
// A port that is taken but does not listen.
class ClosedPort {
 public:
  ClosedPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket_, any, size) == 0);
    REQUIRE(::getsockname(socket_, any, &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;
  ~ClosedPort() { ::close(socket_); }

  [[nodiscard]] ask::Url url() const { return {.host = "127.0.0.1", .port = port_, .path = "/v1/chat/completions"}; }

 private:
  int socket_;
  int port_ = 0;
};
#endif

}  // namespace

TEST_CASE("a request says what the provider needs, and no more", "[ask][loopback]") {
  const LoopbackProvider server(chat_answer("gr\xC3\xBC\xC3\x9F dich"));
  const std::string prompt = "\xE2\x82\xAC \"quoted\"\n\\ \xF0\x9F\x98\x80";
  ask::Provider provider = at(server.url());

  SECTION("with a model and a key") {
    provider.model = "big";
    provider.key = "sk-1";
    const auto answer = ask_one(provider, prompt);
    REQUIRE(answer.has_value());
    CHECK(*answer == "gr\xC3\xBC\xC3\x9F dich");
    REQUIRE(server.requests().size() == 1);
    const httplib::Request request = server.requests().front();
    CHECK(request.method == "POST");
    CHECK(request.path == "/v1/chat/completions");
    CHECK(request.get_header_value("Content-Type") == "application/json");
    CHECK(request.get_header_value("Authorization") == "Bearer sk-1");
    const nlohmann::json body = nlohmann::json::parse(request.body);
    CHECK(body == nlohmann::json{{"model", "big"}, {"messages", {{{"role", "user"}, {"content", prompt}}}}});
  }
  SECTION("without either") {
    REQUIRE(ask_one(provider, prompt).has_value());
    const httplib::Request request = server.requests().at(0);
    CHECK(!request.has_header("Authorization"));
    CHECK(!nlohmann::json::parse(request.body).contains("model"));
  }
}

TEST_CASE("three providers are gone through over HTTP", "[ask][loopback]") {
  const ask::DemoProviders demo;
  const AttemptLog log;
  const auto plan =
      ask::make_plan(demo.list(), 30s, next_step, [](const ask::Provider& p) { return ask::ChatClient(p); });
  const auto answer = ask::ask_providers(plan, "\xE2\x82\xAC?", {.on_event = log});
  REQUIRE(answer.has_value());
  CHECK(has(*answer, "\xE2\x82\xAC?"));
  CHECK(answer.report().answered_by() == "local");
  CHECK(log.lines() ==
        Lines{"AttemptStart #1 step=0 openai",
              "AttemptFailure #1 step=0 openai 503 service unavailable, retry in 20 ms",
              "AttemptStart #2 step=0 openai", "AttemptFailure #2 step=0 openai 503 service unavailable, next step",
              "AttemptStart #3 step=1 anthropic", "AttemptFailure #3 step=1 anthropic 429 too many requests, next step",
              "AttemptStart #4 step=2 local", "AttemptSuccess #4 step=2 local"});
  const auto failures = log.of<planb::AttemptFailure>();
  CHECK(failures.at(2).cause.retry_after() == planb::Duration(2s));
  CHECK(failures.at(2).cause.code() == "rate_limit_exceeded");
}

TEST_CASE("an error answer tells its status, code and message", "[ask][loopback]") {
  struct Case {
    int status;
    std::string body;
    std::string code;
    std::string message;
  };
  const Case c = GENERATE(values<Case>({
      {401, R"({"error":{"message":"bad key","type":"auth","code":"invalid_api_key"}})", "invalid_api_key", "bad key"},
      {429, R"({"error":{"message":"slow down","type":"rate_limit","code":null}})", "rate_limit", "slow down"},
      {500, R"({"error":{"message":"oops","code":1234}})", "1234", "oops"},
      {404, R"({"error":"no such model"})", "", "no such model"},
      {422, R"({"message":"no"})", "", "no"},
      {503, R"({"error":{}})", "", "Service Unavailable"},
      {503, R"({"error":{"message":["odd"],"code":{}}})", "", "Service Unavailable"},
      {502, "<html>Bad\n\nGateway</html>", "", "Bad Gateway"},
      {503, "", "", "Service Unavailable"},
      {503, "[]", "", "Service Unavailable"},
      {400, R"({"error":{"message":"two\r\n\tlines"}})", "", "two lines"},
      {200, R"({"error":{"message":"late trouble","code":"server_error"}})", "server_error", "late trouble"},
  }));
  CAPTURE(c.status, c.body);
  const LoopbackProvider server(Reply{.status = c.status, .body = c.body});
  const planb::Cause cause = failure_of(at(server.url()));
  CHECK(cause.status() == c.status);
  CHECK(cause.code() == c.code);
  CHECK(cause.message() == c.message);
  CHECK(cause.kind() == planb::CauseKind::error);
  CHECK(!cause.retry_after());
}

TEST_CASE("a message is of bounded length", "[ask][loopback]") {
  const LoopbackProvider server(chat_error(500, std::string(5000, 'x'), "c"));
  CHECK(failure_of(at(server.url())).message() == std::string(300, 'x') + "...");
}

TEST_CASE("a wait hint is read from the finest header that has one, and is in the event", "[ask][loopback]") {
  struct Case {
    httplib::Headers headers;
    std::optional<planb::Duration> hint;
  };
  const auto& [headers, hint] = GENERATE(values<Case>({
      {{}, std::nullopt},
      {{{"Retry-After", "0"}}, 0s},
      {{{"Retry-After", "7"}}, 7s},
      {{{"Retry-After", "1.5"}}, 1500ms},
      {{{"Retry-After", "6m0s"}}, 6min},
      {{{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}}, 0s},
      {{{"Retry-After", "soon"}}, std::nullopt},
      {{{"Retry-After", "-1"}}, 0s},
      {{{"Retry-After", "99999999999999999999"}}, (planb::Duration::max)()},
      {{{"Retry-After-Ms", "250"}}, 250ms},
      {{{"x-ms-retry-after-ms", "40"}}, 40ms},
      {{{"Retry-After", "1"}, {"retry-after-ms", "250"}}, 250ms},
      {{{"Retry-After", "1"}, {"retry-after-ms", "soon"}}, 1s},
  }));
  CAPTURE(headers);
  Reply reply = chat_error(429, "busy", "c");
  reply.headers = headers;
  const LoopbackProvider server(reply);
  const AttemptLog log;
  const auto plan =
      ask::make_plan({at(server.url())}, 30s, next_step, [](const ask::Provider& p) { return ask::ChatClient(p); });
  CHECK(!ask::ask_providers(plan, "hello", {.on_event = log}).has_value());
  CHECK(log.of<planb::AttemptFailure>().at(0).cause.retry_after() == hint);
}

TEST_CASE("a refusal among the answers is told by its code", "[ask][loopback]") {
  struct Case {
    std::string choice;
    std::string code;
    std::string message;
  };
  const Case c = GENERATE(values<Case>({
      {R"({"message":{"content":"half of"},"finish_reason":"content_filter"})", "content_filter",
       "the content was filtered"},
      {R"({"message":{"content":null,"refusal":"I won't"},"finish_reason":"stop"})", "refusal", "I won't"},
  }));
  CAPTURE(c.choice);
  const LoopbackProvider server(Reply{.body = "{\"choices\":[" + c.choice + "]}"});
  const LoopbackProvider other(chat_answer("hi"));
  const planb::Cause cause = failure_of(at(server.url()));
  CHECK(cause.code() == c.code);
  CHECK(cause.message() == c.message);
  CHECK(cause.status() == 200);
  for (const planb::ContentRefusal refusal : {next_step, planb::ContentRefusal::abort}) {
    const auto plan = ask::make_plan({at(server.url()), at(other.url())}, 30s, refusal,
                                     [](const ask::Provider& p) { return ask::ChatClient(p); });
    CHECK(ask::ask_providers(plan, "hello", {}).has_value() == (refusal == next_step));
  }
}

TEST_CASE("an answer that is not refused is one, whatever else it says", "[ask][loopback]") {
  const std::string choice = GENERATE(R"({"message":{"content":"hi","refusal":null},"finish_reason":"stop"})",
                                      R"({"message":{"content":"hi","refusal":""},"finish_reason":"length"})",
                                      R"({"message":{"content":"hi"},"finish_reason":{}})");
  const LoopbackProvider server(Reply{.body = "{\"choices\":[" + choice + "]}"});
  const auto answer = ask_one(at(server.url()));
  REQUIRE(answer.has_value());
  CHECK(*answer == "hi");
}

TEST_CASE("an answer that is of no use is a failure that says why, and is not asked for twice", "[ask][loopback]") {
  using Case = std::pair<std::string, std::string>;
  const std::string shape = "the answer has no text in choices[0].message.content";
  const auto& [body, message] = GENERATE_COPY(values<Case>({
      {"<!doctype html>\n<title>Hello</title>", "the answer is not JSON but <!doctype html> <title>Hello</title>"},
      {"", "the answer is not JSON but nothing"},
      {"{\"choices\":", "the answer is not JSON but {\"choices\":"},
      {"\xFF\xFE\x80{", "the answer is not JSON but ???{"},
      {std::string("\0\x01\x1B[2J", 6), "the answer is not JSON but [2J"},
      {"null", shape},
      {"42", shape},
      {"[]", shape},
      {"{}", shape},
      {R"({"choices":{}})", shape},
      {R"({"choices":[]})", shape},
      {R"({"choices":[null]})", shape},
      {R"({"choices":[{"text":"old form"}]})", shape},
      {R"({"choices":[{"message":{}}]})", shape},
      {R"({"choices":[{"message":{"content":null}}]})", shape},
      {R"({"choices":[{"message":{"content":["a"]}}]})", shape},
  }));
  CAPTURE(body);
  const LoopbackProvider server(Reply{.body = body});
  ask::Provider provider = at(server.url());
  provider.attempts = 3;
  const planb::Cause cause = failure_of(provider);
  CHECK(cause.message() == message);
  CHECK(cause.status() == 200);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("an empty text is an answer", "[ask][loopback][field-23]") {
  const LoopbackProvider server(chat_answer(""));
  const auto answer = ask_one(at(server.url()));
  REQUIRE(answer.has_value());
  CHECK(answer->empty());
}

TEST_CASE("an answer that is too long is given up", "[ask][loopback]") {
  const Reply reply = chat_answer("hi");
  const std::size_t size = reply.body.size();
  const std::size_t limit = GENERATE_COPY(std::size_t{0}, size - 1, size);
  const LoopbackProvider server(reply);
  const auto plan = ask::make_plan({at(server.url())}, 30s, next_step,
                                   [limit](const ask::Provider& p) { return ask::ChatClient(p, limit); });
  const auto answer = ask::ask_providers(plan, "hello", {});
  REQUIRE(answer.has_value() == (size <= limit));
  if (answer) return;
  const planb::Cause* const cause = answer.report().last_cause();
  REQUIRE(cause != nullptr);
  CHECK(cause->message() == "the answer is longer than " + std::to_string(limit) + " bytes");
  CHECK(cause->status() == 200);
}

TEST_CASE("a provider that quotes the key does not get it printed", "[ask][loopback]") {
  const Reply reply = GENERATE(chat_error(401, "the key sk-hidden-1 is not sk-hidden-2", "sk-hidden-1"),
                               Reply{.body = "you sent sk-hidden-1"});
  const LoopbackProvider server(reply);
  ask::Provider provider = at(server.url());
  provider.key = "sk-hidden-1";
  const planb::Cause cause = failure_of(provider);
  CAPTURE(cause.message());
  CHECK(!has(cause.message(), "sk-hidden-1"));
  CHECK(!has(cause.code(), "sk-hidden-1"));
  CHECK(has(cause.message(), "[key]"));
}

TEST_CASE("a connection that breaks in the middle of an answer is an error without a status", "[ask][loopback]") {
  Reply reply = chat_answer("only half of this arrives");
  reply.extent = Reply::half_then_hang_up;
  const LoopbackProvider server(reply);
  const planb::Cause cause = failure_of(at(server.url()));
  CHECK(!cause.status());
  CHECK(cause.kind() == planb::CauseKind::error);
  CHECK(cause.message() == "no complete answer from " + server.url().authority());
}

TEST_CASE("a provider that falls silent, or never comes to an end, is left when the attempt's time is up",
          "[ask][loopback][field-40]") {
  Reply reply = chat_answer("never, or only half of this");
  reply.extent = GENERATE(Reply::nothing, Reply::half_then_silence, Reply::endless);
  const LoopbackProvider server(reply);
  const LoopbackProvider next(chat_answer("hi"));

  const auto started = std::chrono::steady_clock::now();
  const AttemptLog log;
  const auto plan = ask::make_plan({at(server.url(), "silent"), at(next.url(), "next")}, 100ms, next_step,
                                   [](const ask::Provider& p) { return ask::ChatClient(p); });
  const auto answer = ask::ask_providers(plan, "hello", {.on_event = log});
  const auto took = std::chrono::steady_clock::now() - started;

  REQUIRE(answer.has_value());
  CHECK(answer.report().answered_by() == "next");
  const auto failures = log.of<planb::AttemptFailure>();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].cause.kind() == planb::CauseKind::timeout);
  CHECK(!failures[0].cause.status());
  CHECK(to_string(failures[0]) == "AttemptFailure #1 step=0 silent timed out: no complete answer from " +
                                      server.url().authority() + ", next step");
  CHECK(took >= 100ms);
  CHECK(took < 2s);  // the HTTP library's own patience is 5 s and more
}

// --- Streams, over loopback
// --------------------------------------------------------------------------------------------

namespace {

using ask::chat_stream;
using ask::error_event;
using ask::event_stream;
using ask::token_event;

Reply cut(Reply reply, Reply::Extent extent) {
  reply.extent = extent;
  return reply;
}

const std::string done = "data: [DONE]\n\n";

// Streams an answer from providers that reply so, named first, second and so on.
struct Streamed {
  Lines pieces = {};
  std::string answered_by = {};
  AttemptLog log = {};
  std::optional<planb::PlanError> error = std::nullopt;
  std::vector<std::size_t> requests = {};
  planb::Duration took = {};

  explicit Streamed(const std::vector<Reply>& replies, planb::StreamOptions options = {}, int attempts = 1,
                    planb::Duration timeout = 30s, std::size_t most_bytes = 1000, ask::Printer* printer = nullptr) {
    const Lines names{"first", "second", "third"};
    std::vector<std::unique_ptr<LoopbackProvider>> servers;
    std::vector<ask::Provider> providers;
    for (std::size_t i = 0; i != replies.size(); ++i) {
      servers.push_back(std::make_unique<LoopbackProvider>(replies[i]));
      providers.push_back({.name = names.at(i), .url = servers.back()->url(), .attempts = attempts});
    }
    const auto plan = ask::make_plan(providers, timeout, next_step,
                                     [=](const ask::Provider& p) { return ask::ChatClient(p, most_bytes); });
    options.on_event = [this, printer](const planb::Event& event) {
      log(event);
      if (printer != nullptr) printer->event(event);
    };
    const auto sink = [this, printer](const std::string& piece) {
      pieces.push_back(piece);
      return printer == nullptr || printer->piece(piece);
    };
    const auto started = std::chrono::steady_clock::now();
    try {
      answered_by = ask::stream_from_providers(plan, "hello", sink, options).first;
    } catch (const planb::PlanError& e) {
      error = e;
    }
    took = std::chrono::steady_clock::now() - started;
    for (const auto& server : servers) requests.push_back(server->requests().size());
  }

  [[nodiscard]] planb::Cause failure(std::size_t i = 0) const { return log.of<planb::AttemptFailure>().at(i).cause; }
};

}  // namespace

TEST_CASE("a streamed answer comes in the pieces that the provider made, in order", "[ask][stream]") {
  const std::string text = "gr\xC3\xBC\xC3\x9F dich, \xE2\x82\xAC \xF0\x9F\x98\x80";
  const Lines pieces{"gr\xC3\xBC\xC3\x9F", " dich,", " \xE2\x82\xAC", " \xF0\x9F\x98\x80"};
  Reply reply = chat_stream(text);
  SECTION("an event at a time") {}
  SECTION("cut anywhere") {
    std::string body;
    for (const std::string& event : reply.pieces) body += event;
    reply.pieces.clear();
    for (std::size_t i = 0; i < body.size(); i += 7) reply.pieces.push_back(body.substr(i, 7));
  }
  SECTION("all at once") {
    for (const std::string& event : reply.pieces) reply.body += event;
    reply.pieces.clear();
  }
  const Streamed streamed({reply});
  CHECK(streamed.pieces == pieces);
  CHECK(streamed.answered_by == "first");
  CHECK(streamed.log.lines() == Lines{"AttemptStart #1 step=0 first", "AttemptSuccess #1 step=0 first"});
}

TEST_CASE("a streamed request says that it is one", "[ask][stream]") {
  const LoopbackProvider server(chat_stream("hi"));
  const auto plan =
      ask::make_plan({at(server.url())}, 30s, next_step, [](const ask::Provider& p) { return ask::ChatClient(p); });
  ask::stream_from_providers(plan, "hello", [](const std::string&) {}, {});
  const httplib::Request request = server.requests().at(0);
  CHECK(has(request.get_header_value("Accept"), "text/event-stream"));
  CHECK(nlohmann::json::parse(request.body) ==
        nlohmann::json{{"messages", {{{"role", "user"}, {"content", "hello"}}}}, {"stream", true}});
}

TEST_CASE("only text is a piece of the answer", "[ask][stream]") {
  const Streamed streamed({event_stream(
      {": hello\n\n", R"(data: {"choices":[{"delta":{"role":"assistant","content":""}}]})", "\n\n", token_event("a"),
       R"(data: {"choices":[{"delta":{}}]})", "\n\n", R"(data: {"choices":[],"usage":{"total_tokens":3}})", "\n\n",
       R"(data: {"choices":[{"delta":{"content":null}}],"error":null})", "\n\n", "data:\n\n", "data: 42\n\n",
       token_event("b"), done, token_event("c")})});
  CHECK(streamed.pieces == Lines{"a", "b"});
  CHECK(streamed.answered_by == "first");
}

TEST_CASE("a streamed answer is complete with its reason to end, or its last event, also without a blank line",
          "[ask][stream]") {
  const std::string last = GENERATE(R"(data: {"choices":[{"delta":{},"finish_reason":"stop"}]})",
                                    R"(data: {"choices":[{"delta":{"content":""},"finish_reason":"length"}]})",
                                    "data: [DONE]", "data:[DONE]\r");
  CAPTURE(last);
  const Streamed streamed({event_stream({token_event("a"), last})});
  CHECK(streamed.answered_by == "first");
  CHECK(streamed.pieces == Lines{"a"});
}

TEST_CASE("an empty stream is an answer", "[ask][stream][field-39]") {
  const Streamed streamed({event_stream({done})});
  CHECK(streamed.answered_by == "first");
  CHECK(streamed.pieces.empty());
}

TEST_CASE("a provider that does not stream gives its answer in one piece", "[ask][stream]") {
  CHECK(Streamed({chat_answer("all of it")}).pieces == Lines{"all of it"});
}

TEST_CASE("a stream that dies after half of its answer is followed by the whole one of the next provider",
          "[ask][stream][field-33]") {
  const Streamed streamed({cut(chat_stream("a b c"), Reply::half_then_hang_up), chat_stream("d e f")});
  CHECK(streamed.pieces == Lines{"a", " b", "d", " e", " f"});
  CHECK(streamed.answered_by == "second");
  CHECK(streamed.log.names() == Lines{"first", "second"});
  CHECK(!streamed.failure().status());
  CHECK(has(streamed.failure().message(), "no complete answer from 127.0.0.1:"));
}

TEST_CASE("a stream that ends too early in good order is a failure too", "[ask][stream]") {
  const std::string half = R"(data: {"choices":[{"delta":{"con)";
  const Reply reply =
      GENERATE_COPY(event_stream({token_event("a")}), event_stream({token_event("a"), half}),
                    Reply{.body = token_event("a"), .content_type = "text/event-stream; charset=utf-8"});
  const Streamed streamed({reply, chat_stream("b")});
  CHECK(streamed.pieces == Lines{"a", "b"});
  CHECK(!streamed.failure().status());
  CHECK(has(streamed.failure().message(), "has no end"));
}

TEST_CASE("an error event in a stream that began well is a failure, with its status and code",
          "[ask][stream][field-37]") {
  struct Case {
    std::string event;
    std::optional<int> status;
    std::string code;
    std::string message;
    Lines calls;
  };
  const Lines again{"first", "first", "second"};
  const Lines on{"first", "second"};
  const Case c = GENERATE_COPY(values<Case>({
      {error_event(529, "overloaded", "overloaded_error"), 529, "overloaded_error", "overloaded", again},
      {error_event(401, "expired", "c"), 401, "c", "expired", on},
      {error_event(400, "bad", "c"), 400, "c", "bad", {"first"}},
      {"data: {\"error\":{\"message\":\"m\",\"code\":502}}\n\n", 502, "502", "m", again},
      {"data: {\"error\":{\"status\":\"UNAVAILABLE\",\"code\":503}}\n\n", 503, "503", "an error in the answer", again},
      {"data: {\"error\":{\"message\":\"m\",\"type\":\"server_error\",\"code\":null}}\n\n", std::nullopt,
       "server_error", "m", again},
      {"data: {\"error\":{\"message\":\"m\",\"code\":\"insufficient_quota\"}}\n\n", std::nullopt, "insufficient_quota",
       "m", on},
      {"data: {\"error\":\"m\"}\n\n", std::nullopt, "", "m", again},
      {"event: error\ndata: {\"message\":\"m\"}\n\n", std::nullopt, "", "m", again},
      {"event: error\ndata: oh\ndata: no\n\n", std::nullopt, "", "oh no", again},
      {"data: {\"choices\":[{\"finish_reason\":\"content_filter\"}]}\n\n", 200, "content_filter",
       "the content was filtered", on},
      {"data: {\"choices\":[{\"delta\":{\"refusal\":\"I \"}}]}\n\n"
       "data: {\"choices\":[{\"delta\":{\"refusal\":\"won't\"}}]}\n\n" +
           done,
       200, "refusal", "I won't", on},
      {"data: <html>\n\n", 200, "", "the answer is not JSON but <html>", on},
  }));
  CAPTURE(c.event);
  const Streamed streamed({event_stream({token_event("half"), c.event, token_event("lost")}), chat_stream("whole")}, {},
                          2);
  CHECK(streamed.failure().status() == c.status);
  CHECK(streamed.failure().code() == c.code);
  CHECK(streamed.failure().message() == c.message);
  CHECK(streamed.failure().kind() == planb::CauseKind::error);
  CHECK(streamed.log.names() == c.calls);
  Lines pieces;
  for (const std::string& call : c.calls) pieces.push_back(call == "first" ? "half" : "whole");
  CHECK(streamed.pieces == pieces);
}

TEST_CASE("an error answer in place of a stream tells what it would tell otherwise", "[ask][stream]") {
  Reply busy = chat_error(429, "busy", "c");
  busy.headers = {{"Retry-After", "7"}};
  busy.content_type = GENERATE("application/json", "text/event-stream");
  const Streamed streamed({busy, chat_stream("hi")});
  CHECK(streamed.pieces == Lines{"hi"});
  CHECK(streamed.failure().status() == 429);
  CHECK(streamed.failure().code() == "c");
  CHECK(streamed.failure().retry_after() == planb::Duration(7s));
}

TEST_CASE("a stream that falls silent, or says nothing of the answer any more, is left after the step's time",
          "[ask][stream][field-40]") {
  struct Case {
    Reply reply;
    Lines pieces;
  };
  const Case c = GENERATE(values<Case>({{cut(chat_stream("a b"), Reply::nothing), {"whole"}},
                                        {cut(chat_stream("a b"), Reply::half_then_silence), {"a", "whole"}},
                                        {cut(event_stream({token_event("a")}), Reply::endless), {"a", "whole"}}}));
  const Streamed streamed({c.reply, chat_stream("whole")}, {}, 1, 100ms);
  CHECK(streamed.pieces == c.pieces);
  CHECK(streamed.failure().kind() == planb::CauseKind::timeout);
  CHECK(streamed.took >= 100ms);
  CHECK(streamed.took < 2s);
}

TEST_CASE("a stream may take longer than the step's time, as long as it goes on", "[ask][stream]") {
  Reply slow = chat_stream("a b c d e f");
  slow.pause = 35ms;
  const Streamed streamed({slow}, {}, 1, 200ms);
  CHECK(streamed.answered_by == "first");
  CHECK(streamed.pieces.size() == 6);
  CHECK(streamed.took > 200ms);
}

TEST_CASE("the budget ends a stream, and no piece comes after it", "[ask][stream]") {
  Reply slow = chat_stream("a b c d e f");
  slow.pause = 20ms;
  const Streamed streamed({slow, chat_stream("not asked")}, {.budget = 70ms});
  REQUIRE(streamed.error);
  CHECK(streamed.error->end() == planb::RunEnd::deadline);
  CHECK(streamed.pieces.size() < 5);
  CHECK(streamed.error->report().delivered == streamed.pieces.size());
  CHECK(streamed.requests == std::vector<std::size_t>{1, 0});
}

TEST_CASE("what may follow half of an answer is the caller's to say", "[ask][stream][field-33]") {
  struct Case {
    planb::PartialStream partial;
    Lines pieces;
    std::string error;
  };
  const Case c = GENERATE(values<Case>(
      {{planb::PartialStream::allow, {"a", "a", "b", " c"}, ""},
       {planb::PartialStream::prevent_fallback,
        {"a", "a"},
        "plan exhausted after partial output (2 elements): first: 2 "},
       {planb::PartialStream::prevent_retry, {"a"}, "plan exhausted after partial output (1 element): first: "}}));
  const Streamed streamed({cut(chat_stream("a b"), Reply::half_then_hang_up), chat_stream("b c")},
                          {.partial = c.partial}, 2);
  CHECK(streamed.pieces == c.pieces);
  CHECK(streamed.error.has_value() == !c.error.empty());
  if (streamed.error) CHECK(has(streamed.error->what(), c.error));
}

TEST_CASE("with no piece out yet, any provider may follow", "[ask][stream]") {
  const Streamed streamed({event_stream({error_event(503, "down", "c")}), chat_stream("hi")},
                          {.partial = planb::PartialStream::prevent_retry});
  CHECK(streamed.pieces == Lines{"hi"});
}

TEST_CASE("a reader who has enough ends the stream, and one who throws ends it with that", "[ask][stream]") {
  const bool throws = GENERATE(false, true);
  const LoopbackProvider server(chat_stream("a b c"));
  const LoopbackProvider next(chat_stream("not asked"));
  const auto plan = ask::make_plan({at(server.url()), at(next.url())}, 30s, next_step,
                                   [](const ask::Provider& p) { return ask::ChatClient(p); });
  Lines pieces;
  const auto stream = [&] {
    ask::stream_from_providers(plan, "hello",
                               [&](const std::string& piece) {
                                 if (throws) throw std::out_of_range("full");
                                 pieces.push_back(piece);
                                 return pieces.size() < 2;
                               },
                               {});
  };
  if (throws) {
    CHECK_THROWS_AS(stream(), std::out_of_range);
  } else {
    stream();
    CHECK(pieces == Lines{"a", " b"});
  }
  CHECK(next.requests().empty());
}

TEST_CASE("a streamed answer that is too long is given up", "[ask][stream]") {
  const bool in_events = GENERATE(true, false);
  const std::string text(200, 'x');
  const Streamed streamed({in_events ? event_stream({token_event("a"), token_event(text), done}) : chat_answer(text)},
                          {}, 1, 30s, 150);
  REQUIRE(streamed.error);
  CHECK(streamed.failure().message() == "the answer is longer than 150 bytes");
  CHECK(streamed.failure().status() == 200);
}

// --- What is on the screen

TEST_CASE("who reads a streamed answer is told that another one begins", "[ask][stream]") {
  struct Case {
    std::vector<Reply> replies;
    bool quiet;
    std::string out;
  };
  const Reply half = event_stream({token_event("half"), token_event(" of"), error_event(503, "down", "c")});
  const Reply down = chat_error(503, "down", "c");
  const Reply well = chat_stream("the whole");
  const Case c = GENERATE_COPY(values<Case>({
      {{well}, true, "the whole\n"},
      {{half, well}, true, "half of\n-- first broke off; second starts afresh --\nthe whole\n"},
      {{half, down, well},
       true,
       "half of\n-- first broke off; second starts afresh --\n-- second failed; third starts afresh --\nthe whole\n"},
      {{down, well}, true, "the whole\n"},
      {{event_stream({token_event("a line\n"), done})}, true, "a line\n"},
      {{down, half, well},
       false,
       "AttemptStart #1 step=0 first\nAttemptFailure #1 step=0 first 503 down, next step\n"
       "AttemptStart #2 step=1 second\nhalf of\nAttemptFailure #2 step=1 second 503 down, next step\n"
       "AttemptStart #3 step=2 third\n-- second broke off; third starts afresh --\nthe whole\n"
       "AttemptSuccess #3 step=2 third\n\nAnswered by third, attempt 3\n"},
      {{half, half}, true, "half of\n-- first broke off; second starts afresh --\nhalf of\n"},
  }));
  std::ostringstream out;
  std::ostringstream err;
  ask::Printer printer(out, err, c.quiet);
  const Streamed streamed(c.replies, {}, 1, 30s, 1000, &printer);
  if (streamed.error) {
    printer.error(*streamed.error);
    CHECK(err.str() == "ask: plan exhausted after partial output (4 elements): first: 503 down; second: 503 down\n");
  } else {
    printer.end_of_pieces(streamed.answered_by, static_cast<int>(streamed.log.names().size()));
    CHECK(err.str().empty());
  }
  CHECK(out.str() == c.out);
}

#ifndef _WIN32

TEST_CASE("a refused connection is an error without a status", "[ask][loopback][field-22]") {
  const ClosedPort closed;
  const LoopbackProvider next(chat_answer("hi"));
  const planb::Cause cause = failure_of(at(closed.url()));
  CHECK(!cause.status());
  CHECK(cause.message() == "cannot connect to " + closed.url().authority());
  CHECK(cause.kind() == planb::CauseKind::error);
}

// --- The program
// -------------------------------------------------------------------------------------------------------

#ifdef ASK_PROGRAM

namespace {

struct Ended {
  int status = -1;
  std::string out = {};
  std::string err = {};
};

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + '\'';
}

std::string read_all(std::FILE* file) {
  std::string text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) != 0;) text.append(buffer, n);
  return text;
}

// Runs the program. `environment` is of the form NAME=value; what is not given is unset.
Ended run_ask(const std::vector<std::string>& arguments, const std::string& input = {},
              const std::string& environment = "ASK_UNUSED=") {
  char err_name[] = "/tmp/ask_test.XXXXXX";
  const int err_file = ::mkstemp(err_name);
  REQUIRE(err_file >= 0);
  std::string command =
      "printf %s " + shell_word(input) + " | env -u ASK_KEY " + shell_word(environment) + ' ' + shell_word(ASK_PROGRAM);
  for (const std::string& argument : arguments) command += ' ' + shell_word(argument);
  command += std::string(" 2>") + err_name;

  Ended ended;
  std::FILE* const out = ::popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  ended.out = read_all(out);
  const int status = ::pclose(out);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  std::FILE* const err = ::fdopen(err_file, "r");
  REQUIRE(err != nullptr);
  ended.err = read_all(err);
  std::fclose(err);
  ::unlink(err_name);
  return ended;
}

// A complaint: the program's name, one sentence, one line feed.
bool is_complaint(const std::string& text) { return text.rfind("ask: ", 0) == 0 && text.find('\n') == text.size() - 1; }

std::string provider_at(const ask::Url& url, const std::string& more = {}) {
  return "it=http://" + url.authority() + more;
}

}  // namespace

TEST_CASE("ask, without arguments, shows itself at work", "[ask][program]") {
  const Ended ended = run_ask({});
  CHECK(ended.status == 0);
  CHECK(ended.err.empty());
  CHECK(ended.out ==
        "AttemptStart #1 step=0 openai\n"
        "AttemptFailure #1 step=0 openai 503 service unavailable, retry in 20 ms\n"
        "AttemptStart #2 step=0 openai\n"
        "AttemptFailure #2 step=0 openai 503 service unavailable, next step\n"
        "AttemptStart #3 step=1 anthropic\n"
        "AttemptFailure #3 step=1 anthropic 429 too many requests, next step\n"
        "AttemptStart #4 step=2 local\n"
        "AttemptSuccess #4 step=2 local\n"
        "\n"
        "No model here, only an echo: What is a plan B?\n"
        "\n"
        "Answered by local, attempt 4\n");
}

TEST_CASE("ask --stream, without providers, shows what can go wrong after half of an answer", "[ask][program]") {
  std::string out = run_ask({"--stream", "--timeout", "100ms"}).out;
  for (std::size_t at = 0; (at = out.find("127.0.0.1:", at)) != std::string::npos;) {
    at += std::string_view("127.0.0.1:").size();
    out.erase(at, out.find_first_not_of("0123456789", at) - at);
  }
  CHECK(out ==
        "AttemptStart #1 step=0 openai\n"
        "No model here, only an echo:\n"
        "AttemptFailure #1 step=0 openai no complete answer from 127.0.0.1:, next step\n"
        "AttemptStart #2 step=1 anthropic\n"
        "-- openai broke off; anthropic starts afresh --\n"
        "No model\n"
        "AttemptFailure #2 step=1 anthropic 529 overloaded, next step\n"
        "AttemptStart #3 step=2 mistral\n"
        "-- anthropic broke off; mistral starts afresh --\n"
        "No model here, only an echo:\n"
        "AttemptFailure #3 step=2 mistral timed out: no complete answer from 127.0.0.1:, next step\n"
        "AttemptStart #4 step=3 local\n"
        "-- mistral broke off; local starts afresh --\n"
        "No model here, only an echo: What is a plan B?\n"
        "AttemptSuccess #4 step=3 local\n"
        "\n"
        "Answered by local, attempt 4\n");
}

TEST_CASE("ask --stream --quiet prints the pieces, and where one answer ends and another begins", "[ask][program]") {
  const LoopbackProvider half(cut(chat_stream("half of it"), Reply::half_then_hang_up));
  const LoopbackProvider well(chat_stream("the whole"));
  const auto run = [&](const Lines& more) {
    Lines arguments{"--stream",   "--quiet",
                    "--attempts", "1",
                    "--provider", "first=http://" + half.url().authority(),
                    "--provider", provider_at(well.url()),
                    "--prompt",   "hello"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_ask(arguments);
  };

  const Ended both = run({});
  CHECK(both.status == 0);
  CHECK(both.out == "half of\n-- first broke off; it starts afresh --\nthe whole\n");
  CHECK(both.err.empty());

  const Ended one = run({"--partial", "prevent-fallback"});
  CHECK(one.status == 1);
  CHECK(one.out == "half of\n");
  CHECK(one.err == "ask: plan exhausted after partial output (2 elements): first: no complete answer from " +
                       half.url().authority() + "\n");
}

TEST_CASE("ask passes over what failed its last prompts", "[ask][program]") {
  const Ended ended = run_ask({"--prompt", "one", "--prompt", "two", "--prompt", "three"});
  CHECK(ended.status == 0);
  CHECK(ended.err.empty());
  const std::size_t second = ended.out.find("\nPrompt 2: two\nStepSkipped step=0 openai circuit open for ");
  const std::size_t third = ended.out.find("\nPrompt 3: three\nStepSkipped step=0 openai circuit open for ");
  CAPTURE(ended.out);
  REQUIRE(second != std::string::npos);
  REQUIRE(third != std::string::npos);
  const std::string first_part = ended.out.substr(0, second);
  const std::string second_part = ended.out.substr(second, third - second);
  const std::string third_part = ended.out.substr(third);
  CHECK(first_part.rfind("Prompt 1: one\nAttemptStart #1 step=0 openai\n", 0) == 0);
  CHECK(has(first_part, "only an echo: one\n\nAnswered by local, attempt 4\n"));
  CHECK(has(second_part, "AttemptFailure #1 step=1 anthropic 429 too many requests, next step\n"));
  CHECK(has(second_part, "only an echo: two\n\nAnswered by local, attempt 2\n"));
  CHECK(has(third_part, "\nStepSkipped step=1 anthropic circuit open for "));
  CHECK(has(third_part, "only an echo: three\n\nAnswered by local, attempt 1\n"));
}

TEST_CASE("ask prints an alert beside the event, and without the events too", "[ask][program]") {
  const bool quiet = GENERATE(false, true);
  const LoopbackProvider locked(chat_error(401, "unauthorized", "invalid_api_key"));
  const LoopbackProvider well(chat_answer("hi"));
  std::vector<std::string> arguments{"--provider", "openai=http://" + locked.url().authority(),
                                     "--provider", provider_at(well.url()),
                                     "--prompt",   "hello"};
  if (quiet) arguments.push_back("--quiet");
  const Ended ended = run_ask(arguments);
  CHECK(ended.status == 0);
  CHECK(ended.err == "ALERT openai: 401 unauthorized\n");
  if (quiet) CHECK(ended.out == "hi\n");
  CHECK(has(ended.out, "AttemptFailure #1 step=0 openai 401 unauthorized (alert), next step\n") == !quiet);
}

TEST_CASE("ask goes on to the next prompt where one is refused, and says so with its status", "[ask][program]") {
  const LoopbackProvider server([](const httplib::Request& request) {
    return has(request.body, "bad") ? chat_error(400, "no", "c") : chat_answer("hi");
  });
  const LoopbackProvider next(chat_answer("not asked"));
  const Ended ended = run_ask({"--quiet", "--provider", provider_at(server.url()), "--provider",
                               provider_at(next.url()), "--prompt", "bad", "--prompt", "-"},
                              "good\n");
  CHECK(ended.status == 1);
  CHECK(ended.out == "hi\n");
  CHECK(ended.err == "ask: plan aborted: it: 400 no\n");
  CHECK(server.requests().size() == 2);
  CHECK(next.requests().empty());
}

TEST_CASE("ask --help tells how it is used", "[ask][program]") {
  const Ended ended = run_ask({"--help"});
  CHECK(ended.status == 0);
  CHECK(ended.out == ask::usage);
  CHECK(ended.err.empty());
}

TEST_CASE("ask takes a prompt as an argument or from standard input", "[ask][program]") {
  const LoopbackProvider server(chat_answer("hi"));
  const std::string prompt = "gr\xC3\xBC\xC3\x9F 'dich'";
  const std::string provider = provider_at(server.url());
  const Ended ended = GENERATE(true, false) ? run_ask({"--quiet", "--provider", provider, "--prompt", prompt})
                                            : run_ask({"--quiet", "--provider", provider}, prompt + "\n");
  CHECK(ended.err.empty());
  CHECK(ended.status == 0);
  CHECK(ended.out == "hi\n");
  REQUIRE(server.requests().size() == 1);
  CHECK(nlohmann::json::parse(server.requests()[0].body)["messages"][0]["content"] == prompt);
}

TEST_CASE("ask gives the key of the variable to the provider, and to nobody else", "[ask][program]") {
  const LoopbackProvider server(chat_error(401, "not your key: sk-hidden-1", "c"));
  const Ended ended = run_ask({"--provider", provider_at(server.url(), ",key_env=ASK_KEY"), "--prompt", "hello"}, {},
                              "ASK_KEY=sk-hidden-1");
  CHECK(ended.status == 1);
  CHECK(ended.err ==
        "ALERT it: 401 not your key: [key]\n"
        "ask: plan exhausted: it: 401 not your key: [key] (alert)\n");
  CHECK(!has(ended.err + ended.out, "hidden"));
  CHECK(server.requests().at(0).get_header_value("Authorization") == "Bearer sk-hidden-1");
}

TEST_CASE("ask ends with 2 and one line where it was called wrongly", "[ask][program]") {
  struct Case {
    std::vector<std::string> arguments;
    std::string input;
    std::string environment;
    std::string says;
  };
  const std::string any = "a=http://127.0.0.1:1";
  const Case c = GENERATE_COPY(values<Case>({
      {{"--nonsense"}, "", "A=", "unknown option"},
      {{"--provider", any}, "\n", "A=", "the prompt is empty"},
      {{"--prompt", "\xFF"}, "", "A=", "the prompt is not UTF-8"},
      {{"--prompt", "x", "--prompt", ""}, "", "A=", "the prompt is empty"},
      {{"--provider", any + ",key_env=ASK_KEY", "--prompt", "x"},
       "",
       "A=",
       "ASK_KEY, which should hold its key, is not set"},
      {{"--provider", any + ",key_env=ASK_KEY", "--prompt", "x"}, "", "ASK_KEY=", "is empty"},
  }));
  const Ended ended = run_ask(c.arguments, c.input, c.environment);
  CAPTURE(ended.err);
  CHECK(ended.status == 2);
  CHECK(is_complaint(ended.err));
  CHECK(has(ended.err, c.says));
  CHECK(ended.out.empty());
}

TEST_CASE("ask ends with 1 and one line where nobody answered", "[ask][program]") {
  const auto run = [&](const ask::Url& url, const std::string& timeout = "30s") {
    const Ended ended =
        run_ask({"--provider", provider_at(url), "--prompt", "hello", "--attempts", "1", "--timeout", timeout});
    CHECK(ended.status == 1);
    CHECK(is_complaint(ended.err));
    return ended.err;
  };
  SECTION("unreachable") {
    const ClosedPort closed;
    CHECK(run(closed.url()) == "ask: plan exhausted: it: cannot connect to " + closed.url().authority() + "\n");
  }
  SECTION("not JSON") {
    const LoopbackProvider server(Reply{.body = "<html>\n</html>", .content_type = "text/html"});
    CHECK(has(run(server.url()), "it: 200 the answer is not JSON but <html> </html>"));
  }
  SECTION("of another shape") {
    const LoopbackProvider server(Reply{.body = "{}"});
    CHECK(has(run(server.url()), "it: 200 the answer has no text"));
  }
  SECTION("silent") {
    Reply reply;
    reply.extent = Reply::nothing;
    const LoopbackProvider server(reply);
    CHECK(has(run(server.url(), "0.1"), "it: timed out: no complete answer"));
  }
}

TEST_CASE("ask says so where its answer cannot be written", "[ask][program]") {
  if (::access("/dev/full", W_OK) != 0) return;
  const std::string stream = GENERATE("", " --stream");
  const std::string command = shell_word(ASK_PROGRAM) + stream + " >/dev/full 2>/dev/null";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 1);
}

#endif  // ASK_PROGRAM

#endif  // _WIN32
