// Random plans, options and providers: every driver does what the model says, event by event.
//   PLANB_RANDOM_SEED=n   one more seed
//   PLANB_RANDOM_CASES=n  cases for each seed
// What differs is told as a case, made as small as it can be.
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "catch.hpp"
#include "drivers.hpp"
#include "model.hpp"

namespace {

using namespace scene;
using model::Expected;

int number_from(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

constexpr int fixed_seeds[] = {1, 2, 3, 4, 5};
constexpr int usual_count = 400;

Case make_case(int seed, int number) {
  Case c = model::CaseMaker((static_cast<std::uint64_t>(seed) << 32U) + static_cast<std::uint64_t>(number)).make();
#if !PLANB_HAS_STOP_TOKEN
  c.stop = {};
  for (Case& nested : c.nested) nested.stop = {};
#endif
  return c;
}

}  // namespace

TEST_CASE("random runs do what the model says", "[random]") {
  const int count = number_from("PLANB_RANDOM_CASES", usual_count);
  const planb::CurrentMetadata::Scope outside({77, 7});
  std::vector<int> seeds(std::begin(fixed_seeds), std::end(fixed_seeds));
  if (const int seed = number_from("PLANB_RANDOM_SEED", 0); seed != 0) seeds.push_back(seed);
  int compared = 0;
  for (const int seed : seeds) {
    for (int number = 0; number != count; ++number) {
      const Case c = make_case(seed, number);
      for (const Driver driver : drivers) {
        if (suits(played_by(driver, c), driver)) ++compared;
        const auto differs = [&](const Case& x) {
          const Case played = played_by(driver, x);
          return suits(played, driver) && !difference(played, driver).empty();
        };
        if (!differs(c)) continue;
        const Case small = played_by(driver, model::shrink(c, differs));
        FAIL("PLANB_RANDOM_SEED=" << seed << ", case " << number << ", " << driver_names[static_cast<int>(driver)]
                                  << "\n"
                                  << model::describe(small) << difference(small, driver));
      }
    }
  }
  CHECK(compared >= static_cast<int>(seeds.size()) * count);
}

TEST_CASE("the random cases come to every end, and leave steps for every reason", "[random]") {
  std::vector<std::pair<std::string, int>> found;
  for (const char* const what : {
         "next end exhausted, ", "next end aborted, ", "next end deadline, ", "next end defect, ", "next retry in ",
             "next step, classified", "next step, not_retryable", "next step, attempts_spent",
             "next step, schedule_ended", "next step, wait_too_long", "next step, out_of_time",
             "next step, gate_closed", ": declined opens", ": gate_closed opens", ": out_of_time opens", ": error 503",
             ": timeout 503", ": rejected -", ": defect -", "verdict next_guarded", "verdict abort!", " wait until ",
             " enter_when of step 4", " has 0ms", "try 4", "end exhausted, partial_output", "end deadline, out_of_time",
             " commits ", " consumer has ", "has 5ms, delivered 2", "throws sink", "throws deadline nesting timeout",
#if PLANB_HAS_STOP_TOKEN
             "next end interrupted, ", ": interrupted 503", ": interrupted -"
#endif
       }) {
    found.emplace_back(what, 0);
  }
  for (const int seed : fixed_seeds) {
    for (int number = 0; number != usual_count; ++number) {
      const Case c = make_case(seed, number);
      for (const model::Form form : {model::Form::call, model::Form::push}) {
        const Case played = form == model::Form::call ? c : model::as_stream(c, form);
        Expected expected = model::Model(played, Shape::returning).run();
        expected.lines.push_back(expected.outcome);
        for (const std::string& line : expected.lines) {
          for (auto& [what, times] : found) {
            if (line.find(what) != std::string::npos) ++times;
          }
        }
      }
    }
  }
  for (const auto& [what, times] : found) {
    INFO(what);
    CHECK(times >= 5);
  }
}

TEST_CASE("a case is made as small as it can be", "[random]") {
  const auto times_out = [](const Case& c) {
    for (const std::string& line : model::Model(c, Shape::returning).run().lines) {
      if (line.find(": timeout ") != std::string::npos) return true;
    }
    return false;
  };
  int number = 0;
  while (!times_out(make_case(1, number)) || make_case(1, number).steps.size() < 3) ++number;
  const Case small = model::shrink(make_case(1, number), times_out);
  CHECK(times_out(small));
  CHECK(small.steps.size() == 1);
  CHECK(small.script.size() == 1);
  CHECK(small.steps[0].timeout.has_value() != small.budget.has_value());
  CHECK_FALSE(small.steps[0].retry_while.has_value());
  CHECK(small.steps[0].classify.empty());
}
