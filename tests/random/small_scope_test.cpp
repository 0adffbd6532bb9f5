// All plans of up to three steps over a small alphabet, with all that their attempts may come to: every driver does
// what the model says.
//   PLANB_SMALL_SCOPE_EVERY=n  every nth plan of three steps, n being no multiple of 2 or 3; 1: all of them
//   PLANB_SMALL_SCOPE_FROM=n   the first of these
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>
#include <string>

#include "cases.hpp"
#include "catch.hpp"
#include "drivers.hpp"
#include "model.hpp"
#include "small_scope.hpp"

namespace {

using namespace scene;
using model::small_scope::Fails;

constexpr std::size_t longest_script = 4;
constexpr int usual_share = 9973;

int number_from(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

// What was looked at.
struct Looked {
  long long plans = 0;
  long long cases = 0;
  long long runs = 0;
  std::set<planb::RunEnd> ends;
  std::set<int> attempts;
  std::set<std::string> letters;  // with their places
};

void note_letters(const Case& c, std::set<std::string>& letters) {
  for (std::size_t i = 0; i != c.steps.size(); ++i) {
    const model::Step& step = c.steps[i];
    const std::string at = std::to_string(i) + " of " + std::to_string(c.steps.size()) + ": ";
    letters.insert(at + "attempts " + std::to_string(step.attempts.value_or(0)));
    letters.insert(at + (step.waits == model::Waits::none ? "no schedule" : "schedule"));
    letters.insert(at + (!step.retry_while ? "yes" : step.retry_while->statuses.empty() ? "no" : "by status"));
    letters.insert(at + (step.enter_when ? "guard" : "no guard"));
    const bool gate = step.gate >= 0;
    const bool closed = gate && !c.gates[static_cast<std::size_t>(step.gate)].closed.empty();
    letters.insert(at + (closed ? "closed gate" : gate ? "open gate" : "no gate"));
  }
}

// What a driver makes of a case, where it can play it.
std::optional<Case> played(const Case& c, Driver driver) {
  if (!has_options(driver)) {
    const Case as = model::small_scope::without_time(c);
    return model::timeless(as) ? std::optional(as) : std::nullopt;
  }
  if (driver == Driver::retry && c.steps.size() != 1) return std::nullopt;  // the same as of its first step alone
  return played_by(driver, c);
}

// Looks at a case, as a call or as a stream; the number of its attempts, behind which a script says nothing.
int look_at(const Case& c, bool streams, Looked& looked) {
  const Case as = streams ? model::as_stream(c, Form::push) : c;
  const model::Expected expected = model::Model(as, Shape::returning).run();
  looked.ends.insert(expected.end);
  const auto starts = [](const std::string& line) { return line.find(" start #") != std::string::npos; };
  const auto attempts = static_cast<int>(std::count_if(expected.lines.begin(), expected.lines.end(), starts));
  looked.attempts.insert(attempts);
  // Without partial output there is no policy for it.
  const auto has_output = [](const model::Call& call) { return !call.elements.empty(); };
  if (c.stream.partial != planb::PartialStream::allow && std::none_of(c.script.begin(), c.script.end(), has_output)) {
    return attempts;
  }
  ++looked.cases;
  for (const Driver driver : drivers) {
    const auto differs = [&](const Case& x) {
      const std::optional<Case> by = played(x, driver);
      return by && !difference(*by, driver).empty();
    };
    const std::optional<Case> by = played(c, driver);
    if (!by || (by->form != Form::call) != streams) continue;
    ++looked.runs;
    if (difference(*by, driver).empty()) continue;
    const Case small = *played(model::shrink(c, differs), driver);
    FAIL(driver_names[static_cast<int>(driver)] << "\n" << model::describe(small) << difference(small, driver));
  }
  return attempts;
}

void look_at_plan(int number, Looked& looked) {
  ++looked.plans;
  Case c = model::small_scope::plan(number);
  note_letters(c, looked.letters);
  for (const bool limited : {false, true}) {
    if (limited) c.budget = model::small_scope::budget;
    model::small_scope::for_each_script(c, longest_script, {Fails::passingly, Fails::lastingly},
                                        [&](const Case& with) { return look_at(with, false, looked); });
    for (const auto partial :
         {planb::PartialStream::allow, planb::PartialStream::prevent_retry, planb::PartialStream::prevent_fallback}) {
      c.stream.partial = partial;
      model::small_scope::for_each_script(c, longest_script, {Fails::passingly, Fails::lastingly, Fails::half},
                                          [&](const Case& with) { return look_at(with, true, looked); });
    }
    c.stream.partial = planb::PartialStream::allow;
  }
}

}  // namespace

TEST_CASE("every small plan with every small script does what the model says", "[random]") {
  using model::small_scope::plans_up_to;
  const planb::CurrentMetadata::Scope outside({77, 7});
  const int every = (std::max)(number_from("PLANB_SMALL_SCOPE_EVERY", usual_share), 1);
  Looked looked;
  for (int number = 0; number < plans_up_to(1); ++number) look_at_plan(number, looked);
  const int every_pair = (std::max)(every / 50, 1);
  for (int number = plans_up_to(1); number < plans_up_to(2); number += every_pair) look_at_plan(number, looked);
  const int first = number_from("PLANB_SMALL_SCOPE_FROM", 0);
  for (int number = plans_up_to(2) + first; number < plans_up_to(3); number += every) look_at_plan(number, looked);
  std::cout << looked.plans << " plans, " << looked.cases << " cases, " << looked.runs << " runs\n";
  if (every > usual_share) return;  // too few for what follows
  // One place in a plan of one step, two in one of two, and three: with 12 letters each.
  CHECK(looked.letters.size() == (1 + 2 + 3) * 12);
  CHECK(looked.ends ==
        std::set<planb::RunEnd>{planb::RunEnd::succeeded, planb::RunEnd::exhausted, planb::RunEnd::deadline});
  CHECK(looked.attempts.size() == longest_script + 2);  // none, and an answer behind the longest
}
