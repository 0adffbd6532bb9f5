// What a provider's answer says: wait hints in every form, and errors as http_classifier reads them.
#include <planb/error/cause.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/error/retry_after.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "fuzz.hpp"

using fuzz::Bytes;
using fuzz::check;
using planb::Action;
using planb::Cause;
using planb::Duration;
using planb::parse_retry_after;
using planb::Verdict;

namespace {

using SystemTime = std::chrono::system_clock::time_point;

// --- Wait hints
// --------------------------------------------------------------------------------------------------------

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void hint(std::string_view header, std::string_view value, SystemTime now) {
  const std::optional<Duration> plain = parse_retry_after(value, now);
  check(!plain || *plain >= Duration::zero(), "no wait is negative", value);
  check(parse_retry_after(" \t" + std::string(value) + "\r\n ", now) == plain, "space around a hint changes nothing",
        value);
  const std::optional<Duration> in_seconds = parse_retry_after("Retry-After", value, now);
  const std::optional<Duration> reset = parse_retry_after("X-RateLimit-Reset", value, now);
  const std::optional<Duration> millis = parse_retry_after("retry-after-ms", value, now);
  const std::optional<Duration> structured = parse_retry_after("RateLimit", value, now);
  const std::optional<Duration> named = parse_retry_after(header, value, now);
  check(!named || named == plain || named == in_seconds || named == reset || named == millis || named == structured ||
            named == (Duration::max)(),
        "a header's name tells the form and nothing else", value);
  check(!in_seconds == !millis && !in_seconds == !reset, "what is a hint in one header is one in the other", value);
  if (value.find_first_of("=\"") == std::string_view::npos) {
    check(reset == plain, "a reset is read as the value alone", value);
    check(!in_seconds == !plain && in_seconds >= plain, "retry-after too, but for epochs", value);
    if (value.find(',') == std::string_view::npos) {
      const std::optional<Duration> negative = parse_retry_after("-" + std::string(value), now);
      check(!negative || *negative == Duration::zero(), "a negative wait is none", value);
      const std::optional<Duration> twice = parse_retry_after(std::string(value) + ", " + std::string(value), now);
      check(!plain || twice == plain, "twice the same is the same", value);
    }
  } else {
    check(structured == plain, "the structured form is read as the value alone", value);
  }

  const std::pair<std::string_view, std::string_view> headers[] = {{"x-ratelimit-remaining", value}, {header, value}};
  const std::optional<Duration> all = parse_retry_after(429, headers, now);
  check(!all || all == named, "of all headers of an answer those count that are hints", value);

  // Below ten years a bare number is a delay, whatever the time.
  if (all_digits(value) && value.size() <= 8) {
    const std::int64_t number = std::stoll(std::string(value));
    check(plain == Duration(std::chrono::seconds(number)), "a bare number is a number of seconds", value);
    check(millis == Duration(std::chrono::milliseconds(number)), "or of milliseconds", value);
  }
}

// A date in each of its forms, against the calendar of the standard library.
void date(std::int64_t seconds, SystemTime now) {
  using namespace std::chrono;
  const sys_seconds then{std::chrono::seconds(seconds % 400'000'000'000)};
  const auto day = floor<days>(then);
  const year_month_day ymd(day);
  const hh_mm_ss time(then - day);
  const int year = static_cast<int>(ymd.year());
  if (year < 0 || year > 9999) return;
  static constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const char* const month = months[static_cast<unsigned>(ymd.month()) - 1];
  const auto month_number = static_cast<unsigned>(ymd.month());
  const auto of_month = static_cast<unsigned>(ymd.day());
  const auto h = static_cast<int>(time.hours().count());
  const auto m = static_cast<int>(time.minutes().count());
  const auto s = static_cast<int>(time.seconds().count());

  // Where it does not fit into a Duration, the longest one.
  constexpr std::int64_t second = SystemTime::duration::period::den;
  const std::int64_t ticks = now.time_since_epoch().count();
  const std::int64_t now_seconds = ticks / second - (ticks % second < 0 ? 1 : 0);
  const Duration part = SystemTime::duration((ticks % second + second) % second);
  const std::int64_t whole = then.time_since_epoch().count() - now_seconds;
  Duration wait = Duration::zero();
  if (whole > (Duration::max)().count() / 1'000'000'000) {
    wait = (Duration::max)();
  } else if (whole > 0) {
    wait = Duration(std::chrono::seconds(whole)) - part;
  }
  const auto is = [&](const char* text) {
    check(parse_retry_after(text, now) == wait, "a date is the wait until then", text);
  };
  char text[64];
  std::snprintf(text, sizeof text, "Sun, %02u %s %04d %02d:%02d:%02d GMT", of_month, month, year, h, m, s);
  is(text);
  std::snprintf(text, sizeof text, "Sun %s %2u %02d:%02d:%02d %04d", month, of_month, h, m, s, year);
  is(text);
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", year, month_number, of_month, h, m, s);
  is(text);
}

void hints(Bytes in) {
  const std::int64_t ticks = in.number();
  const std::int64_t then = in.number();
  const SystemTime now{SystemTime::duration(ticks)};
  const std::string header = in.line();
  hint(header, in.rest(), now);
  date(then, now);
}

// --- The classifier
// ----------------------------------------------------------------------------------------------------

// How codes are compared, as plainly as it can be said.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool fits(std::string_view pattern, std::string_view code) {
  std::vector<char> ends(code.size() + 1, 0);  // whether the pattern so far can end there
  ends[0] = 1;
  for (const char p : pattern) {
    std::vector<char> next(code.size() + 1, 0);
    for (std::size_t i = 0; i <= code.size(); ++i) {
      if (p == '*') {
        next[i] = ends[i] != 0 || (i != 0 && next[i - 1] != 0) ? 1 : 0;
      } else {
        next[i] = i != 0 && ends[i - 1] != 0 && code[i - 1] == p ? 1 : 0;
      }
    }
    ends = next;
  }
  return ends.back() != 0;
}

struct OwnError {
  int status;
  std::string code;
  std::string message;
};

struct ThrownError : std::runtime_error {
  ThrownError(int s, std::string c, const std::string& text)
      : std::runtime_error(text), status(s), code(std::move(c)) {}

  int status;
  std::string code;
};

using Classifier = planb::HttpClassifier<OwnError, ThrownError>;

Verdict verdict(Bytes& in) {
  const int byte = in.byte();
  return {static_cast<Action>(byte % 4), byte % 8 > 3};
}

int status(Bytes& in) {
  static constexpr int known[] = {400, 401, 402, 404, 408, 413, 429, 500, 503, 529, 200, 302, 0, -1, 599, 1000};
  return known[in.upto(15)];
}

// What is no rule is refused, and leaves the classifier as it was.
Classifier with_rule(const Classifier& classifier, Bytes& in) {
  const int kind = in.upto(6);
  const Verdict v = verdict(in);
  const int first = status(in);
  try {
    switch (kind) {
      case 0: return classifier.on_status(first, v);
      case 1: return classifier.on_status(first, status(in), v);
      case 2: return classifier.on_code(in.line(), v);
      case 3: return classifier.on_text(in.line(), v);
      case 4: return classifier.on_text(first, in.line(), v);
      case 5: return classifier.on_timeout(v).on_connection(v);
      default: return classifier.on_unknown(v);
    }
  } catch (const std::invalid_argument&) {
    return classifier;
  }
}

struct Failure {
  Cause cause;
  bool readable = false;  // has the status and the code
};

template <class E>
Cause thrown(const E& error) {
  try {
    throw error;
  } catch (...) {
    return Cause::current();
  }
}

Failure failure(Bytes& in, int status, const std::string& code, const std::string& message) {
  switch (in.upto(9)) {
    case 0: return {Cause::of(planb::ProviderError(status, message, code)), true};
    case 1: return {thrown(planb::ProviderError(status, message, code)), true};
    case 2: return {Cause::of(OwnError{status, code, message}), true};
    case 3: return {thrown(ThrownError(status, code, message)), true};
    case 4: return {thrown(std::system_error(status, std::generic_category(), message))};
    case 5: return {Cause::of(std::error_code(status, std::system_category()))};
    case 6: return {Cause::of(static_cast<std::errc>(status))};
    case 7: return {thrown(std::runtime_error(message))};
    case 8: return {Cause::timed_out()};
    default: return {thrown(planb::Defect(message))};
  }
}

void classifier(Bytes in) {
  const auto refusal = static_cast<planb::ContentRefusal>(1 + in.upto(2));
  Classifier rules = planb::http_classifier<OwnError, ThrownError>(refusal);
  const int state = status(in);
  const Verdict mine = verdict(in);
  Bytes before = in;
  static_cast<void>(in.byte());
  const int kind = in.upto(5);
  const int count = in.upto(4);
  const std::string code = in.line();
  const std::string message = in.line();
  for (int i = 0; i != count; ++i) rules = with_rule(rules, in);
  const std::string pattern = in.line();

  Failure failed = failure(before, state, code, message);
  // As the engine marks what ran out of time, was refused or was stopped.
  if (failed.cause.kind() == planb::CauseKind::error && kind > 2) {
    static constexpr planb::CauseKind kinds[] = {planb::CauseKind::timeout, planb::CauseKind::rejected,
                                                 planb::CauseKind::interrupted};
    planb::detail::CauseAccess::set_kind(failed.cause, kinds[kind - 3]);
  }
  const Cause& cause = failed.cause;
  const Verdict said = rules(cause);
  const Classifier copy = rules;
  check(said == rules(cause) && said == copy(Cause(cause)), "the same cause gets the same answer", message);
  if (cause.kind() == planb::CauseKind::defect || cause.kind() == planb::CauseKind::interrupted) {
    check(said == Verdict{Action::abort}, "defects and interruptions abort", message);
    return;
  }

  const bool matches = planb::detail::HttpMatch::code(pattern, code);
  check(matches == fits(plain(pattern), plain(code)), "a pattern matches as said", pattern + "\n" + code);
  if (!failed.readable) return;
  if (!plain(pattern).empty() && !code.empty()) {
    const Verdict now = rules.on_code(pattern, mine)(cause);
    check(now == (matches ? mine : said), "the last rule for a code decides, where it matches", pattern + "\n" + code);
  }
  if (state > 0 && code.empty()) {
    const Verdict now = planb::http_classifier<OwnError>(refusal).on_status(state, mine)(cause);
    if (cause.get_if<ThrownError>() == nullptr) check(now == mine, "a rule for a status decides", message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  if (in.byte() % 2 == 0) {
    hints(in);
  } else {
    classifier(in);
  }
  return 0;
}
