// committing(producer_or_source, predicate, prelude_limit): which elements count as output.
#include <planb/planb.hpp>
#include <planb/testing.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "results.hpp"
#include "streams.hpp"

using namespace std::chrono_literals;
using planb::committing;
using planb::ExecutionPlan;
using planb::PartialStream;
using planb::push_with_plan;
using planb::stream_with_plan;
using streams::Client;
using streams::Form;
using streams::Script;
using Items = std::vector<int>;

namespace {

// Numbers above zero are output; the others are a prelude.
constexpr auto is_output = [](int element) { return element > 0; };

ExecutionPlan<Client> two_steps(int attempts = 1) {
  return {{.name = "alpha", .provide = Client{1}, .attempts = attempts}, {.name = "beta", .provide = Client{2}}};
}

struct Seen {
  Items items = {};
  std::string end = "ok";
};

Seen run(Form form, Script& script, std::size_t limit, const planb::StreamOptions& options = {},
         const ExecutionPlan<Client>& plan = two_steps(), std::size_t take = 1000) {
  Seen seen;
  const auto consume = [&](int item) {
    seen.items.push_back(item);
    return seen.items.size() < take;
  };
  try {
    if (form == Form::push) {
      push_with_plan(plan, committing(streams::Producer{script}, is_output, limit), consume, options);
    } else if (form == Form::co_push) {
      streams::co_push(plan, committing(streams::CoProducer{script}, is_output, limit), consume, options);
    } else {
      for (const int item : stream_with_plan(plan, committing(streams::Source{script}, is_output, limit), options)) {
        if (!consume(item)) break;
      }
    }
  } catch (const planb::PlanError& error) {
    seen.end = error.what();
  }
  return seen;
}

}  // namespace

#define BOTH_FORMS const Form form = GENERATE(Form::push, Form::pull)
#define ALL_FORMS const Form form = GENERATE(Form::push, Form::pull, Form::co_push)

TEST_CASE("a prelude is held back until the first element that counts", "[committing]") {
  ALL_FORMS;
  Script script({{.elements = {0, -1, 5, 0, 6}}});
  CHECK(run(form, script, 10).items == Items{0, -1, 5, 0, 6});
}

TEST_CASE("a prelude is dropped when its attempt fails, and is no output", "[committing]") {
  ALL_FORMS;
  const PartialStream partial = GENERATE(PartialStream::prevent_fallback, PartialStream::prevent_retry);
  Script script({{.elements = {0, -1}, .status = 503}, {.elements = {0, 7}}});
  const Seen seen = run(form, script, 10, {.partial = partial});
  CHECK(seen.items == Items{0, 7});
  CHECK(seen.end == "ok");
}

TEST_CASE("after the first element that counts there has been output", "[committing]") {
  ALL_FORMS;
  Script script({{.elements = {0, 1, -1}, .status = 503}});
  const Seen seen = run(form, script, 10, {.partial = PartialStream::prevent_fallback});
  CHECK(seen.items == Items{0, 1, -1});
  CHECK(seen.end == "plan exhausted after partial output (3 elements): alpha: 503 as the test says");
}

TEST_CASE("more elements than the limit are let through, and are output", "[committing]") {
  ALL_FORMS;
  SECTION("as many as the limit are still held back") {
    Script script({{.elements = {0, -1}, .status = 503}, {.elements = {7}}});
    CHECK(run(form, script, 2, {.partial = PartialStream::prevent_retry}).items == Items{7});
  }
  SECTION("one more is too many") {
    Script script({{.elements = {0, -1, -2}, .status = 503}});
    const Seen seen = run(form, script, 2, {.partial = PartialStream::prevent_retry});
    CHECK(seen.items == Items{0, -1, -2});
    CHECK(seen.end.starts_with("plan exhausted after partial output (3 elements)"));
  }
  SECTION("a limit of zero holds nothing back") {
    Script script({{.elements = {0}, .status = 503}});
    CHECK(run(form, script, 0, {.partial = PartialStream::prevent_retry}).items == Items{0});
  }
}

TEST_CASE("a stream of nothing but a prelude reaches the consumer when it ends", "[committing]") {
  ALL_FORMS;
  Script script({{.elements = {0, -1, -2}}});
  CHECK(run(form, script, 10).items == Items{0, -1, -2});
}

TEST_CASE("each attempt has a prelude of its own", "[committing]") {
  ALL_FORMS;
  Script script({{.elements = {0, 1}, .status = 503}, {.elements = {-3}, .status = 503}, {.elements = {-4, 2}}});
  CHECK(run(form, script, 10, {}, two_steps(2)).items == Items{0, 1, -4, 2});
}

TEST_CASE("a consumer may stop within a prelude", "[committing]") {
  ALL_FORMS;
  planb::testing::AttemptLog log;
  const std::size_t take = GENERATE(1U, 2U);
  SECTION("that output follows") {
    Script script({{.elements = {0, -1, 5, 6}, .status = 503}});
    CHECK(run(form, script, 10, {.on_event = log}, two_steps(), take).items.size() == take);
  }
  SECTION("that the end follows") {
    Script script({{.elements = {0, -1, -2}}});
    CHECK(run(form, script, 10, {.on_event = log}, two_steps(), take).items.size() == take);
  }
  CHECK(log.lines() == std::vector<std::string>{"AttemptStart #1 step=0 alpha", "AttemptSuccess #1 step=0 alpha"});
}

TEST_CASE("elements that are held back end a silence too", "[committing]") {
  ALL_FORMS;
  planb::testing::VirtualClock clock;
  const ExecutionPlan<Client> plan{{.name = "alpha", .provide = Client{1}, .timeout = 30s}};
  Script script({{.elements = {0, -1, 1}, .before_each = 20s}}, &clock);
  const Seen seen = run(form, script, 10, {.clock = &clock}, plan);
  CHECK(seen.items == Items{0, -1, 1});
  CHECK(seen.end == "ok");
}

TEST_CASE("an attempt does not count what is held back as delivered", "[committing]") {
  std::vector<std::size_t> delivered;
  push_with_plan(two_steps(),
                 committing(
                     [&](const Client&, auto& emit, const planb::Attempt& attempt) {
                       for (const int element : {0, -1, 5, 6}) {
                         emit(element);
                         delivered.push_back(attempt.delivered());
                       }
                     },
                     is_output, 10),
                 [](int) {});
  CHECK(delivered == std::vector<std::size_t>{0, 0, 3, 4});
}

TEST_CASE("the predicate is not asked again once the output has begun", "[committing]") {
  BOTH_FORMS;
  int asked = 0;
  const auto predicate = [&](int element) {
    ++asked;
    return element > 0;
  };
  Script script({{.elements = {0, 1, -1, 2}}});
  Items items;
  if (form == Form::push) {
    push_with_plan(two_steps(), committing(streams::Producer{script}, predicate, 10),
                   [&](int item) { items.push_back(item); });
  } else {
    for (const int item : stream_with_plan(two_steps(), committing(streams::Source{script}, predicate, 10))) {
      items.push_back(item);
    }
  }
  CHECK(items == Items{0, 1, -1, 2});
  CHECK(asked == 2);
}

TEST_CASE("a predicate that throws ends the run as a rule of the plan, with no output", "[committing]") {
  BOTH_FORMS;
  const auto predicate = [](int) -> bool { throw std::logic_error("cannot tell"); };
  Script script({{.elements = {1, 2}}});
  Items items;
  std::string end;
  try {
    if (form == Form::push) {
      push_with_plan(two_steps(3), committing(streams::Producer{script}, predicate, 10),
                     [&](int item) { items.push_back(item); });
    } else {
      for (const int item : stream_with_plan(two_steps(3), committing(streams::Source{script}, predicate, 10))) {
        items.push_back(item);
      }
    }
  } catch (const planb::PlanAborted& error) {
    end = error.what();
  }
  CHECK(items.empty());
  CHECK(end.find("a rule of the plan threw: cannot tell") != std::string::npos);
  CHECK(script.made() == 1);
}

TEST_CASE("a prelude of a producer that returns an error is dropped", "[committing]") {
  using Result = results::Outcome<int, planb::ProviderError>;
  Items items;
  const Result result = push_with_plan(two_steps(),
                                       committing(
                                           [](const Client& client, auto& emit) -> Result {
                                             emit(-client.id);
                                             if (client.id == 1) return planb::ProviderError(503);
                                             return client.id;
                                           },
                                           is_output, 10),
                                       [&](int item) { items.push_back(item); });
  CHECK(result.has_value());
  CHECK(items == Items{-2});
}

TEST_CASE("accepting and committing go together, in either order", "[committing]") {
  const auto producer = [](const Client& client, auto& emit) {
    emit(-client.id);
    return client.id;
  };
  const auto wants_two = [](int answer) { return answer == 2; };
  Items items;
  const auto sink = [&](int item) { items.push_back(item); };
  CHECK(push_with_plan(two_steps(), planb::accepting(committing(producer, is_output, 10), wants_two), sink) == 2);
  CHECK(items == Items{-2});  // the prelude of the refused one is dropped
  items.clear();
  CHECK(push_with_plan(two_steps(), committing(planb::accepting(producer, wants_two), is_output, 10), sink) == 2);
  CHECK(items == Items{-2});
}

TEST_CASE("elements of several types, and such as can only be moved, are held back", "[committing]") {
  std::vector<std::string> seen;
  push_with_plan(
      two_steps(),
      committing(
          [](const Client&, auto& emit) {
            const std::string kept = "role";
            emit(kept);
            emit(std::make_unique<int>(3));
            emit(true);
          },
          planb::overloaded{[](const std::string&) { return false; }, [](const std::unique_ptr<int>&) { return false; },
                            [](const bool& last) { return last; }},
          10),
      planb::overloaded{[&](const std::string& text) { seen.push_back(text); },
                        [&](std::unique_ptr<int> owned) { seen.push_back(std::to_string(*owned)); },
                        [&](bool) { seen.push_back("end"); }});
  CHECK(seen == std::vector<std::string>{"role", "3", "end"});

  std::vector<int> numbers;
  auto stream = stream_with_plan(two_steps(), committing(
                                                  [](const Client&) {
                                                    return std::views::iota(1, 4) | std::views::transform([](int i) {
                                                             return std::make_unique<int>(i);
                                                           });
                                                  },
                                                  [](const std::unique_ptr<int>& p) { return *p == 3; }, 10));
  for (std::unique_ptr<int> owned : stream) numbers.push_back(*owned);
  CHECK(numbers == Items{1, 2, 3});

  std::vector<bool> bits;
  for (const bool bit : stream_with_plan(two_steps(), committing(
                                                          [](const Client&) {
                                                            return std::views::iota(0, 3) |
                                                                   std::views::transform([](int i) { return i == 2; });
                                                          },
                                                          [](bool bit) { return bit; }, 10))) {
    bits.push_back(bit);
  }
  CHECK(bits == std::vector<bool>{false, false, true});
}

TEST_CASE("what is held back is a copy: the source's own elements stay as they are", "[committing]") {
  std::vector<std::string> kept{"prelude", "output"};
  std::vector<std::string> seen;
  for (const std::string& text :
       stream_with_plan(two_steps(), committing([&](const Client&) -> const std::vector<std::string>& { return kept; },
                                                [](const std::string& s) { return s == "output"; }, 10))) {
    seen.push_back(text);
  }
  CHECK(seen == kept);
}

TEST_CASE("a stop ends a prelude", "[committing]") {
#if PLANB_HAS_STOP_TOKEN
  BOTH_FORMS;
  std::stop_source stop;
  int asked = 0;
  const auto predicate = [&](int) {
    if (++asked == 2) stop.request_stop();
    return false;
  };
  Script script({{.elements = {0, -1, -2, 1}}});
  Items items;
  if (form == Form::push) {
    CHECK_THROWS_AS(push_with_plan(two_steps(), committing(streams::Producer{script}, predicate, 10),
                                   [&](int item) { items.push_back(item); }, {.stop = stop.get_token()}),
                    planb::PlanInterrupted);
  } else {
    auto stream =
        stream_with_plan(two_steps(), committing(streams::Source{script}, predicate, 10), {.stop = stop.get_token()});
    CHECK_THROWS_AS(stream.begin(), planb::PlanInterrupted);
  }
  CHECK(items.empty());
  CHECK(asked == 2);
#endif
}

TEST_CASE("what is held back does not outlive the context that it came from", "[committing]") {
  // Says who ends when.
  struct Trace {
    std::vector<std::string>* ends;
    const char* name;
    Trace(std::vector<std::string>& e, const char* n) : ends(&e), name(n) {}
    Trace(const Trace& other) = default;
    Trace& operator=(const Trace&) = delete;
    ~Trace() { ends->push_back(name); }
  };
  std::vector<std::string> ends;
  const ExecutionPlan<Trace> plan{{.provide = [&] { return Trace(ends, "context"); }}};
  const auto record = [&](const planb::Event& event) { ends.push_back(to_string(event).substr(0, 14)); };
  const auto producer = [&](Trace&, auto& emit) {
    const Trace element(ends, "element");
    emit(element);
    ends.push_back("held");
    throw planb::ProviderError(503);
  };
  CHECK_THROWS(push_with_plan(plan,
                              committing(
                                  producer, [](const Trace&) { return false; }, 5),
                              [](const Trace&) {}, {.on_event = record}));
  CHECK(ends == std::vector<std::string>{"AttemptStart #", "held", "element", "element", "context", "AttemptFailure",
                                         "RunFinish exha"});
}

// Two elements that are held back, and one that commits, into a sink that is given the way back to emit(), too.
template <class Sink>
void push_prelude(bool wanted, Sink sink) {
  std::function<bool(int)> again;
  push_with_plan(two_steps(),
                 committing(
                     [&](Client&, auto& emit) {
                       again = emit;
                       emit(-1);
                       emit(-2);
                       CHECK(emit(1) == wanted);
                     },
                     is_output, 5),
                 [&](int item) { return sink(item, again); });
}

TEST_CASE("a sink may come back to emit while a prelude is given", "[committing]") {
  Items items;
  push_prelude(true, [&](int item, auto& again) {
    items.push_back(item);
    if (item == -1) again(7);
  });
  CHECK(items == Items{-1, 7, -2, 1});
  CHECK_FALSE(items.empty());
}

TEST_CASE("what is held back goes no further where the sink wanted no more when it came back to emit", "[committing]") {
  Items items;
  push_prelude(false, [&](int item, auto& again) {
    items.push_back(item);
    if (item == -1) CHECK_FALSE(again(7));
    return item != 7;
  });
  CHECK(items == Items{-1, 7});
}

TEST_CASE("a predicate may come back to emit: where that ends the stream, its element goes no further", "[committing]") {
  using Item = results::Outcome<int, results::Fault>;
  const bool commits = GENERATE(false, true);
  Items items;
  std::function<bool(Item)> again;
  push_with_plan(two_steps(),
                 committing(
                     [&](Client& client, auto& emit) {
                       again = emit;
                       CHECK(emit(Item(-1)));
                       CHECK(emit(Item(client.id)) == (client.id != 1));
                     },
                     [&](const Item& item) {
                       if (*Item(item) != 1) return *Item(item) > 0;
                       CHECK_FALSE(again(Item(results::Fault{4})));
                       return commits;
                     },
                     5),
                 [&](const Item& item) { items.push_back(*Item(item)); });
  CHECK(items == Items{-1, 2});
}

TEST_CASE("string literals are held back", "[committing]") {
  std::vector<std::string> seen;
  push_with_plan(two_steps(),
                 committing(
                     [](Client&, auto& emit) {
                       emit("role");
                       emit("hello");
                     },
                     [](std::string_view text) { return text != "role"; }, 2),
                 [&](const std::string& text) { seen.push_back(text); });
  CHECK(seen == std::vector<std::string>{"role", "hello"});
}

TEST_CASE("committing does not change the value type of a stream", "[committing]") {
  const ExecutionPlan<std::vector<bool>> plan{{.provide = std::vector<bool>{false, true}}};
  auto stream = stream_with_plan(
      plan, committing(
                [](std::vector<bool> & bits) -> auto& { return bits; }, [](bool bit) { return bit; }, 2));
  static_assert(std::is_same_v<std::ranges::range_value_t<decltype(stream)>, bool>);
  std::vector<bool> bits;
  for (const bool bit : stream) bits.push_back(bit);
  CHECK(bits == std::vector<bool>{false, true});
}
