// stream_with_plan(plan, source, options): the pull form.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lives.hpp"
#include "results.hpp"

using lives::Connection;
using planb::ExecutionPlan;
using planb::stream_with_plan;
using planb::StreamOptions;
using results::Fault;
using results::Outcome;
using Items = std::vector<int>;

namespace {

struct Client {
  int id = 0;
  Items list = {1, 2, 3};
};

ExecutionPlan<Client> two_steps(int attempts = 1) {
  return {{.name = "alpha", .provide = Client{1}, .attempts = attempts}, {.name = "beta", .provide = Client{2}}};
}

// 1, 2, 3, and at the first client an error in place of what follows.
constexpr auto breaks_off = [](const Client& client) {
  return std::views::iota(1, 5) | std::views::transform([&client](int i) {
           if (i == 4 && client.id == 1) throw planb::ProviderError(503, "broke off");
           return i;
         });
};

template <class Stream>
Items all(Stream&& stream) {
  Items items;
  for (auto&& item : stream) items.push_back(item);
  return items;
}

// A user's own generator, of the plainest kind.
template <class T>
class Generator {
 public:
  struct promise_type {
    const T* value = nullptr;
    std::exception_ptr error;

    Generator get_return_object() { return Generator(std::coroutine_handle<promise_type>::from_promise(*this)); }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(const T& v) noexcept {
      value = &v;
      return {};
    }
    static void return_void() noexcept {}
    void unhandled_exception() { error = std::current_exception(); }
  };

  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = T;

    explicit Iterator(std::coroutine_handle<promise_type> handle) : handle_(handle) { ++*this; }
    const T& operator*() const { return *handle_.promise().value; }
    Iterator& operator++() {
      handle_.resume();
      if (handle_.promise().error) std::rethrow_exception(std::exchange(handle_.promise().error, nullptr));
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.handle_.done(); }

   private:
    std::coroutine_handle<promise_type> handle_;
  };

  explicit Generator(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Generator(Generator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Generator& operator=(Generator&&) = delete;
  ~Generator() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] Iterator begin() const { return Iterator(handle_); }
  [[nodiscard]] static std::default_sentinel_t end() { return std::default_sentinel; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

Generator<std::string> tokens(const Client& client) {
  co_yield "Hel";
  co_yield "lo";
  if (client.id == 1) throw planb::ProviderError(503, "broke off");
  co_yield "!";
}

// A range that stays where it was made.
class Immovable {
 public:
  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = int;

    int operator*() const { return i_; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    void operator++(int) { ++i_; }
    bool operator==(std::default_sentinel_t) const { return i_ == 3; }

   private:
    int i_ = 0;
  };

  Immovable() = default;
  Immovable(const Immovable&) = delete;
  Immovable& operator=(const Immovable&) = delete;

  static Iterator begin() { return {}; }
  static std::default_sentinel_t end() { return {}; }
};

using Stream = decltype(stream_with_plan(std::declval<ExecutionPlan<Client>>(), breaks_off));
static_assert(std::ranges::input_range<Stream>);
static_assert(std::movable<Stream>);
static_assert(!std::copyable<Stream>);
static_assert(std::is_nothrow_move_constructible_v<Stream>);
static_assert(std::same_as<std::ranges::range_value_t<Stream>, int>);

}  // namespace

TEST_CASE("a source may give a view, a container by value, a container by reference, a generator", "[pull]") {
  CHECK(all(stream_with_plan(two_steps(), [](Client&) { return std::views::iota(1, 4); })) == Items{1, 2, 3});
  CHECK(all(stream_with_plan(two_steps(), [](Client&) { return Items{4, 5}; })) == Items{4, 5});
  CHECK(all(stream_with_plan(two_steps(), [](Client&) -> const Items { return Items{4, 5}; })) == Items{4, 5});
  CHECK(all(stream_with_plan(two_steps(), [](Client& client) -> Items& { return client.list; })) == Items{1, 2, 3});
  CHECK(all(stream_with_plan(two_steps(), [](Client& client) -> const Items& { return client.list; })) ==
        Items{1, 2, 3});
  CHECK(all(stream_with_plan(two_steps(), [](Client&) { return std::list<int>{7}; })) == Items{7});

  std::string text;
  for (const std::string& token : stream_with_plan(two_steps(), tokens)) text += token;
  CHECK(text == "HelloHello!");
}

TEST_CASE("a source is called with the context, or with the attempt as well; it may be a member", "[pull]") {
  CHECK(all(stream_with_plan(two_steps(), [](Client& client, const planb::Attempt& attempt) {
          return Items{client.id, attempt.attempt};
        })) == Items{1, 1});
  CHECK(all(stream_with_plan(two_steps(), &Client::list)) == Items{1, 2, 3});
}

TEST_CASE("a source may be move-only and mutable", "[pull]") {
  auto stream = stream_with_plan(two_steps(), [calls = std::make_unique<int>(0)](Client& client) mutable {
    ++*calls;
    if (client.id == 1) throw planb::ProviderError(503);
    return Items{*calls};
  });
  CHECK(all(stream) == Items{2});
}

TEST_CASE("elements come as the source gives them: references stay, what is made anew is an rvalue", "[pull]") {
  std::vector<std::unique_ptr<int>> owned;
  owned.push_back(std::make_unique<int>(1));
  auto by_reference =
      stream_with_plan(two_steps(), [&](Client&) -> std::vector<std::unique_ptr<int>>& { return owned; });
  for (std::unique_ptr<int>& element : by_reference) CHECK(&element == owned.data());

  auto made = stream_with_plan(two_steps(), [](Client&) {
    return std::views::iota(1, 3) | std::views::transform([](int i) { return std::make_unique<int>(i); });
  });
  static_assert(std::is_same_v<std::ranges::range_reference_t<decltype(made)>, std::unique_ptr<int>&&>);
  Items items;
  for (std::unique_ptr<int> element : made) items.push_back(*element);
  CHECK(items == Items{1, 2});

  auto bits = stream_with_plan(two_steps(), [](Client&) { return std::vector<bool>{true, false}; });
  std::vector<bool> seen;
  for (auto&& bit : bits) seen.push_back(bit);
  CHECK(seen == std::vector<bool>{true, false});

  auto fixed = stream_with_plan(two_steps(), [](Client&) { return Immovable(); });
  CHECK(all(fixed) == Items{0, 1, 2});
}

TEST_CASE("nothing runs before begin()", "[pull]") {
  planb::testing::AttemptLog log;
  planb::testing::VirtualClock clock;
  int built = 0;
  const ExecutionPlan<Client> plan{{.provide = [&built] {
    ++built;
    return Client{};
  }}};
  auto stream = stream_with_plan(plan, [](Client& client) { return client.list; },
                                 {.on_event = log, .budget = std::chrono::seconds(1), .clock = &clock});
  clock.advance(std::chrono::hours(1));  // the budget has not begun
  CHECK(built == 0);
  CHECK(log.events().empty());
  CHECK(stream.report().end == planb::RunEnd::running);
  CHECK(stream.report().steps.empty());
  const auto it = stream.begin();
  CHECK(built == 1);
  CHECK(*it == 1);
  CHECK(log.events().size() == 1);
}

TEST_CASE("a stream that is never begun makes no attempt", "[pull]") {
  planb::testing::AttemptLog log;
  { const auto stream = stream_with_plan(two_steps(), breaks_off, {.on_event = log}); }
  CHECK(log.events().empty());
}

TEST_CASE("the plan and the options are copied: their originals may go", "[pull]") {
  auto stream = [] {
    const ExecutionPlan<Client> plan = two_steps();
    const StreamOptions options{.partial = planb::PartialStream::allow};
    return stream_with_plan(plan, breaks_off, options);
  }();
  CHECK(all(stream) == Items{1, 2, 3, 1, 2, 3, 4});
}

TEST_CASE("the first pull belongs to the attempt", "[pull][field-36]") {
  planb::testing::AttemptLog log;
  std::vector<planb::Metadata> seen;
  auto stream = stream_with_plan(two_steps(),
                                 [&](const Client& client) {
                                   return std::views::iota(0, 1) | std::views::transform([&](int i) {
                                            seen.push_back(planb::CurrentMetadata::get());
                                            if (client.id == 1) throw planb::ProviderError(503, "cannot connect");
                                            return i;
                                          });
                                 },
                                 {.on_event = log});
  CHECK(all(stream) == Items{0});
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}, {2, 1}});
  CHECK(log.names() == std::vector{"alpha", "beta"});
}

TEST_CASE("CurrentMetadata is set while the source runs, and what it was while the consumer does", "[pull]") {
  std::vector<planb::Metadata> inside;
  const auto source = [&](const Client& client) {
    inside.push_back(planb::CurrentMetadata::get());
    return std::views::iota(0, 3) | std::views::transform([&](int i) {
             inside.push_back(planb::CurrentMetadata::get());
             if (client.id == 1 && i == 1) throw planb::ProviderError(503);
             return i;
           });
  };
  const planb::CurrentMetadata::Scope scope({7, 7});
  for ([[maybe_unused]] const int item : stream_with_plan(two_steps(), source)) {
    CHECK(planb::CurrentMetadata::get() == planb::Metadata{7, 7});
  }
  CHECK(inside == std::vector<planb::Metadata>{{1, 0}, {1, 0}, {1, 0}, {2, 1}, {2, 1}, {2, 1}, {2, 1}});
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{7, 7});
}

TEST_CASE("each element of a source is made once, however often it is looked at", "[pull]") {
  int made = 0;
  auto stream = stream_with_plan(two_steps(), [&](Client&) {
    return std::views::iota(0, 3) | std::views::transform([&](int i) {
             ++made;
             return i;
           });
  });
  int sum = 0;
  for (auto it = stream.begin(); it != stream.end(); ++it) sum += *it + *it;
  CHECK(sum == 6);
  CHECK(made == 3);
}

TEST_CASE("errors surface from begin() and from ++, and the stream is at its end then", "[pull]") {
  SECTION("from begin()") {
    auto stream = stream_with_plan(two_steps(), [](Client&) -> Items { throw Fault{1}; });
    CHECK_THROWS_AS(stream.begin(), planb::PlanExhausted);
    CHECK((stream.begin() == stream.end()));
    REQUIRE(stream.error() != nullptr);
    CHECK(stream.error()->end() == planb::RunEnd::exhausted);
  }
  SECTION("from ++") {
    const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}}};
    auto stream = stream_with_plan(plan, breaks_off);
    auto it = stream.begin();
    ++it;
    ++it;
    CHECK(stream.error() == nullptr);
    CHECK_THROWS_AS(++it, planb::PlanExhausted);
    CHECK((it == stream.end()));
    CHECK(std::string(stream.error()->what()) ==
          "plan exhausted after partial output (3 elements): alpha: 503 broke off");
    CHECK(stream.report().delivered == 3);
  }
  SECTION("in the original style") {
    auto stream = stream_with_plan(two_steps(), [](Client&) -> Items { throw Fault{1}; },
                                   {.failure = planb::FailureStyle::original});
    CHECK_THROWS_AS(stream.begin(), Fault);
  }
  SECTION("a defect") {
    auto stream = stream_with_plan(two_steps(), [](Client&) -> Items { throw planb::Defect("bug"); });
    CHECK_THROWS_AS(stream.begin(), planb::Defect);
    CHECK((stream.begin() == stream.end()));
  }
}

TEST_CASE("a source may fail in its own iterator, or in what compares it", "[pull]") {
  struct Range {
    int id;
    int where;  // 0: in begin(), 1: in ++, 2: in ==
    struct Iterator {
      using difference_type = std::ptrdiff_t;
      using value_type = int;
      const Range* range;
      int i = 0;
      int operator*() const { return i; }
      Iterator& operator++() {
        range->fail(1);
        ++i;
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(std::default_sentinel_t) const {
        if (i == 1) range->fail(2);
        return i == 2;
      }
    };
    void fail(int here) const {
      if (id == 1 && here == where) throw planb::ProviderError(503);
    }
    [[nodiscard]] Iterator begin() const {
      fail(0);
      return {this};
    }
    static std::default_sentinel_t end() { return {}; }
  };
  const int where = GENERATE(0, 1, 2);
  planb::testing::AttemptLog log;
  const Items items = all(stream_with_plan(two_steps(),
                                           [where](Client& client) {
                                             return Range{client.id, where};
                                           },
                                           {.on_event = log}));
  CHECK(items == (where == 0 ? Items{0, 1} : Items{0, 0, 1}));
  CHECK(log.names() == std::vector{"alpha", "beta"});
}

TEST_CASE("an element that is an expected-like with an error is a failure of the attempt", "[pull][field-37]") {
  using Piece = Outcome<int, planb::ProviderError>;
  planb::testing::AttemptLog log;
  auto stream = stream_with_plan(two_steps(),
                                 [](const Client& client) {
                                   std::vector<Piece> pieces{Piece(1), Piece(2)};
                                   if (client.id == 1)
                                     pieces.insert(pieces.begin() + 1, Piece(planb::ProviderError(529, "overloaded")));
                                   return pieces;
                                 },
                                 {.on_event = log});
  Items items;
  for (Piece& piece : stream) items.push_back(*piece);
  CHECK(items == Items{1, 1, 2});
  CHECK(log.lines()[1] == "AttemptFailure #1 step=0 alpha 529 overloaded, next step");
}

TEST_CASE("a source may return an expected-like of a range", "[pull]") {
  using Opened = Outcome<Items, planb::ProviderError>;
  planb::testing::AttemptLog log;
  auto stream = stream_with_plan(two_steps(),
                                 [](const Client& client) -> Opened {
                                   if (client.id == 1) return planb::ProviderError(401, "unauthorized");
                                   return Items{1, 2};
                                 },
                                 {.on_event = log});
  CHECK(all(stream) == Items{1, 2});
  CHECK(log.lines()[1] == "AttemptFailure #1 step=0 alpha 401 unauthorized, next step");
}

TEST_CASE("an expected-like that a source gives by reference stays as it is", "[pull]") {
  Outcome<Items, planb::ProviderError> shared(
      planb::ProviderError(503, "a message longer than a small buffer has room"));
  auto stream = stream_with_plan(
      two_steps(), [&](Client&) -> auto& { return shared; });
  CHECK_THROWS_AS(stream.begin(), planb::PlanExhausted);
  CHECK(std::string(shared.error().what()) == "a message longer than a small buffer has room");
}

TEST_CASE("a generator may take its Attempt by reference", "[pull]") {
  struct Attempts {
    static Generator<int> numbers(const Client&, const planb::Attempt& attempt) {
      for (int i = 0; i != 3; ++i) co_yield attempt.attempt * 10 + i;
    }
  };
  CHECK(all(stream_with_plan(two_steps(), Attempts::numbers)) == Items{10, 11, 12});
}

TEST_CASE("what ends with a stream that is left ends within its attempt", "[pull]") {
  std::vector<planb::Metadata> seen;
  struct Noting {
    std::vector<planb::Metadata>* seen;
    ~Noting() { seen->push_back(planb::CurrentMetadata::get()); }
  };
  const ExecutionPlan<Noting> plan{{.provide = [&] { return Noting{&seen}; }}};
  for ([[maybe_unused]] const int i : stream_with_plan(plan, [](Noting&) { return Items{1, 2}; })) break;
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}});
}

TEST_CASE("a gate's defect does not end a program that leaves a stream", "[pull]") {
  class Broken final : public planb::Gate {
   public:
    planb::Admission admit(const planb::GateRequest&) override { return planb::Permit(*this, 1); }
    [[nodiscard]] planb::TimePoint opens_at(const planb::GateRequest& request) const override { return request.now; }

   private:
    void on_outcome(std::uint64_t, const planb::GateOutcome& outcome) override {
      if (outcome.cause == nullptr) throw planb::Defect("bug");
    }
    void on_dropped(std::uint64_t, bool) noexcept override {}
  };
  const ExecutionPlan<Client> plan{{.provide = Client{1}, .gate = std::make_shared<Broken>()}};
  planb::testing::AttemptLog log;
  for ([[maybe_unused]] const int i :
       stream_with_plan(plan, [](Client& client) { return client.list; }, {.on_event = log})) {
    break;
  }
  CHECK(log.lines().back() == "AttemptSuccess #1 step=0");
}

TEST_CASE("a factory that fails is a failed attempt of a stream", "[pull]") {
  using Made = Outcome<Client, planb::ProviderError>;
  const ExecutionPlan<Client> plan{{.provide = []() -> Client { throw planb::ProviderError(503); }},
                                   {.provide = []() -> Made { return planb::ProviderError(503); }},
                                   {.provide = Client{3}}};
  auto stream = stream_with_plan(plan, [](Client& client) { return client.list; });
  CHECK(all(stream) == Items{1, 2, 3});
  CHECK(stream.report().attempts == 3);
}

TEST_CASE("the context lives until its stream has ended, and ends before the terminal event", "[pull][field-35]") {
  std::vector<std::string> seen;
  const ExecutionPlan<Connection> plan{{.provide = [&] { return Connection(seen); }, .attempts = 2}};
  int calls = 0;
  const auto source = [&](Connection&) {
    return std::views::iota(1, 3) | std::views::transform([&, call = ++calls](int i) {
             if (call == 1 && i == 2) throw planb::ProviderError(503);
             return i;
           });
  };
  const StreamOptions options{.on_event =
                                  planb::overloaded{[&](const planb::AttemptSuccess&) { seen.push_back("success"); },
                                                    [&](const planb::AttemptFailure&) { seen.push_back("failure"); }}};
  std::vector<std::string> expected{"opened", "1", "closed", "failure", "opened", "1"};
  SECTION("to its end") {
    for (const int item : stream_with_plan(plan, source, options)) seen.push_back(std::to_string(item));
    expected.insert(expected.end(), {"2", "closed", "success"});
  }
  SECTION("left early") {
    int received = 0;
    for (const int item : stream_with_plan(plan, source, options)) {
      seen.push_back(std::to_string(item));
      if (++received == 2) break;
    }
    expected.insert(expected.end(), {"closed", "success"});
  }
  CHECK(seen == expected);
}

TEST_CASE("a consumer that throws ends the attempt as a success: it has walked away", "[pull]") {
  planb::testing::AttemptLog log;
  CHECK_THROWS_AS(
      [&] {
        for ([[maybe_unused]] const int item : stream_with_plan(two_steps(), breaks_off, {.on_event = log})) throw 42;
      }(),
      int);
  CHECK(log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha", "AttemptSuccess #1 step=0 alpha"});
}

TEST_CASE("a named stream that is left goes on where it was; its attempt is over when it is destroyed", "[pull]") {
  planb::testing::AttemptLog log;
  Items items;
  {
    auto stream = stream_with_plan(two_steps(), breaks_off, {.on_event = log});
    for (const int item : stream) {
      items.push_back(item);
      if (item == 2) break;
    }
    CHECK(stream.report().end == planb::RunEnd::running);
    CHECK(log.events().size() == 1);
    auto it = stream.begin();
    CHECK(*it == 2);
    ++it;
    CHECK(*it == 3);
  }
  CHECK(items == Items{1, 2});
  CHECK(log.lines().back() == "AttemptSuccess #1 step=0 alpha");
}

TEST_CASE("a stream says who answered", "[pull]") {
  auto stream = stream_with_plan(two_steps(), breaks_off);
  all(stream);
  CHECK(stream.report().end == planb::RunEnd::succeeded);
  CHECK(stream.report().answered_by() == "beta");
  CHECK(stream.report().delivered == 7);
  CHECK(stream.error() == nullptr);
}

TEST_CASE("a stream may be moved, also while it is gone through", "[pull]") {
  auto stream = stream_with_plan(two_steps(), breaks_off);
  auto it = stream.begin();
  CHECK(*it == 1);
  auto moved = std::move(stream);
  ++it;
  CHECK(*it == 2);
  auto other = stream_with_plan(two_steps(), breaks_off);
  other = std::move(moved);
  CHECK(*other.begin() == 2);
  CHECK_THROWS_AS(moved.begin(), planb::Defect);  // NOLINT(bugprone-use-after-move): a clear error is promised
  CHECK_THROWS_AS(moved.report(), planb::Defect);
}

TEST_CASE("going on after the end is a clear error", "[pull]") {
  auto stream = stream_with_plan(two_steps(), [](Client&) { return Items{1}; });
  auto it = stream.begin();
  ++it;
  CHECK((it == stream.end()));
  CHECK_THROWS_AS(++it, planb::Defect);
  CHECK((it == stream.end()));
  CHECK(stream.report().end == planb::RunEnd::succeeded);
}

TEST_CASE("a stream goes through views", "[pull]") {
  auto stream = stream_with_plan(two_steps(), breaks_off);
  CHECK(all(stream | std::views::filter([](int i) { return i != 2; }) |
            std::views::transform([](int i) { return 10 * i; })) == Items{10, 30, 10, 30, 40});
  CHECK(all(stream_with_plan(two_steps(),
                             [](Client&) {
                               return Items{1, 2, 3, 4};
                             }) |
            std::views::take_while([](int i) { return i < 3; })) == Items{1, 2});
}

TEST_CASE("a plan with an Env streams when it is captured; a reference as context", "[pull]") {
  struct Env {
    int base;
  };
  const ExecutionPlan<Client, Env> plan{{.provide = [](Env& env) { return Client{env.base, {env.base}}; }}};
  CHECK(all(stream_with_plan(plan.capture_requirements(Env{5}), [](Client& client) { return client.list; })) ==
        Items{5});

  Client outside{9, {9, 8}};
  const ExecutionPlan<Client&> by_reference{{.provide = std::ref(outside)}};
  auto stream = stream_with_plan(by_reference, [](Client& client) -> Items& { return client.list; });
  CHECK(&*stream.begin() == outside.list.data());
}

TEST_CASE("two streams of one plan at the same time", "[pull]") {
  const auto plan = two_steps();
  auto a = stream_with_plan(plan, breaks_off);
  auto b = stream_with_plan(plan, breaks_off);
  Items items;
  auto j = b.begin();
  for (const int item : a) {
    items.push_back(10 * item + *j);
    ++j;
  }
  CHECK(items == Items{11, 22, 33, 11, 22, 33, 44});
}

TEST_CASE("a run within a source, and a stream within a consumer", "[pull]") {
  Items items;
  for (const int outer : stream_with_plan(two_steps(), [](Client&) {
         return Items{planb::run_with_plan(two_steps(), [](Client& client) { return client.id; }), 5};
       })) {
    for (const int inner : stream_with_plan(two_steps(), breaks_off)) items.push_back(10 * outer + inner);
  }
  CHECK(items == Items{11, 12, 13, 11, 12, 13, 14, 51, 52, 53, 51, 52, 53, 54});
}
