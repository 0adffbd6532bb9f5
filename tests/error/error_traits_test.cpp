// error_traits: what can be read from an error, and from which members.
#include "catch.hpp"

#include <planb/error/accepting.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/run.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ios>
#include <limits>
#include <memory>
#include <optional>
#include <ratio>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using planb::Cause;
using planb::Duration;
using planb::ProviderError;

// Everything that can be read from an error, to be compared at once.
struct Read {
  std::optional<int> status = std::nullopt;
  std::string code = {};
  std::optional<Duration> retry_after = std::nullopt;
  std::string message = "unknown error";

  friend bool operator==(const Read&, const Read&) = default;
};

template <class E>
Read read(const E& error) {
  const Cause cause = Cause::of(error);
  return {cause.status(), cause.code(), cause.retry_after(), cause.message()};
}

template <class T>
struct WithStatus {
  T status{};
};
template <class T>
std::optional<int> status_of(T value) {
  return read(WithStatus<T>{value}).status;
}

template <class T>
struct WithHint {
  T retry_after{};
};
template <class T>
std::optional<Duration> hint_of(T value) {
  return read(WithHint<T>{value}).retry_after;
}

template <class T>
struct WithTexts {
  T code{};
  T message{};
};

struct Data {
  int status = 503;
  std::string code = "overloaded";
  std::chrono::seconds retry_after{2};
  std::string message = "try later";
};

class Functions {
 public:
  [[nodiscard]] int status() const { return 503; }
  [[nodiscard]] std::string code() const { return "overloaded"; }
  [[nodiscard]] std::chrono::seconds retry_after() const { return 2s; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  std::string message_ = "try later";
};

// An error of somebody else's, whose members have other names.
struct Foreign {
  int http = 503;
  int wait_ms = 250;
  std::string message = "its own message";
};

// One that has members of the names, which mean something else.
struct Misleading {
  int status = 7;
  std::string code = "internal";
  std::string message = "own";
};

enum class Errc { gone = 410, limit = 429 };

struct StaticMembers {
  static constexpr int status = 502;
  static constexpr std::string_view message = "bad gateway";
};

class Private {
  int status = 500;
  std::string message() const { return "private"; }

 public:
  [[nodiscard]] int used() const { return status + static_cast<int>(message().size()); }
};

// Traits of no use.
struct WrongTraits {};
struct EnumTraits {
  short held = 410;
};

struct BitFields {
  unsigned status : 10 = 503;
};

}  // namespace

template <>
struct planb::error_traits<Foreign> {
  static int status(const Foreign& e) { return e.http; }
  static std::chrono::milliseconds retry_after(const Foreign& e) { return std::chrono::milliseconds(e.wait_ms); }
};

template <>
struct planb::error_traits<WrongTraits> {
  static std::string status(const WrongTraits&) { return "503"; }
  static std::chrono::seconds retry_after(WrongTraits&) { return std::chrono::seconds(2); }
  static int retryable(const WrongTraits&) { return 1; }
};

template <>
struct planb::error_traits<EnumTraits> {
  enum class Status : short {};
  enum class Code { seven = 7 };
  static Status status(const EnumTraits& e) { return static_cast<Status>(e.held); }
  static Code code(const EnumTraits&) { return Code::seven; }
  static std::string message(const EnumTraits&) { return "unknown error"; }
  static bool retryable(const EnumTraits&) { return false; }
};

template <>
struct planb::error_traits<Misleading> {
  static std::optional<int> status(const Misleading&) { return std::nullopt; }
  static std::string code(const Misleading&) { return "from traits"; }
};

template <>
struct planb::error_traits<Errc> {
  static int status(Errc e) { return static_cast<int>(e); }
  static const char* message(Errc e) { return e == Errc::gone ? "gone" : "limit"; }
};

TEST_CASE("an error's members are read, data and functions alike", "[error_traits]") {
  const Read full{503, "overloaded", 2s, "try later"};
  CHECK(read(Data{}) == full);
  CHECK(read(Functions{}) == full);
  CHECK(read(StaticMembers{}) == Read{.status = 502, .message = "bad gateway"});
  CHECK(read(BitFields{}).status == 503);
}

TEST_CASE("members may be optional", "[error_traits]") {
  struct Optional {
    std::optional<int> status;
    std::optional<std::string> code;
    std::optional<std::chrono::milliseconds> retry_after;
    std::optional<std::string> message;
  };
  CHECK(read(Optional{}) == Read{});
  CHECK(read(Optional{429, "limit", 1500ms, "slow down"}) == Read{429, "limit", 1500ms, "slow down"});

  struct OptionalFunctions {
    bool known = false;
    [[nodiscard]] std::optional<long> status() const { return known ? std::optional(429L) : std::nullopt; }
    [[nodiscard]] std::optional<std::string_view> message() const {
      return known ? std::optional<std::string_view>("known") : std::nullopt;
    }
  };
  CHECK(read(OptionalFunctions{}) == Read{});
  CHECK(read(OptionalFunctions{true}) == Read{.status = 429, .message = "known"});
}

TEST_CASE("what an error has not cannot be read", "[error_traits]") {
  struct Nothing {};
  CHECK(read(Nothing{}) == Read{});
  CHECK(read(42) == Read{.message = "42"});
  CHECK(read(std::string("text")) == Read{.message = "text"});
  CHECK(read(std::runtime_error("what")) == Read{.message = "what"});
  CHECK(read(Private{}) == Read{});
}

// Whether all that is there by the names that are read is of a type that fits: check_error() refuses the others.
template <class E>
constexpr bool fits_status = planb::detail::reads_status<E> || !planb::detail::has_status<E>();
template <class E>
constexpr bool fits_code =
    planb::detail::reads_code<E> || planb::detail::reads_system_code<E> || !planb::detail::has_code<E>();
template <class E>
constexpr bool fits_retry_after = planb::detail::reads_retry_after<E> || !planb::detail::has_retry_after<E>();
template <class E>
constexpr bool fits_message = planb::detail::reads_message<E> || !planb::detail::has_message<E>();

TEST_CASE("members of other types than they should have do not fit", "[error_traits]") {
  struct Wrong {
    std::string status = "503";
    std::vector<int> code;
    int retry_after = 2;
    int message = 1;
  };
  STATIC_REQUIRE_FALSE(fits_status<Wrong>);
  STATIC_REQUIRE_FALSE(fits_code<Wrong>);
  STATIC_REQUIRE_FALSE(fits_retry_after<Wrong>);
  STATIC_REQUIRE_FALSE(fits_message<Wrong>);

  struct WrongFunctions {
    [[nodiscard]] static double status() { return 503; }
    [[nodiscard]] static bool code() { return true; }
    [[nodiscard]] static std::chrono::system_clock::time_point retry_after() { return {}; }
    static void message() {}
  };
  STATIC_REQUIRE_FALSE(fits_status<WrongFunctions>);
  STATIC_REQUIRE_FALSE(fits_code<WrongFunctions>);
  STATIC_REQUIRE_FALSE(fits_retry_after<WrongFunctions>);
  STATIC_REQUIRE_FALSE(fits_message<WrongFunctions>);

  struct NotConst {
    int status() { return 503; }
    std::string code() && { return "no"; }
    std::string message() { return "no"; }
  };
  STATIC_REQUIRE_FALSE(fits_status<NotConst>);
  STATIC_REQUIRE_FALSE(fits_code<NotConst>);
  STATIC_REQUIRE_FALSE(fits_message<NotConst>);

  STATIC_REQUIRE_FALSE(fits_status<WithStatus<bool>>);
  STATIC_REQUIRE_FALSE(fits_status<WithStatus<char>>);
  STATIC_REQUIRE_FALSE(fits_status<WithStatus<char8_t>>);
  STATIC_REQUIRE_FALSE(fits_status<WithStatus<double>>);
  STATIC_REQUIRE_FALSE(fits_status<WithStatus<std::optional<double>>>);
  STATIC_REQUIRE_FALSE(fits_status<WithStatus<std::error_code>>);
  STATIC_REQUIRE_FALSE(fits_status<WithStatus<std::errc>>);
  STATIC_REQUIRE_FALSE(fits_status<WithStatus<std::atomic<int>>>);
  STATIC_REQUIRE_FALSE(fits_retry_after<WithHint<double>>);
  STATIC_REQUIRE_FALSE(fits_retry_after<WithHint<std::optional<int>>>);
  STATIC_REQUIRE_FALSE(fits_retry_after<WithHint<std::chrono::steady_clock::time_point>>);
  STATIC_REQUIRE_FALSE(fits_message<WithTexts<std::wstring>>);
  STATIC_REQUIRE_FALSE(fits_code<WithTexts<std::wstring>>);
  STATIC_REQUIRE_FALSE(fits_status<WrongTraits>);
  STATIC_REQUIRE_FALSE(fits_retry_after<WrongTraits>);
  STATIC_REQUIRE(fits_code<WrongTraits>);
  STATIC_REQUIRE(planb::detail::retryable_does_not_fit<WrongTraits>());
}

TEST_CASE("what fits, or is not there, is not refused", "[error_traits]") {
  struct Fits {
    [[nodiscard]] const std::optional<int>& status() const { return held; }
    int status(int s) { return s; }
    std::error_code code = {};
    std::optional<int> held = 503;
    std::string& message() { return text; }
    [[nodiscard]] const std::string& message() const { return text; }
    std::string text = {};
  };
  CHECK(read(Fits{.text = "overloaded"}) == Read{.status = 503, .message = "overloaded"});
  STATIC_REQUIRE(planb::detail::reads_system_code<Fits>);
  STATIC_REQUIRE(planb::detail::reads_system_code<std::system_error>);
  STATIC_REQUIRE(planb::detail::reads_system_code<std::ios_base::failure>);
  STATIC_REQUIRE(planb::detail::reads_system_code<WithTexts<std::errc>>);
  CHECK(read(std::system_error(std::make_error_code(std::errc::timed_out))).code.empty());

  struct StatusOr {  // a result, and not an error: its status is an object
    struct Status {};
    [[nodiscard]] static bool ok() { return false; }
    [[nodiscard]] static Status status() { return {}; }
    int operator*() const { return 0; }
  };
  CHECK(read(StatusOr{}) == Read{});

  struct NestedTypes {
    struct status {};
    enum code { one };
  };
  CHECK(read(NestedTypes{}) == Read{});

  // A refused value is no error, whatever it has by these names.
  struct Answer {
    std::string status = "incomplete";
    int message = 0;
  };
  const planb::ExecutionPlan<int> plan{{.provide = 1}};
  const auto refuse = planb::accepting([](int&) { return Answer{}; }, [](const Answer&) { return false; });
  CHECK(try_run_with_plan(plan, refuse).report().last_cause()->message() == "value rejected");

  struct WithArguments {
    [[nodiscard]] static int status(int s) { return s; }
    [[nodiscard]] static std::string message(int) { return "no"; }
  };
  CHECK(read(WithArguments{}) == Read{});

  struct Deleted {
    int status() const = delete;
  };
  CHECK(read(Deleted{}) == Read{});
}

TEST_CASE("an enumeration is read through its underlying type", "[error_traits]") {
  enum class Status { limit = 429 };
  enum class Small : short { gone = 410, none = 0, negative = -1 };
  enum Unscoped { unavailable = 503 };
  CHECK(status_of(Status::limit) == 429);
  CHECK(status_of(Small::gone) == 410);
  CHECK(status_of(Small::none) == std::nullopt);
  CHECK(status_of(Small::negative) == std::nullopt);
  CHECK(status_of(unavailable) == 503);
  CHECK(status_of(std::optional(Status::limit)) == 429);
  CHECK(status_of(std::optional<Status>()) == std::nullopt);
  CHECK(read(EnumTraits{}) == Read{.status = 410, .code = "7"});

  struct Function {
    [[nodiscard]] Status status() const { return Status::limit; }
  };
  CHECK(read(Function{}) == Read{.status = 429, .message = ""});
  struct BitField {
    Status status : 12 = Status::limit;
  };
  CHECK(read(BitField{}) == Read{.status = 429, .message = ""});
}

TEST_CASE("a code that is a number is a status where there is no other, or else a text", "[error_traits]") {
  struct Integer {
    int code;
  };
  CHECK(read(Integer{503}) == Read{.status = 503, .message = ""});
  CHECK(read(Integer{100}).status == 100);
  CHECK(read(Integer{599}).status == 599);
  CHECK(read(Integer{99}) == Read{.code = "99"});
  CHECK(read(Integer{600}) == Read{.code = "600"});
  CHECK(read(Integer{-104}) == Read{.code = "-104"});
  CHECK(read(Integer{0}) == Read{});

  enum class Errno : unsigned char { busy = 5, early = 103 };
  struct Enumerated {
    std::optional<Errno> code;
  };
  CHECK(read(Enumerated{Errno::busy}) == Read{.code = "5"});
  CHECK(read(Enumerated{Errno::early}) == Read{.status = 103, .message = ""});
  CHECK(read(Enumerated{}) == Read{});

  struct Text {
    std::string code;
  };
  CHECK(read(Text{"429"}) == Read{.status = 429, .code = "429", .message = ""});
  CHECK(read(Text{"600"}) == Read{.code = "600"});
  CHECK(read(Text{"4290"}) == Read{.code = "4290"});
  CHECK(read(Text{"42x"}) == Read{.code = "42x"});
  CHECK(read(Text{"5.0"}) == Read{.code = "5.0"});
  CHECK(read(Text{"5 0"}) == Read{.code = "5 0"});

  struct Both {
    int status;
    int code;
  };
  CHECK(read(Both{400, 503}) == Read{.status = 400, .code = "503", .message = ""});
  CHECK(read(Both{0, 503}) == Read{.status = 503, .message = ""});
  CHECK(read(Both{400, 0}) == Read{.status = 400, .message = ""});
}

TEST_CASE("characters without an end are read no further than they go", "[error_traits]") {
  struct Full {
    char code[5] = {'4', '0', '0', '0', '1'};
    char message[3] = {'b', 'a', 'd'};
  };
  const auto on_heap = std::make_unique<Cause>(Cause::of(Full{}));
  CHECK(on_heap->code() == "40001");
  CHECK(on_heap->message() == "bad");

  struct Padded {
    char code[8] = "40001";
    std::array<char, 6> message = {'b', 'a', 'd'};
  };
  CHECK(read(Padded{}) == Read{.code = "40001", .message = "bad"});

  struct ByFunction {
    std::array<char, 2> held = {'4', '2'};
    [[nodiscard]] const std::array<char, 2>& code() const { return held; }
    [[nodiscard]] std::vector<char> message() const { return {'b', 'a', 'd'}; }
  };
  CHECK(read(ByFunction{}) == Read{.code = "42", .message = "bad"});
}

TEST_CASE("an error's own word about another try", "[error_traits]") {
  struct Own {
    std::optional<bool> retryable;
  };
  CHECK(Cause::of(Own{true}).retryable() == true);
  CHECK(Cause::of(Own{false}).retryable() == false);
  CHECK(Cause::of(Own{}).retryable() == std::nullopt);
  struct Function {
    [[nodiscard]] std::optional<bool> retryable() const { return false; }
  };
  CHECK(Cause::of(Function{}).retryable() == false);
  CHECK(Cause::of(EnumTraits{}).retryable() == false);

  // A plain bool is the caller's own.
  struct Plain {
    bool retryable = false;
  };
  CHECK(Cause::of(Plain{}).retryable() == std::nullopt);
  CHECK(Cause::timed_out().retryable() == std::nullopt);
  CHECK(Cause().retryable() == std::nullopt);
}

TEST_CASE("a status is a positive integer of any type; all else is none", "[error_traits]") {
  CHECK(status_of(503) == 503);
  CHECK(status_of(std::int16_t{404}) == 404);
  CHECK(status_of(std::uint16_t{404}) == 404);
  CHECK(status_of(static_cast<unsigned char>(200)) == 200);
  CHECK(status_of(503UL) == 503);
  CHECK(status_of(503LL) == 503);
  CHECK(status_of(std::optional<unsigned>(503)) == 503);
  CHECK(status_of(1) == 1);
  CHECK(status_of((std::numeric_limits<int>::max)()) == (std::numeric_limits<int>::max)());

  CHECK(status_of(0) == std::nullopt);
  CHECK(status_of(-1) == std::nullopt);
  CHECK(status_of((std::numeric_limits<long long>::min)()) == std::nullopt);
  CHECK(status_of(1LL << 32) == std::nullopt);
  CHECK(status_of((std::numeric_limits<std::uint64_t>::max)()) == std::nullopt);
  CHECK(status_of(std::optional<int>()) == std::nullopt);
  CHECK(status_of(std::optional<int>(0)) == std::nullopt);
}

TEST_CASE("a wait hint is a duration of any unit, never negative, saturated", "[error_traits]") {
  CHECK(hint_of(2s) == Duration(2s));
  CHECK(hint_of(1500ms) == Duration(1500ms));
  CHECK(hint_of(3h) == Duration(3h));
  CHECK(hint_of(7ns) == Duration(7ns));
  CHECK(hint_of(std::chrono::days(1)) == Duration(24h));
  CHECK(hint_of(0s) == std::nullopt);  // as where nobody has set it
  CHECK(hint_of(std::optional(0s)) == Duration(0));
  CHECK(hint_of(std::chrono::duration<double>(0.25)) == Duration(250ms));
  CHECK(hint_of(std::chrono::duration<float, std::milli>(1.5F)) == Duration(1500us));
  CHECK(hint_of(std::chrono::duration<std::uint8_t>(3)) == Duration(3s));
  CHECK(hint_of(std::chrono::duration<int, std::ratio<1, 30>>(60)) == Duration(2s));
  CHECK(hint_of(std::chrono::duration<long long, std::pico>(5000)) == Duration(5ns));
  CHECK(hint_of(std::optional(2s)) == Duration(2s));
  CHECK(hint_of(std::optional<std::chrono::seconds>()) == std::nullopt);

  CHECK(hint_of(-1s) == Duration(0));
  CHECK(hint_of(std::chrono::duration<double>(-0.5)) == Duration(0));
  CHECK(hint_of((std::chrono::hours::min)()) == Duration(0));
  CHECK(hint_of(std::chrono::duration<double>(-std::numeric_limits<double>::infinity())) == Duration(0));
  CHECK(hint_of(std::chrono::duration<double>(std::nan(""))) == std::nullopt);

  CHECK(hint_of((std::chrono::hours::max)()) == (Duration::max)());
  CHECK(hint_of((std::chrono::seconds::max)()) == (Duration::max)());
  CHECK(hint_of((Duration::max)()) == (Duration::max)());
  CHECK(hint_of(std::chrono::duration<double>(1e300)) == (Duration::max)());
  CHECK(hint_of(std::chrono::duration<double>(std::numeric_limits<double>::infinity())) == (Duration::max)());
  CHECK(hint_of(std::chrono::duration<std::uint64_t>((std::numeric_limits<std::uint64_t>::max)())) ==
        (Duration::max)());
  // Below the largest Duration, and yet too large to be multiplied first.
  CHECK(hint_of(std::chrono::duration<long long, std::ratio<1, 30>>(200'000'000'000)) >
        Duration(std::chrono::years(200)));
}

TEST_CASE("codes and messages are texts of any type; a null pointer is none", "[error_traits]") {
  CHECK(read(WithTexts<std::string>{"c", "m"}) == Read{.code = "c", .message = "m"});
  CHECK(read(WithTexts<std::string_view>{"c", "m"}) == Read{.code = "c", .message = "m"});
  CHECK(read(WithTexts<const char*>{"c", "m"}) == Read{.code = "c", .message = "m"});
  CHECK(read(WithTexts<char[8]>{"c", "m"}) == Read{.code = "c", .message = "m"});
  CHECK(read(WithTexts<std::string>{}) == Read{});
  CHECK(read(WithTexts<const char*>{}) == Read{});
  CHECK(read(WithTexts<std::optional<const char*>>{nullptr, nullptr}) == Read{});
}

TEST_CASE("error_traits stand before an error's own members, one by one", "[error_traits]") {
  CHECK(read(Foreign{}) == Read{.status = 503, .retry_after = 250ms, .message = "its own message"});
  // What the traits say is "none" is none, whatever the member says.
  CHECK(read(Misleading{}) == Read{.code = "from traits", .message = "own"});
  CHECK(read(Errc::gone) == Read{.status = 410, .message = "gone"});
  CHECK(read(Errc::limit) == Read{.status = 429, .message = "limit"});
}

TEST_CASE("a message comes from message, what() or the value itself", "[error_traits]") {
  struct Both : std::runtime_error {
    Both() : std::runtime_error("what") {}
    std::string message = "message";
  };
  CHECK(read(Both()).message == "message");

  struct WhatAlone {
    [[nodiscard]] static const char* what() { return "what alone"; }
  };
  CHECK(read(WhatAlone{}).message == "what alone");

  struct Textual {
    operator std::string_view() const { return "converted"; }  // NOLINT(google-explicit-constructor)
  };
  CHECK(read(Textual{}).message == "converted");

  enum class Small : std::uint8_t { value = 200 };
  enum Unscoped { unscoped = -3 };
  CHECK(read(Small::value).message == "error 200");
  CHECK(read(unscoped).message == "error -3");
  CHECK(read(true).message == "true");
  CHECK(read(7UL).message == "7");
  CHECK(read(0.5).message == "0.500000");
  CHECK(read(0.5F).message == "0.500000");
  CHECK(read(0.5L).message == "0.500000");

  // An empty message is fine where a status says enough.
  struct StatusAlone {
    int status = 503;
    std::string message;
  };
  CHECK(read(StatusAlone{}).message.empty());
}

TEST_CASE("ProviderError: a status, a text, a code and a wait hint", "[error_traits]") {
  CHECK(read(ProviderError(429, "slow down", "rate_limited", 2s)) == Read{429, "rate_limited", 2s, "slow down"});
  CHECK(read(ProviderError(503)) == Read{.status = 503, .message = ""});
  CHECK(read(ProviderError("connection refused")) == Read{.message = "connection refused"});
  CHECK(std::string(ProviderError(503, "unavailable").what()) == "unavailable");
  CHECK(read(ProviderError(0)) == Read{});
  CHECK(read(ProviderError(429, "past", {}, -2s)).retry_after == Duration(0));
}

TEST_CASE("an error that is told by an empty message tells it by its what()", "[error_traits]") {
  struct Worded : std::runtime_error {
    using std::runtime_error::runtime_error;
    std::optional<std::string> message;
  };
  Worded error("from what()");
  CHECK(Cause::of(std::as_const(error)).message() == "from what()");
  error.message = "";
  CHECK(Cause::of(std::as_const(error)).message() == "from what()");
  error.message = "its own";
  CHECK(Cause::of(std::as_const(error)).message() == "its own");
}

TEST_CASE("a plain wait of zero leaves the word to the error that it wraps", "[error_traits]") {
  struct Outer : std::runtime_error {
    Outer() : std::runtime_error("outer") {}
    std::chrono::seconds retry_after{0};
  };
  try {
    try {
      throw ProviderError(429, "slow down", "", 3s);
    } catch (...) {
      std::throw_with_nested(Outer());
    }
  } catch (...) {
    const Cause cause = Cause::current();
    CHECK(cause.retry_after() == Duration(3s));
  }
}

TEST_CASE("a text that an error only points to is kept", "[error_traits]") {
  const auto kept = [](auto make, const auto& same) {
    using Text = std::remove_cvref_t<decltype(same)>;
    Cause cause;
    {
      auto text = std::make_unique<Text>(same);
      cause = Cause::of(make(*text));
      text->assign(text->size(), 'z');
    }
    return cause;
  };
  const std::string text(40, 'q');
  CHECK(kept([](const std::string& s) { return std::span<const char>(s); }, text).message() == text);
  CHECK(kept([](std::string& s) { return std::span<char>(s); }, text).message() == text);
  CHECK(kept([](const std::string& s) { return std::string_view(s); }, text).message() == text);
  CHECK(kept([](const std::string& s) { return s.c_str(); }, text).message() == text);
  const std::u8string bytes(40, u8'q');
  CHECK(kept([](const std::u8string& s) { return std::u8string_view(s); }, bytes).message() == text);
  CHECK(kept([](const std::u8string& s) { return s.c_str(); }, bytes).message() == text);
  const std::wstring wide(40, L'q');
  const Cause view = kept([](const std::wstring& s) { return std::wstring_view(s); }, wide);
  const Cause pointer = kept([](const std::wstring& s) { return s.c_str(); }, wide);
  for (const Cause* const cause : {&view, &pointer}) {
    REQUIRE(cause->get_if<std::wstring>() != nullptr);
    CHECK(*cause->get_if<std::wstring>() == wide);
  }
  const wchar_t* const none = nullptr;
  CHECK(Cause::of(none).get_if<std::wstring>()->empty());

  // One that owns its characters is kept as it is.
  const std::array<char, 8> own{'o', 'w', 'n'};
  CHECK(Cause::of(own).get_if<std::array<char, 8>>() != nullptr);
}

TEST_CASE("an array of characters ends at its end, or at a zero before that", "[error_traits]") {
  const auto whole = std::make_unique<char[][3]>(1);
  whole[0][0] = 'a';
  whole[0][1] = 'b';
  whole[0][2] = 'c';
  CHECK(Cause::of(whole[0]).message() == "abc");
  whole[0][1] = 0;
  CHECK(Cause::of(whole[0]).message() == "a");
  CHECK(*Cause::of(L"wide").get_if<std::wstring>() == L"wide");
}
