// Streams without exceptions and RTTI: errors are returned, are elements, or are asked for. Built with -fno-exceptions
// -fno-rtti.
#include <planb/stream.hpp>
#include <planb/testing.hpp>

#include <string>
#include <utility>
#include <vector>

#include "../results.hpp"
#include "check.hpp"

#if PLANB_HAS_EXCEPTIONS || PLANB_HAS_RTTI
#error "build this with -fno-exceptions -fno-rtti"
#endif

using planb::ExecutionPlan;
using planb::push_with_plan;
using planb::RunEnd;
using planb::stream_with_plan;
using results::Fault;

namespace {

struct Client {
  int id = 0;
};

struct ApiError {
  explicit ApiError(int s) : status(s) {}
  explicit ApiError(const planb::PlanError& error) : message(error.what()) {}

  int status = 0;
  std::string message;
};

using Result = results::Outcome<int, ApiError>;
using Piece = results::Outcome<int, Fault>;
using Items = std::vector<int>;

ExecutionPlan<Client> two_steps() {
  return {{.name = "alpha", .provide = Client{1}}, {.name = "beta", .provide = Client{2}}};
}

void pushed() {
  Items items;
  const planb::testing::AttemptLog log;
  const auto sink = [&](int item) { items.push_back(item); };
  const auto producer = [](Client& client, auto& emit) -> Result {
    emit(1);
    if (client.id == 1) return ApiError(503);
    emit(2);
    return client.id;
  };
  Result result = push_with_plan(two_steps(), producer, sink, {.on_event = log});
  EXPECT(result.has_value() && *result == 2);
  EXPECT(items == Items{1, 1, 2});
  EXPECT(log.lines()[1] == "AttemptFailure #1 step=0 alpha 503, next step");

  Result partial = push_with_plan(two_steps(), producer, sink, {.partial = planb::PartialStream::prevent_fallback});
  EXPECT(!partial.has_value());
  EXPECT(partial.error().message ==
         "plan exhausted after partial output (1 element): alpha: 503");
}

void pulled() {
  const auto pieces = [](Client& client) {
    std::vector<Piece> made{Piece(1)};
    made.push_back(client.id == 1 ? Piece(Fault{5}) : Piece(2));
    return made;
  };
  Items items;
  auto stream = stream_with_plan(two_steps(), pieces);
  for (Piece& piece : stream) items.push_back(*piece);
  EXPECT(items == Items{1, 1, 2});
  EXPECT(stream.error() == nullptr);
  EXPECT(stream.report().answered_by() == "beta");

  items.clear();
  auto partial = stream_with_plan(two_steps(), pieces, {.partial = planb::PartialStream::prevent_retry});
  for (Piece& piece : partial) items.push_back(*piece);
  EXPECT(items == Items{1});
  EXPECT(partial.error() != nullptr && partial.error()->end() == RunEnd::exhausted);
  EXPECT(partial.error() != nullptr && partial.error()->report().delivered == 1);
}

void a_source_that_does_not_open() {
  using Opened = results::Outcome<Items, Fault>;
  auto stream = stream_with_plan(two_steps(), [](Client& client) -> Opened { return Fault{client.id}; });
  for ([[maybe_unused]] const int item : stream) EXPECT(false);
  EXPECT(stream.error() != nullptr);
  EXPECT(stream.report().last_cause()->get_if<Fault>()->id == 2);
}

void a_prelude() {
  Items items;
  Result result = push_with_plan(two_steps(),
                                 planb::committing(
                                     [](Client& client, auto& emit) -> Result {
                                       emit(-client.id);
                                       if (client.id == 1) return ApiError(503);
                                       emit(1);
                                       return 0;
                                     },
                                     [](int item) { return item > 0; }, 5),
                                 [&](int item) { items.push_back(item); });
  EXPECT(result.has_value());
  EXPECT(items == Items{-2, 1});
}

}  // namespace

int main() {
  pushed();
  pulled();
  a_source_that_does_not_open();
  a_prelude();
  return check::result();
}
