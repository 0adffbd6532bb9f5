// push_with_plan(plan, producer, sink, options): the push form.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "lives.hpp"
#include "results.hpp"

using lives::Connection;
using planb::ExecutionPlan;
using planb::StreamOptions;
using results::Fault;
using results::Outcome;
using Items = std::vector<int>;

namespace {

struct Client {
  int id = 0;

  template <class Emit>
  int count(Emit& emit) {
    for (int i = 1; i <= 3; ++i) emit(10 * id + i);
    return id;
  }
};

ExecutionPlan<Client> two_steps(int attempts = 1) {
  return {{.name = "alpha", .provide = Client{1}, .attempts = attempts}, {.name = "beta", .provide = Client{2}}};
}

// Gives 1, 2, 3 and fails at the first client.
constexpr auto fails_at_first = [](const Client& client, auto& emit) {
  for (int i = 1; i <= 3; ++i) emit(i);
  if (client.id == 1) throw planb::ProviderError(503, "broke off");
};

struct SinkBroke : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Log {
  planb::testing::AttemptLog log;

  [[nodiscard]] StreamOptions options() const { return {.on_event = log}; }
};

}  // namespace

TEST_CASE("a producer is called with the context and emit, or with the attempt as well", "[push]") {
  Items items;
  const auto sink = [&](int item) { items.push_back(item); };
  const auto plan = two_steps();
  planb::push_with_plan(
      plan, [](Client& client, auto& emit) { client.count(emit); }, sink);
  planb::push_with_plan(
      plan, [](Client& client, auto& emit, const planb::Attempt& attempt) { emit(attempt.attempt + client.id); }, sink);
  CHECK(items == Items{11, 12, 13, 2});
}

TEST_CASE("emit may be taken in any way, and be named by a std::function", "[push]") {
  Items items;
  const auto sink = [&](int item) { items.push_back(item); };
  const auto plan = two_steps();
  planb::push_with_plan(
      plan, [](Client&, auto emit) { emit(1); }, sink);
  planb::push_with_plan(
      plan, [](Client&, const auto& emit) { emit(2); }, sink);
  planb::push_with_plan(
      plan, [](Client&, auto&& emit) { emit(3); }, sink);
  planb::push_with_plan(
      plan, [](Client&, const std::function<bool(int)>& emit) { CHECK(emit(4)); }, sink);
  planb::push_with_plan(
      plan, [](Client&, std::function<void(int)> emit) { emit(5); }, sink);
  CHECK(items == Items{1, 2, 3, 4, 5});
}

TEST_CASE("what the producer returns comes back", "[push]") {
  const auto ignore = [](int) {};
  const auto plan = two_steps();
  CHECK(planb::push_with_plan(
            plan, [](Client& client, auto& emit) { return client.count(emit); }, ignore) == 1);

  const std::unique_ptr<int> owned = planb::push_with_plan(
      plan, [](Client&, auto&) { return std::make_unique<int>(7); }, ignore);
  CHECK(*owned == 7);

  int global = 0;
  int& reference = planb::push_with_plan(
      plan, [&](Client&, auto&) -> int& { return global; }, ignore);
  CHECK(&reference == &global);

  static_assert(std::is_void_v<decltype(planb::push_with_plan(
                    plan, [](Client&, auto&) {}, ignore))>);
}

TEST_CASE("a producer may be mutable, move-only, and is called as an lvalue", "[push]") {
  struct Counter {
    std::unique_ptr<int> calls = std::make_unique<int>(0);

    int operator()(Client& client, const std::function<bool(int)>& emit) & {
      ++*calls;
      emit(*calls);
      if (client.id == 1) throw planb::ProviderError(503);
      return *calls;
    }
    int operator()(Client&, const std::function<bool(int)>&) && = delete;
  };
  CHECK(planb::push_with_plan(two_steps(), Counter{}, [](int) {}) == 2);
}

TEST_CASE("a sink may return nothing, or a bool", "[push]") {
  const auto plan = two_steps();
  const auto count = [](Client& client, auto& emit) { return client.count(emit); };
  Items items;
  planb::push_with_plan(plan, count, [&](int item) { items.push_back(item); });
  CHECK(items.size() == 3);
  items.clear();
  planb::push_with_plan(plan, count, [&](int item) {
    items.push_back(item);
    return false;
  });
  CHECK(items.size() == 1);
}

TEST_CASE("a sink may be move-only, mutable, and is called as an lvalue", "[push]") {
  struct Sink {
    std::unique_ptr<int> sum = std::make_unique<int>(0);

    void operator()(int item) & { *sum += item; }
    void operator()(int) && = delete;
  };
  Sink sink;
  planb::push_with_plan(
      two_steps(), [](Client& client, auto& emit) { client.count(emit); }, sink);
  CHECK(*sink.sum == 36);
  planb::push_with_plan(
      two_steps(), [](Client& client, auto& emit) { client.count(emit); }, Sink{});
}

TEST_CASE("elements reach the sink as they were emitted: by reference, moved, move-only, of several types", "[push]") {
  std::vector<std::string> seen;
  const std::string* address = nullptr;
  const std::string kept = "kept";
  planb::push_with_plan(
      two_steps(),
      [&](Client&, auto& emit) {
        emit(kept);
        emit(std::string("moved"));
        emit(std::make_unique<int>(5));
        emit(7);
      },
      planb::overloaded{[&](const std::string& text) {
                          address = &text;
                          seen.push_back(text);
                        },
                        [&](std::string&& text) { seen.push_back("rvalue " + text); },
                        [&](std::unique_ptr<int> owned) { seen.push_back(std::to_string(*owned)); },
                        [&](int number) { seen.push_back(std::to_string(number)); }});
  CHECK(seen == std::vector<std::string>{"kept", "rvalue moved", "5", "7"});
  CHECK(address == &kept);
}

TEST_CASE("emit says whether the consumer wants more, and then no more reaches it", "[push][field-38]") {
  Items items;
  std::vector<bool> said;
  planb::push_with_plan(
      two_steps(),
      [&](Client&, auto& emit) {
        for (int i = 1; i <= 4; ++i) said.push_back(emit(i));
      },
      [&](int item) {
        items.push_back(item);
        return item < 2;
      });
  CHECK(items == Items{1, 2});
  CHECK(said == std::vector<bool>{true, false, false, false});
}

TEST_CASE("when the consumer has stopped, a producer that throws changes nothing", "[push]") {
  Log f;
  planb::push_with_plan(
      two_steps(3),
      [](Client&, auto& emit) {
        if (!emit(1)) throw std::runtime_error("cancelled");
      },
      [](int) { return false; }, f.options());
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha", "AttemptSuccess #1 step=0 alpha"});
}

TEST_CASE("when the consumer has stopped, an error that the producer gives in place of a value surfaces", "[push]") {
  Log f;
  SECTION("returned") {
    const auto result = planb::push_with_plan(
        two_steps(3),
        [](Client&, auto& emit) -> Outcome<int, Fault> {
          if (!emit(1)) return Fault{9};
          return 0;
        },
        [](int) { return false; }, f.options());
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == Fault{9});
  }
  SECTION("thrown") {
    CHECK_THROWS_AS(planb::push_with_plan(
                        two_steps(3),
                        [](Client&, auto& emit) -> int {
                          if (!emit(1)) throw Fault{9};
                          return 0;
                        },
                        [](int) { return false; }, f.options()),
                    Fault);
  }
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha", "AttemptSuccess #1 step=0 alpha"});
}

TEST_CASE("when the consumer has stopped, a defect still leaves unchanged", "[push]") {
  Log f;
  CHECK_THROWS_AS(planb::push_with_plan(
                      two_steps(3),
                      [](Client&, auto& emit) {
                        if (!emit(1)) throw planb::Defect("bug");
                      },
                      [](int) { return false; }, f.options()),
                  planb::Defect);
  CHECK(f.log.lines().back() == "AttemptFailure #1 step=0 alpha bug, end: defect");
}

TEST_CASE("when the consumer has stopped, the acceptance check is not asked", "[push]") {
  const int answer = planb::push_with_plan(two_steps(),
                                           planb::accepting(
                                               [](Client&, auto& emit) {
                                                 emit(1);
                                                 return 5;
                                               },
                                               [](int) { return false; }),
                                           [](int) { return false; });
  CHECK(answer == 5);
}

TEST_CASE("a sink that throws ends the run: not retried, not charged to the provider", "[push]") {
  Log f;
  auto breaker = std::make_shared<planb::CircuitBreaker>(planb::CircuitBreakerOptions{.failure_threshold = 1});
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .attempts = 3, .gate = breaker},
                                   {.name = "beta", .provide = Client{2}}};
  Items items;
  const auto sink = [&](int item) {
    items.push_back(item);
    if (item == 2) throw SinkBroke("disk full");
  };
  std::string told;
  SECTION("the producer lets it through") {
    try {
      planb::push_with_plan(plan, fails_at_first, sink, f.options());
    } catch (const SinkBroke& error) {
      told = error.what();
    }
  }
  SECTION("the producer swallows it and ends well") {
    try {
      planb::push_with_plan(
          plan,
          [](Client&, auto& emit) {
            for (int i = 1; i <= 3; ++i) {
              try {
                emit(i);
              } catch (...) {
              }
            }
          },
          sink, f.options());
    } catch (const SinkBroke& error) {
      told = error.what();
    }
  }
  SECTION("the producer throws another in its place") {
    try {
      planb::push_with_plan(
          plan,
          [](Client&, auto& emit) {
            try {
              for (int i = 1; i <= 3; ++i) emit(i);
            } catch (const std::exception&) {
              throw planb::ProviderError(500, "something went wrong");
            }
          },
          sink, f.options());
    } catch (const SinkBroke& error) {
      told = error.what();
    }
  }
  SECTION("the producer returns an error in its place") {
    try {
      static_cast<void>(planb::push_with_plan(
          plan,
          [](Client&, auto& emit) -> Outcome<int, Fault> {
            try {
              for (int i = 1; i <= 3; ++i) emit(i);
            } catch (const std::exception&) {
              return Fault{1};
            }
            return 1;
          },
          sink, f.options()));
    } catch (const SinkBroke& error) {
      told = error.what();
    }
  }
  CHECK(told == "disk full");
  CHECK(items == Items{1, 2});
  CHECK(f.log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha",
                                                  "AttemptFailure #1 step=0 alpha interrupted, end: interrupted"});
  CHECK(breaker->state() == planb::CircuitState::closed);
}

TEST_CASE("a sink may throw anything", "[push]") {
  CHECK_THROWS_AS(planb::push_with_plan(two_steps(), fails_at_first, [](int) { throw 42; }), int);
  CHECK_THROWS_AS(planb::push_with_plan(two_steps(), fails_at_first, [](int) { throw planb::Defect("bug"); }),
                  planb::Defect);
  CHECK_THROWS_AS(
      planb::push_with_plan(two_steps(), fails_at_first, [](int) { throw planb::ProviderError(503, "sink's own"); }),
      planb::ProviderError);
}

TEST_CASE("errors surface as those of run_with_plan", "[push]") {
  const auto ignore = [](int) {};
  SECTION("thrown") {
    try {
      planb::push_with_plan(
          two_steps(), [](Client&, auto&) { throw Fault{3}; }, ignore);
      FAIL("it did not throw");
    } catch (const planb::PlanExhausted& error) {
      CHECK(error.report().steps.size() == 2);
      const auto* const nested = dynamic_cast<const std::nested_exception*>(&error);
      REQUIRE(nested != nullptr);
      CHECK_THROWS_AS(nested->rethrow_nested(), Fault);
    }
  }
  SECTION("thrown, in the original style") {
    CHECK_THROWS_AS(planb::push_with_plan(two_steps(), [](Client&, auto&) { throw Fault{3}; }, ignore,
                                          {.failure = planb::FailureStyle::original}),
                    Fault);
  }
  SECTION("returned, in their own type") {
    const auto result = planb::push_with_plan(
        two_steps(), [](Client& client, auto&) -> Outcome<int, Fault> { return Fault{client.id}; }, ignore);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == Fault{2});
  }
  SECTION("returned at first, then a value") {
    const auto result = planb::push_with_plan(
        two_steps(),
        [](Client& client, auto&) -> Outcome<int, Fault> {
          if (client.id == 1) return Fault{1};
          return 5;
        },
        ignore);
    CHECK(result.has_value());
  }
  SECTION("by a factory") {
    const ExecutionPlan<Client> plan{{.provide = []() -> Client { throw planb::ProviderError(503); }},
                                     {.provide = Client{2}}};
    CHECK(planb::push_with_plan(
              plan, [](Client& client, auto&) { return client.id; }, ignore) == 2);
  }
}

TEST_CASE("an emitted expected-like with an error is a failure of the attempt", "[push][field-37]") {
  Log f;
  Items items;
  std::vector<bool> said;
  using Piece = Outcome<int, planb::ProviderError>;
  const int answer = planb::push_with_plan(
      two_steps(),
      [&](Client& client, auto& emit) {
        said.push_back(emit(Piece(1)));
        if (client.id == 1) {
          said.push_back(emit(Piece(planb::ProviderError(529, "overloaded"))));
          said.push_back(emit(Piece(2)));
        }
        return client.id;
      },
      [&](Piece piece) { items.push_back(*piece); }, f.options());
  CHECK(answer == 2);
  CHECK(items == Items{1, 1});
  CHECK(said == std::vector<bool>{true, false, false, true});
  CHECK(f.log.lines()[1] == "AttemptFailure #1 step=0 alpha 529 overloaded, next step");
}

TEST_CASE("a defect after an element that was an error leaves unchanged", "[push]") {
  using Piece = Outcome<int, planb::ProviderError>;
  Log f;
  CHECK_THROWS_AS(planb::push_with_plan(
                      two_steps(),
                      [](Client&, auto& emit) {
                        if (!emit(Piece(planb::ProviderError(529, "overloaded")))) throw planb::Defect("bug");
                      },
                      [](Piece&&) {}, f.options()),
                  planb::Defect);
  CHECK(f.log.names() == std::vector{"alpha"});
}

TEST_CASE("an emit that outlives its attempt does nothing", "[push]") {
  std::function<bool(int)> kept;
  Items items;
  std::vector<bool> said;
  planb::push_with_plan(
      two_steps(),
      [&](Client& client, const std::function<bool(int)>& emit) {
        if (client.id == 2) return;
        kept = emit;
        throw planb::ProviderError(503);
      },
      [&](int item) { items.push_back(item); },
      {.on_event = [&](const planb::AttemptFailure&) { said.push_back(kept(1)); }});
  CHECK(items.empty());
  CHECK(said == std::vector<bool>{false});
}

TEST_CASE("a sink may be a member of what is emitted", "[push]") {
  struct Token {
    int* seen;
    void look() const { ++*seen; }
  };
  int seen = 0;
  planb::push_with_plan(
      two_steps(),
      [&](Client&, auto& emit) {
        Token token{&seen};
        emit(token);
        emit(Token{&seen});
        emit(&token);
        emit(std::ref(token));
        emit(std::make_unique<Token>(token));
      },
      &Token::look);
  CHECK(seen == 5);
}

TEST_CASE("a handler in the options is the one that is called, run after run", "[push]") {
  struct Counting {
    int count = 0;
    std::vector<int>* counts;
    void operator()(const planb::AttemptSuccess&) { counts->push_back(++count); }
  };
  std::vector<int> counts;
  const StreamOptions options{.on_event = Counting{0, &counts}};
  for (int i = 0; i != 3; ++i)
    planb::push_with_plan(
        two_steps(), [](Client&, auto&) {}, [](int) {}, options);
  CHECK(counts == std::vector<int>{1, 2, 3});
}

TEST_CASE("a refused answer of a producer is a failure of the attempt", "[push]") {
  Log f;
  const int answer = planb::push_with_plan(
      two_steps(),
      planb::accepting([](Client& client, auto& emit) { return client.count(emit); }, [](int id) { return id == 2; }),
      [](int) {}, f.options());
  CHECK(answer == 2);
  CHECK(f.log.of<planb::AttemptFailure>().at(0).cause.kind() == planb::CauseKind::rejected);
}

TEST_CASE("the context lives until the producer has returned, and ends before the terminal event", "[push][field-35]") {
  std::vector<std::string> seen;
  const ExecutionPlan<Connection> plan{{.provide = [&] { return Connection(seen); }, .attempts = 2}};
  int calls = 0;
  planb::push_with_plan(
      plan,
      [&](Connection&, auto& emit) {
        emit(1);
        if (++calls == 1) throw planb::ProviderError(503);
      },
      [&](int) { seen.push_back("element"); },
      {.on_event = planb::overloaded{[&](const planb::AttemptSuccess&) { seen.push_back("success"); },
                                     [&](const planb::AttemptFailure&) { seen.push_back("failure"); }}});
  CHECK(seen ==
        std::vector<std::string>{"opened", "element", "closed", "failure", "opened", "element", "closed", "success"});
}

TEST_CASE("the sink runs within the attempt, and so with its metadata", "[push]") {
  std::vector<planb::Metadata> seen;
  planb::push_with_plan(two_steps(), fails_at_first, [&](int item) {
    if (item == 1) seen.push_back(planb::CurrentMetadata::get());
  });
  CHECK(seen == std::vector<planb::Metadata>{{1, 0}, {2, 1}});
  CHECK(planb::CurrentMetadata::get() == planb::Metadata{});
}

TEST_CASE("a stream within a sink of a stream", "[push]") {
  Items items;
  planb::push_with_plan(
      two_steps(), [](Client& client, auto& emit) { client.count(emit); },
      [&](int outer) {
        planb::push_with_plan(
            two_steps(), [](Client& client, auto& emit) { client.count(emit); },
            [&](int inner) { items.push_back(outer * 100 + inner); });
        CHECK(planb::CurrentMetadata::get() == planb::Metadata{1, 0});
      });
  CHECK(items == Items{1111, 1112, 1113, 1211, 1212, 1213, 1311, 1312, 1313});
}

TEST_CASE("a fake provider streams", "[push][fake_provider]") {
  using planb::testing::Behaviour;
  using planb::testing::FakeProvider;
  planb::testing::VirtualClock clock;
  const FakeProvider alpha("alpha", {Behaviour::status(503).emits({"Hel", "lo"}).after(std::chrono::seconds(2))},
                           &clock);
  const FakeProvider beta("beta", {Behaviour::value("done").emits({"Hello", " you"})});
  const ExecutionPlan<FakeProvider> plan{{.name = "alpha", .provide = alpha}, {.name = "beta", .provide = beta}};
  std::vector<std::string> tokens;
  const std::string end = planb::push_with_plan(
      plan, [](const FakeProvider& provider, auto& emit) { return provider.stream(emit, "hi"); },
      [&](const std::string& token) { tokens.push_back(token); }, {.clock = &clock});
  CHECK(tokens == std::vector<std::string>{"Hel", "lo", "Hello", " you"});
  CHECK(end == "done");
  CHECK(clock.elapsed() == std::chrono::seconds(2));
  CHECK(alpha.prompts() == std::vector<std::string>{"hi"});
}

TEST_CASE("a sink that comes back to emit: what ended the stream in there stands, whatever the sink says", "[push]") {
  using Item = Outcome<int, Fault>;
  struct Row {
    Item nested;
    bool sink_says;  // of the element around it
    Items items;
    std::vector<bool> said;
  };
  for (const Row& row : {Row{7, true, {10, 7}, {false, false}}, Row{7, false, {10, 7}, {false, false}},
                         Row{Fault{4}, true, {10, 20, 21}, {false, false, true, true}},
                         Row{Fault{4}, false, {10, 20, 21}, {false, false, true, true}}}) {
    CAPTURE(row.nested.has_value(), row.sink_says);
    Items items;
    std::vector<bool> said;
    std::function<bool(Item)> again;
    const auto producer = [&](Client& client, auto& emit) {
      again = emit;
      said.push_back(emit(Item(10 * client.id)));
      said.push_back(emit(Item(10 * client.id + 1)));
    };
    const auto sink = [&](Item item) {
      items.push_back(*item);
      if (*item == 7) return false;
      if (*item != 10) return true;
      again(row.nested);
      return row.sink_says;
    };
    planb::push_with_plan(two_steps(), producer, sink);
    CHECK(items == row.items);
    CHECK(said == row.said);
  }
}

TEST_CASE("a producer that fails in its own words when its time is over has timed out, with these", "[push]") {
  planb::testing::VirtualClock clock;
  const auto producer = [&](Client&, auto& emit) {
    clock.advance(std::chrono::seconds(2));
    if (!emit(1)) throw planb::ProviderError(499, "gave up");
  };
  try {
    planb::push_with_plan(two_steps(), producer, [](int) {}, {.budget = std::chrono::seconds(1), .clock = &clock});
    FAIL_CHECK("no exception");
  } catch (const planb::DeadlineExceeded& error) {
    REQUIRE(error.report().last_cause() != nullptr);
    CHECK(error.report().last_cause()->kind() == planb::CauseKind::timeout);
    CHECK(error.report().last_cause()->status() == 499);
  }
}
