// error_traits: what can be read from an error, and from which members.
#include "catch.hpp"

#include <planb/cause.hpp>
#include <planb/error_traits.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
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

TEST_CASE("members of other types than they should have are ignored", "[error_traits]") {
  struct Wrong {
    std::string status = "503";
    int code = 7;
    int retry_after = 2;
    int message = 1;
  };
  CHECK(read(Wrong{}) == Read{});

  struct WrongFunctions {
    [[nodiscard]] static double status() { return 503; }
    [[nodiscard]] static std::vector<int> code() { return {}; }
    [[nodiscard]] static std::chrono::system_clock::time_point retry_after() { return {}; }
    static void message() {}
  };
  CHECK(read(WrongFunctions{}) == Read{});

  struct WithArguments {
    [[nodiscard]] static int status(int s) { return s; }
    [[nodiscard]] static std::string message(int) { return "no"; }
  };
  CHECK(read(WithArguments{}) == Read{});

  struct NotConst {
    int status() { return 503; }
    std::string message() { return "no"; }
  };
  CHECK(read(NotConst{}) == Read{});

  struct WrongButStd : std::runtime_error {
    WrongButStd() : std::runtime_error("what") {}
    int message = 1;
  };
  CHECK(read(WrongButStd{}).message == "what");
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

  CHECK(status_of(true) == std::nullopt);
  CHECK(status_of('A') == std::nullopt);
  CHECK(status_of(L'A') == std::nullopt);
  CHECK(status_of(u8'A') == std::nullopt);
  CHECK(status_of(u'A') == std::nullopt);
  CHECK(status_of(U'A') == std::nullopt);
  CHECK(status_of(503.0) == std::nullopt);
}

TEST_CASE("a wait hint is a duration of any unit, never negative, saturated", "[error_traits]") {
  CHECK(hint_of(2s) == Duration(2s));
  CHECK(hint_of(1500ms) == Duration(1500ms));
  CHECK(hint_of(3h) == Duration(3h));
  CHECK(hint_of(7ns) == Duration(7ns));
  CHECK(hint_of(std::chrono::days(1)) == Duration(24h));
  CHECK(hint_of(0s) == Duration(0));
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
  CHECK(hint_of(std::chrono::duration<double>(std::nan(""))) == Duration(0));

  CHECK(hint_of((std::chrono::hours::max)()) == (Duration::max)());
  CHECK(hint_of((std::chrono::seconds::max)()) == (Duration::max)());
  CHECK(hint_of((Duration::max)()) == (Duration::max)());
  CHECK(hint_of(std::chrono::duration<double>(1e300)) == (Duration::max)());
  CHECK(hint_of(std::chrono::duration<double>(std::numeric_limits<double>::infinity())) == (Duration::max)());
  CHECK(hint_of(std::chrono::duration<std::uint64_t>((std::numeric_limits<std::uint64_t>::max)())) ==
        (Duration::max)());
  // Below the largest Duration, and yet too large to be multiplied first.
  CHECK(hint_of(std::chrono::duration<long long, std::ratio<1, 30>>(200'000'000'000)) > Duration(std::chrono::years(200)));

  CHECK(hint_of(2) == std::nullopt);
  CHECK(hint_of(2.0) == std::nullopt);
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
