// What is wrong with settings: all of it at once, each with its place, what was found, what was expected, and the word
// that was meant.
#include <planb/settings.hpp>

#include "catch.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using planb::parse_settings;
using planb::SettingsFault;
using planb::SettingsResult;

constexpr std::string_view good_file = R"(# shared by all chains
gate openai       circuit_breaker failure_threshold=5 failure_ratio=50% open_for=30s
gate openai-rpm   rate_limit permits=500 period=1min burst=50 patience=200ms
gate at-once      concurrency_limit limit=8
gate retries      retry_budget ratio=0.2 burst=10

provider openai   url=https://llm.example/v1 model="large" key_env=LLM_KEY
provider local    url=http://127.0.0.1:8000/v1

chain chat   budget=30s content_refusal=next_step partial=prevent_retry
  rule code=weekly_limit* next_step alert
  rule status=418 abort
  openai     attempts=2 schedule=jittered(exponential(20ms)) retry=rate_limited,overloaded,5xx gate=openai,openai-rpm
  large      provider=openai enter=context_too_long,code:too_big
  anthropic  timeout=20s reserve=5s max_wait=2s first_timeout=4s
  local

chain batch  content_refusal=abort entry=scheduled failure=original seed=7
  local      attempts=unlimited schedule=spaced(1s) gate=at-once,retries
)";

// The file with `from` replaced by `to`, in which ~ stands where the fault is.
struct Mutation {
  const char* from;
  const char* to;
  const char* found;
  const char* expected;  // a part of it
  const char* suggestion = "";
};

constexpr Mutation mutations[] = {
    // Lines.
    {"gate retries", "~gat retries", "gat", "gate, provider or chain", "gate"},
    {"provider local", "~providers local", "providers", "gate, provider or chain", "provider"},
    {"chain chat ", "~chian chat ", "chian", "gate, provider or chain", "chain"},
    {"  large      provider", "~large      provider", "large", "what belongs to a chain is indented"},
    {"  rule status", "~rule status", "rule", "what belongs to a chain is indented"},
    {"# shared by all chains", "  ~orphan", "orphan", "a chain to which the indented line belongs"},
    {"  local\n", "  ~gate\n", "gate", "a line that begins with gate is not indented"},
    {"  rule status=418 abort", "  ~ruel status=418 abort", "ruel", "rule, or the name of a step", "rule"},
    {"gate retries", "~\"gate\" g\ngate retries", "gate", "gate, provider or chain"},  // in quotes it is a name
    // Names.
    {"gate retries      retry_budget ratio=0.2 burst=10", "gate retries retry_budget\ngate~", "", "the name of a gate"},
    {"provider local    url=http://127.0.0.1:8000/v1", "provider~ # none", "", "the name of a provider"},
    {"gate retries ", "gate retries retry_budget\ngate ~a,b ", "a,b", "letters, digits, _ . and -"},
    {"gate at-once ", "gate at-once retry_budget\ngate ~at-once ", "at-once", "each gate once; line 4"},
    {"provider local ", "provider ~openai ", "openai", "each provider once; line 7"},
    {"chain batch ", "chain ~chat ", "chat", "each chain once; line 10"},
    {"chain batch ", "chain ~gate ", "gate", "gate is a reserved word, and a name only in quotes"},
    {"chain batch ", "chain ~\"\" ", "", "the name of a chain"},
    {"  anthropic ", "  ~openai ", "openai", "each step once in a chain; line 13"},
    {"  anthropic  timeout", "  ~timeout", "timeout=20s", "the name of a step"},
    {"gate retries ", "gate ~\"g\ngate retries ", "\"", "a closing quote, on the same line"},
    {"provider local ", "provider ~\"local ", "\"", "a closing quote, on the same line"},
    // Gates.
    {"concurrency_limit limit", "~concurency_limit limit", "concurency_limit", "a kind of gate", "concurrency_limit"},
    {"retry_budget ratio", "~ratio", "",
     "a kind of gate: circuit_breaker, rate_limit, concurrency_limit or retry_budget"},
    {"retry_budget ratio=0.2 burst=10", "~ratio=0.2", "", "a kind of gate"},
    {"gate retries      retry_budget ratio=0.2 burst=10", "gate retries~", "", "a kind of gate"},
    {"retry_budget ratio", "~\"retry_budget ratio", "\"", "a closing quote, on the same line"},
    {"failure_threshold=", "~failure_treshold=", "failure_treshold", "a knob of a circuit_breaker",
     "failure_threshold"},
    {"failure_threshold=5", "failure_threshold=~0", "0", "a whole number from 1"},
    {"failure_threshold=5", "failure_threshold=~five", "five", "a whole number from 1"},
    {"failure_threshold=5", "failure_threshold=5 ~failure_threshold=6", "failure_threshold", "each knob once"},
    {"failure_ratio=50%", "failure_ratio=~150%", "150%", "a share above 0 and at most 1"},
    {"open_for=30s", "open_for=~30", "30", "a unit behind it: ns, us, ms, s, min, h or d"},
    {"open_for=30s", "open_for=30s honour_retry_after=~yes", "yes", "true or false"},
    {"open_for=30s", "open_for=~0", "0", "a duration above zero"},
    {"permits=500 ", "permits=~99999999999 ", "99999999999", "a whole number from 1 to 2147483647"},
    {"rate_limit permits=500", "~rate_limit", "", "permits="},
    {"permits=500", "~permts=500", "permts", "a knob of a rate_limit", "permits"},  // and not that it is missing
    {"ratio=0.2", "~ratio", "ratio", "a value behind it, ratio=...: a ratio such as 0.2 or 20%"},
    {"ratio=0.2", "ratio=~\"\"", "", "a ratio such as 0.2 or 20%"},
    {"ratio=0.2", "ratio=~%", "%", "a ratio such as 0.2 or 20%"},
    {"ratio=0.2", "ratio=~much", "much", "a ratio such as 0.2 or 20%"},
    {"ratio=0.2", "ratio=~0.2x", "0.2x", "a ratio such as 0.2 or 20%"},
    {"ratio=0.2", "ratio=~20%x", "20%x", "a ratio such as 0.2 or 20%"},
    {"ratio=0.2", "ratio=~1e309", "1e309", "a ratio such as 0.2 or 20%"},
    {"ratio=0.2", "ratio=~-0.2", "-0.2", "a ratio such as 0.2 or 20%"},
    {"failure_ratio=50%", "failure_ratio=~0%", "0%", "a share above 0 and at most 1"},
    {"period=1min", "period=~1m", "1m", "a duration above zero"},
    {"period=1min", "period=~1s1min", "1s1min", "a duration above zero"},
    {"patience=200ms", "patience=~-200ms", "-200ms", "a duration such as 30s"},
    {"patience=200ms", "~patience", "patience", "a value behind it, patience=...: a duration"},
    // Providers.
    {"model=\"large\"", "model=~\"large key_env=LLM_KEY", "\"", "a closing quote, on the same line"},
    {"model=\"large\"", "model=\"~\\large\"", "\\l", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\"", "model=\"~\\ud800\"", "\\u", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\"", "model=\"~\\udc00\"", "\\u", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\"", "model=\"~\\ud800\\u0041\"", "\\u", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\"", "model=\"~\\ud800\\ue000\"", "\\u", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\"", "model=\"~\\u00 0\"", "\\u", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\"", "model=\"~\\u00g0\"", "\\u", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\"", "model=\"~\\u00@0\"", "\\u", R"(\", \\, \n, \t or \uXXXX)"},
    {"model=\"large\" key_env=LLM_KEY", "model=~\"large\\", "\"", "a closing quote, on the same line"},
    {"model=\"large\"", "model=~(a # b)", "(", "a \")\" that closes it"},  // the comment begins inside them
    {"model=\"large\"", "model=~", "", "a text"},
    {"model=\"large\"", "~model", "model", "an option of the provider as key=value"},
    {"model=\"large\"", "model=large ~url=b", "url", "each option once"},
    {"model=\"large\"", "~=large", "", "the name of an option"},
    {"model=\"large\"", "model=~\xFF", "\xFF", "UTF-8"},
    {"model=\"large\"", "model=~\x80", "\x80", "UTF-8"},
    {"model=\"large\"", "model=~\xC1\xBF", "\xC1", "UTF-8"},          // longer than needed
    {"model=\"large\"", "model=~\xE0\x9F\xBF", "\xE0", "UTF-8"},      // longer than needed
    {"model=\"large\"", "model=~\xED\xA0\x80", "\xED", "UTF-8"},      // half of a pair
    {"model=\"large\"", "model=~\xF0\x8F\xBF\xBF", "\xF0", "UTF-8"},  // longer than needed
    {"model=\"large\"", "model=~\xF4\x90\x80\x80", "\xF4", "UTF-8"},  // above U+10FFFF
    {"model=\"large\"", "model=~\xF5\x80\x80\x80", "\xF5", "UTF-8"},
    {"model=\"large\"", "model=~\xE2\x82x", "\xE2", "UTF-8"},
    {"model=\"large\" key_env=LLM_KEY", "model=~\xE2\x82", "\xE2", "UTF-8"},  // the line ends in it
    // Chains.
    {"budget=30s", "budget=~30sec", "30sec", "a duration such as 30s"},
    {"budget=30s", "~bugdet=30s", "bugdet", "a knob of a chain", "budget"},
    {"content_refusal=next_step", "content_refusal=~nextstep", "nextstep", "next_step, next_guarded or abort",
     "next_step"},
    {"partial=prevent_retry", "partial=~prevent-retry", "prevent-retry", "allow, prevent_fallback or prevent_retry",
     "prevent_retry"},
    {"chain batch  content_refusal=abort", "chain ~batch ", "", "content_refusal="},
    {"entry=scheduled", "~scheduled", "scheduled", "a knob of a chain"},
    {"entry=scheduled", "entry=~schedule", "schedule", "immediate or scheduled", "scheduled"},
    {"failure=original", "failure=~", "", "aggregate or original"},
    {"seed=7", "seed=~-7", "-7", "a whole number from 0"},
    {"seed=7", "seed=~18446744073709551616", "18446744073709551616", "a whole number from 0"},
    {"seed=7", "seed=~\"\"", "", "a whole number from 0"},
    {"seed=7", "~seed", "seed", "a value behind it, seed=...: a whole number from 0"},
    {"chain batch ", "chain ~empty content_refusal=abort\nchain batch ", "", "at least one step in the chain"},
    // Rules.
    {"next_step alert", "~nextstep alert", "nextstep", "an action (retry, next_step, next_guarded or abort)",
     "next_step"},
    {"next_step alert", "next_step ~alrt", "alrt", "alert", "alert"},
    {"next_step alert", "next_step ~abort", "abort", "one action in a rule"},
    {"next_step alert", "next_step alert ~alert", "alert", "alert once"},
    {"  rule status=418 abort", "  ~rule status=418", "", "an action: retry"},
    {"  rule status=418 abort", "  ~rule abort", "", "what the rule is about"},
    {"  rule status=418 abort", "  rule status=~99 abort", "99", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~099 abort", "099", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~0xx abort", "0xx", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~axx abort", "axx", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~5Xx abort", "5Xx", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~520+523 abort", "520+523", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~523-520 abort", "523-520", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~099-520 abort", "099-520", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule status=~520-52x abort", "520-52x", "a status such as 503, 5xx or 520-523"},
    {"  rule status=418 abort", "  rule ~status abort", "status", "a value behind it, status=...: a status"},
    {"  rule status=418 abort", "  rule ~code abort", "code", "a value behind it, code=...: a code's pattern"},
    {"  rule status=418 abort", "  rule ~kind abort", "kind", "a value behind it, kind=...: timeout, connection"},
    {"  rule status=418 abort", "  rule code=~\"\" abort", "", "a code's pattern such as weekly_limit*"},
    {"  rule status=418 abort", "  rule text=~\"- -\" abort", "- -", "a phrase with a letter or digit in it"},
    {"  rule status=418 abort", "  rule status=418 ~code=x abort", "code", "one of code, status, text and kind"},
    {"  rule status=418 abort", "  rule code=x ~status=418 abort", "status", "one of code, status, text and kind"},
    {"  rule status=418 abort", "  rule code=x ~text=y abort", "text", "one of code, status, text and kind"},
    {"  rule status=418 abort", "  rule kind=timeout ~text=y abort", "text", "one of code, status, text and kind"},
    {"  rule status=418 abort", "  rule text=y ~kind=timeout abort", "kind", "one of code, status, text and kind"},
    {"  rule status=418 abort", "  rule status=418 text=y ~kind=timeout abort", "kind", "or a text with a status"},
    {"  rule status=418 abort", "  rule text=y status=418 ~code=x abort", "code", "or a text with a status"},
    {"  rule status=418 abort", "  rule status=~4xx text=x abort", "4xx", "one status beside a text"},
    {"  rule status=418 abort", "  rule ~code=weekly_limit* abort", "weekly_limit*", "line 11 has it already"},
    {"  rule status=418 abort", "  rule kind=~time_out abort", "time_out", "timeout, connection or unknown", "timeout"},
    {"  rule status=418 abort", "  rule ~sttus=418 abort", "sttus", "a knob of a rule", "status"},
    // Steps.
    {"attempts=2", "~attemps=2", "attemps", "a knob of a step", "attempts"},
    {"attempts=2", "attempts=~0", "0", "a whole number from 1 to 2147483647, or unlimited"},
    {"attempts=2", "attempts=~unlimted", "unlimted", "or unlimited", "unlimited"},
    {"attempts=2", "~attempts", "attempts", "a value behind it, attempts=...: a whole number"},
    {"attempts=2", "~2", "2", "a knob of a step"},
    {"exponential(20ms)", "~exponentail(20ms)", "exponentail", "a schedule such as spaced(10ms)", "exponential"},
    {"exponential(20ms)", "exponential(~soon)", "soon", "a duration such as 10ms"},
    {"jittered(exponential(20ms))", "~jitered", "jitered", "a schedule such as spaced(10ms)", "jittered"},
    {"jittered(exponential(20ms))", "jittered~", "", "\"(\""},
    {"jittered(exponential(20ms))", "\"up_to(once(),\\n ~sooon)\"", "sooon", "a number of times such as 3"},
    {"jittered(exponential(20ms))", "\"max(once(),\\n\\n ~onec())\"", "onec", "a schedule such as spaced(10ms)",
     "once"},
    {"exponential(20ms)) ", "exponential(20ms)~, 2) ", ",", "\")\""},
    {"jittered(exponential(20ms))", "jittered~(exponential(20ms)", "(", "a \")\" that closes it"},
    {"attempts=2 schedule=", "schedule=~", "jittered(exponential(20ms))", "a schedule that ends"},
    {"retry=rate_limited,", "retry=~rate_limit,", "rate_limit", "a status such as 503 or 5xx, code:PATTERN, or a class",
     "rate_limited"},
    {"overloaded,5xx", "overloaded,~5x", "5x", "a status such as 503"},
    {"overloaded,5xx", "overloaded,~overloaded", "overloaded", "each of them once"},
    {"overloaded,5xx", "overloaded,~", "", "a status such as 503"},
    {"code:too_big", "code:~", "", "a code's pattern"},
    {"enter=context_too_long", "enter=~context_to_long", "context_to_long", "a class", "context_too_long"},
    {"gate=openai,openai-rpm", "gate=openai,~openai-rmp", "openai-rmp", "the name of a gate that is defined",
     "openai-rpm"},
    {"gate=openai,openai-rpm", "gate=openai,~openai", "openai", "each gate once"},
    {"gate=openai,openai-rpm", "gate=openai,~,openai-rpm", "", "the name of a gate"},
    {"timeout=20s reserve", "timeout=~0s reserve", "0s", "a duration above zero"},
    {"reserve=5s", "reserve=~5", "5", "a unit behind it"},
    {"reserve=5s", "~resrve=5s", "resrve", "a knob of a step", "reserve"},
    {"max_wait=2s", "max_wait=2s ~s", "s", "a knob of a step"},
    {"first_timeout=4s", "~first_time_out=4s", "first_time_out", "a knob of a step", "first_timeout"},
    {"provider=openai", "provider=~a/b", "a/b", "the name of a provider of letters"},
    {"provider=openai", "~provider", "provider", "a value behind it, provider=...: the name of a provider"},
    {"provider=openai", "provider=~\"\"", "", "the name of a provider"},
};

}  // namespace

TEST_CASE("a fault is told at its line and column, once, with the word that was meant") {
  REQUIRE(parse_settings(good_file).has_value());
  for (const Mutation& mutation : mutations) {
    std::string text(good_file);
    const std::size_t at = text.find(mutation.from);
    INFO(mutation.from << " -> " << mutation.to);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string_view(mutation.from).size(), mutation.to);
    const std::size_t mark = text.find('~');
    REQUIRE(mark != std::string::npos);
    text.erase(mark, 1);
    int line = 1;
    int column = 1;
    for (std::size_t i = 0; i != mark; ++i) {
      column = text[i] == '\n' ? 1 : column + 1;
      line += text[i] == '\n' ? 1 : 0;
    }

    const SettingsResult result = parse_settings(text, "chat.conf");
    INFO(result.error().message());
    CHECK_FALSE(result.has_value());
    CHECK(result.faults().size() == 1);
    if (result.faults().size() != 1) continue;
    const SettingsFault& fault = result.faults()[0];
    CHECK(fault.place == planb::Place{"chat.conf", line, column, {}});
    CHECK(fault.found == mutation.found);
    CHECK_THAT(fault.expected, Catch::Matchers::ContainsSubstring(mutation.expected));
    CHECK(fault.suggestion == mutation.suggestion);
  }
}

TEST_CASE("all faults are told at once, in the order of the file, and nothing is half applied") {
  const SettingsResult result = parse_settings(
      "gat openai circuit_breaker failure_treshold=5 open_for=30\n"
      "chain chat budget=\"30 s content_refusal=next_step\n"
      "  openai attemps=2 gate=opnai\n"
      "  openai retry=rate_limted,99\n"
      "provider p u\n",
      "chat.conf");
  CHECK_FALSE(result.has_value());
  CHECK(result.error().message() ==
        "chat.conf:1:1: found \"gat\", expected gate, provider or chain at the beginning of a line; did you mean "
        "\"gate\"?\n"
        "chat.conf:1:28: found \"failure_treshold\", expected a knob of a circuit_breaker: failure_threshold, "
        "failure_ratio, minimum_calls, window, open_for, half_open_probes, honour_retry_after, longest_hint, "
        "slow_call, slow_ratio, probe_timeout, failure_memory or patience; did you mean \"failure_threshold\"?\n"
        "chat.conf:1:56: found \"30\", expected a unit behind it: ns, us, ms, s, min, h or d\n"
        "chat.conf:2:19: found \"\\\"\", expected a closing quote, on the same line\n"
        "chat.conf:3:10: found \"attemps\", expected a knob of a step: provider, attempts, schedule, retry, enter, "
        "max_wait, timeout, first_timeout, reserve or gate; did you mean \"attempts\"?\n"
        "chat.conf:3:25: found \"opnai\", expected the name of a gate that is defined; did you mean \"openai\"?\n"
        "chat.conf:4:3: found \"openai\", expected each step once in a chain; line 3 has it already\n"
        "chat.conf:4:16: found \"rate_limted\", expected a status such as 503 or 5xx, code:PATTERN, or a class: "
        "connection, timeout, rate_limited, overloaded, server_error, conflict, quota, auth, not_found, "
        "context_too_long, content_refused, invalid_request, rejected_value or unknown; did you mean "
        "\"rate_limited\"?\n"
        "chat.conf:4:28: found \"99\", expected a status such as 503 or 5xx, code:PATTERN, or a class: "
        "connection, timeout, rate_limited, overloaded, server_error, conflict, quota, auth, not_found, "
        "context_too_long, content_refused, invalid_request, rejected_value or unknown\n"
        "chat.conf:5:12: found \"u\", expected an option of the provider as key=value");
}

TEST_CASE("lines without their chain are told once, and are read all the same") {
  const SettingsResult result = parse_settings("  a attempts=0\n  b attempts=-1\n");
  REQUIRE(result.faults().size() == 3);
  CHECK(result.faults()[0].place.line == 1);
  CHECK(result.faults()[0].place.column == 3);
  CHECK(result.faults()[1].found == "0");
  CHECK(result.faults()[2].found == "-1");
}

TEST_CASE("a line that does not end is told what is wrong with its words, and not what it lacks") {
  CHECK(parse_settings("gate a=b \"retry_budget", "f").error().message() ==
        "f:1:6: found \"a=b\", expected the name of a gate\n"
        "f:1:10: found \"\\\"\", expected a closing quote, on the same line");
  CHECK(parse_settings("gate g ratio=1 \"x", "f").error().message() ==
        "f:1:8: found nothing, expected a kind of gate: circuit_breaker, rate_limit, concurrency_limit or "
        "retry_budget\n"
        "f:1:16: found \"\\\"\", expected a closing quote, on the same line");
  CHECK(parse_settings("gate g rate_limt \"permits", "f").error().message() ==
        "f:1:8: found \"rate_limt\", expected a kind of gate: circuit_breaker, rate_limit, concurrency_limit or "
        "retry_budget; did you mean \"rate_limit\"?\n"
        "f:1:18: found \"\\\"\", expected a closing quote, on the same line");
}

TEST_CASE("a chain whose only step could not be read is not told to have none") {
  const std::string chain = "chain c content_refusal=abort\n";
  CHECK(parse_settings(chain + "  \"s\n", "f").error().message() ==
        "f:2:3: found \"\\\"\", expected a closing quote, on the same line");
  CHECK(parse_settings(chain + "  s(\n", "f").error().message() ==
        "f:2:4: found \"(\", expected a \")\" that closes it, on the same line");
  CHECK(parse_settings(chain + "  s=1\n", "f").error().message() ==
        "f:2:3: found \"s=1\", expected rule, or the name of a step, at the beginning of an indented line");
  CHECK(parse_settings(chain + "  s=1 \"t\n", "f").faults().size() == 2);
  // What is not indented is no step.
  CHECK(parse_settings(chain + "\"s\n", "f").error().message() ==
        "f:1:7: found nothing, expected at least one step in the chain\n"
        "f:2:1: found \"\\\"\", expected a closing quote, on the same line");
}

TEST_CASE("a step's name for the third time is told once, with the place of the first") {
  const SettingsResult result =
      parse_settings("chain c content_refusal=abort\n  s\n  s\n  s\nchain d content_refusal=abort\n  s\n");
  CHECK(result.error().message() ==
        "line 3, column 3: found \"s\", expected each step once in a chain; line 2 has it already\n"
        "line 4, column 3: found \"s\", expected each step once in a chain; line 2 has it already");
}

TEST_CASE("a fault is one line, however long and odd what was found is") {
  const SettingsFault fault{{"a", 1, 2, {}}, std::string(300, 'x') + "\n", "less", "x\"y"};
  CHECK(fault.message() ==
        "a:1:2: found \"" + std::string(100, 'x') + "...\", expected less; did you mean \"x\\\"y\"?");
  CHECK(SettingsFault{{}, "\x01\xFF", "more", {}}.message() == "found \"\\u0001\xEF\xBF\xBD\", expected more");
  CHECK(to_string(planb::Place{{}, 3, 4, {}}) == "line 3, column 4");
  CHECK(to_string(planb::Place{"a", 0, 0, "chains.x"}) == "a: chains.x");
  CHECK(to_string(planb::Place{"a", 3, 4, "chains.x"}) == "a:3:4: chains.x");
  CHECK(to_string(planb::Place{{}, 0, 7, "chains.x"}) == "chains.x, column 7");
  CHECK(to_string(fault) == fault.message());

  // It is cut between two characters, and what is none is cut away whole.
  const auto shown = [](const std::string& found) { return SettingsFault{{}, found, "less", {}}.message(); };
  CHECK(shown(std::string(99, 'x') + "\xC3\xA9") == "found \"" + std::string(99, 'x') + "...\", expected less");
  CHECK(shown(std::string(98, 'x') + "\xC3\xA9") == "found \"" + std::string(98, 'x') + "\xC3\xA9\", expected less");
  CHECK(shown(std::string(200, '\x80')) == "found \"...\", expected less");
}

TEST_CASE("only a word that is near is suggested") {
  const auto suggestion = [](const std::string& knob) {
    const SettingsResult result = parse_settings("chain c content_refusal=abort\n  s " + knob + "=1s\n");
    REQUIRE(result.faults().size() == 1);
    return result.faults()[0].suggestion;
  };
  CHECK(suggestion("timout") == "timeout");
  CHECK(suggestion("tiemout") == "timeout");  // two letters swapped are one step
  CHECK(suggestion("Timeout") == "timeout");
  CHECK(suggestion("max-wait") == "max_wait");
  CHECK(suggestion("deadline").empty());
  CHECK(suggestion("x").empty());
  CHECK(suggestion(std::string(1000, 't')).empty());

  // Nor one that is too long to be compared in no time.
  const auto gate = [](std::size_t known, std::size_t used) {
    const SettingsResult result = parse_settings("gate " + std::string(known, 'g') + " retry_budget\nchain c " +
                                                 "content_refusal=abort\n  s gate=" + std::string(used, 'g') + "\n");
    REQUIRE(result.faults().size() == 1);
    return result.faults()[0].suggestion;
  };
  CHECK(gate(64, 63) == std::string(64, 'g'));
  CHECK(gate(65, 64).empty());
  CHECK(gate(64, 65).empty());
}
