// Random plans, options and providers: every driver does what the model says, event by event.
//   PLANB_RANDOM_SEED=n   one more seed
//   PLANB_RANDOM_CASES=n  cases for each seed
// What differs is told as a case, made as small as it can be.
#include <planb/plan_run.hpp>
#include <planb/run.hpp>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "catch.hpp"
#include "model.hpp"
#include "results.hpp"
#include "scene.hpp"

namespace {

using namespace scene;
using model::Expected;

// --- The drivers -----------------------------------------------------------------------------------------------------

struct Seen {
  Lines lines;
  Lines gates;
  std::optional<Lines> report;
  std::string outcome;
  Duration finished{};
  std::string broken;
};

Lines lines_of(const planb::RunReport& report) {
  Lines out{model::run_line(report.end, report.attempts, report.answered_step, text(report.last_cause()),
                            report.rule_error.has_value())};
  for (const planb::StepReport& s : report.steps) {
    out.push_back(model::step_line(s.index, s.name, s.attempts, text(s.cause), s.skipped, s.left, s.alert,
                                   since_start(s.opens_at), s.opens_in));
  }
  return out;
}

// What was thrown, as the model says it.
std::string outcome_of_error() {
  try {
    throw;
  } catch (const planb::PlanError& e) {
    std::string kind = "PlanError";
    if (dynamic_cast<const planb::PlanExhausted*>(&e) != nullptr) kind = "exhausted";
    if (dynamic_cast<const planb::PlanAborted*>(&e) != nullptr) kind = "aborted";
    if (dynamic_cast<const planb::DeadlineExceeded*>(&e) != nullptr) kind = "deadline";
    if (dynamic_cast<const planb::PlanInterrupted*>(&e) != nullptr) kind = "interrupted";
    if (kind != model::text(e.end())) kind += " as " + model::text(e.end());
    try {
      std::rethrow_if_nested(e);
    } catch (...) {
      kind += " nesting" + outcome_of_error().substr(6);
    }
    return "throws " + kind;
  } catch (const planb::Defect&) {
    return "throws Defect";
  } catch (const RuleError&) {
    return "throws rule";
  } catch (const planb::RejectedValue&) {
    return "throws value";
  } catch (const ProviderError& e) {
    return "throws " + std::to_string(e.status);
  } catch (const Fault& e) {
    return "throws " + std::to_string(e.status);
  } catch (int) {
    return "throws -";
  }
}

enum class Driver { run, run_returning, try_run, by_hand, retry, run_without_options, try_without_options };
constexpr const char* driver_names[] = {"run_with_plan, errors thrown",
                                        "run_with_plan, errors returned",
                                        "try_run_with_plan",
                                        "PlanRun by hand",
                                        "retry",
                                        "run_with_plan without options",
                                        "try_run_with_plan without options"};

Shape shape_of(Driver driver) {
  const bool throwing = driver == Driver::run || driver == Driver::retry || driver == Driver::run_without_options;
  return throwing ? Shape::throwing : Shape::returning;
}

bool has_options(Driver driver) {
  return driver != Driver::run_without_options && driver != Driver::try_without_options;
}

void by_hand(Scene& scene, const planb::ExecutionPlan<Client>& plan, Seen& seen) {
  const planb::RunOptions options = scene.options();
  planb::PlanRun<Client> run(plan, options);
  for (;;) {
    const planb::RunPhase phase = run.next();
    if (phase == planb::RunPhase::over) break;
    if (phase == planb::RunPhase::wait) {
      scene.clock.sleep_until(run.due(), options.stop);
      continue;
    }
    planb::ContextSlot<Client> context;
    if (!run.provide(context)) continue;
    std::optional<Cause> failure;
    {
      const planb::CurrentMetadata::Scope scope(run.metadata());
      try {
        results::Outcome<int, Fault> result = scene.use(*context, run.attempt());
        if (!result.has_value()) failure = Cause::of(result.error());
      } catch (...) {
        failure = Cause::current();
      }
    }
    context.reset();
    if (failure) {
      run.fail(*std::move(failure));
    } else {
      run.succeed();
    }
  }
  seen.report = lines_of(run.report());
  seen.outcome = model::text(run.end());
}

template <class Throwing, class Returning, class Alone>
void drive(Scene& scene, const planb::ExecutionPlan<Client>& plan, Driver driver, Seen& seen, const Throwing& throwing,
           const Returning& returning, const Alone& alone) {
  const auto value = [&](int v) { seen.outcome = "gives " + std::to_string(v); };
  const auto result = [&](const planb::PlanResult<int>& r) {
    seen.report = lines_of(r.report());
    value(r.value());
  };
  switch (driver) {
    case Driver::run: value(planb::run_with_plan(plan, throwing, scene.options())); break;
    case Driver::run_without_options: value(planb::run_with_plan(plan, throwing)); break;
    case Driver::run_returning: {
      results::Outcome<int, Fault> r = planb::run_with_plan(plan, returning, scene.options());
      if (r.has_value()) {
        value(*r);
      } else {
        seen.outcome = "returns " + std::to_string(r.error().status);
      }
      break;
    }
    case Driver::try_run: result(planb::try_run_with_plan(plan, returning, scene.options())); break;
    case Driver::try_without_options: result(planb::try_run_with_plan(plan, returning)); break;
    case Driver::retry: {
      const planb::Step<Client>& step = plan.steps().front();
      planb::RunOptions options = scene.options();
      if (!options.failure) options.failure = planb::FailureStyle::aggregate;
      value(planb::retry({.attempts = step.attempts,
                          .schedule = step.schedule,
                          .retry_while = step.retry_while,
                          .classify = step.classify,
                          .max_wait = step.max_wait,
                          .timeout = step.timeout,
                          .gate = step.gate},
                         alone, options));
      break;
    }
    case Driver::by_hand: break;
  }
}

Seen play(const Case& c, Driver driver) {
  Seen seen;
  Scene scene(c, shape_of(driver));
  scene.has_handler = has_options(driver);
  const planb::CurrentMetadata::Scope scope(Scene::outside);
  {
    const planb::ExecutionPlan<Client> plan = scene.plan();
    scene.in_plan = scene.live;
    const auto returning = [&](Client& client, const planb::Attempt& attempt) { return scene.use(client, attempt); };
    const auto throwing = [&](Client& client, const planb::Attempt& attempt) { return *scene.use(client, attempt); };
    const auto alone = [&](const planb::Attempt& attempt) { return *scene.call(attempt); };
    const auto accepts = [&](int value) { return scene.accept(value); };
    try {
      if (driver == Driver::by_hand) {
        by_hand(scene, plan, seen);
      } else if (c.accepting) {
        drive(scene, plan, driver, seen, planb::accepting(throwing, accepts), planb::accepting(returning, accepts),
              planb::accepting(alone, accepts));
      } else {
        drive(scene, plan, driver, seen, throwing, returning, alone);
      }
    } catch (...) {
      seen.outcome = outcome_of_error();
    }
    scene.check_over();
  }
  scene.gates.clear();
  scene.check(scene.live == 0, "contexts built = destroyed");
  seen.lines = std::move(scene.lines);
  seen.gates = std::move(scene.gate_lines);
  seen.finished = scene.clock.now().time_since_epoch();
  seen.broken = scene.broken;
  return seen;
}

// --- The comparison --------------------------------------------------------------------------------------------------

std::string difference(const char* of, const Lines& expected, const Lines& seen) {
  if (expected == seen) return {};
  std::string out = std::string("  ") + of + ":\n";
  const std::size_t length = expected.size() > seen.size() ? expected.size() : seen.size();
  for (std::size_t i = 0; i != length; ++i) {
    const std::string wanted = i < expected.size() ? expected[i] : "nothing";
    const std::string got = i < seen.size() ? seen[i] : "nothing";
    if (wanted == got) {
      out += "    " + wanted + "\n";
    } else {
      out += "    " + wanted + "   <- expected\n    " + got + "   <- seen\n";
    }
  }
  return out;
}

std::string difference(const Case& c, Driver driver) {
  Expected expected = model::Model(c, shape_of(driver)).run();
  Seen seen = play(c, driver);
  std::string out;
  if (!seen.broken.empty()) out += "  this does not hold: " + seen.broken + "\n";
  if (!has_options(driver)) {
    // There is no handler, and the clock is not ours.
    std::erase_if(expected.lines, [](const std::string& line) {
      return line.find(" start #") != line.npos || line.find(" success #") != line.npos ||
             line.find(" failure #") != line.npos || line.find(" skipped step") != line.npos;
    });
    expected.gates = seen.gates;
  }
  const bool as_value = driver == Driver::try_run || driver == Driver::try_without_options;
  if (driver == Driver::by_hand) expected.outcome = model::text(expected.end);
  if (as_value && expected.end != planb::RunEnd::succeeded && expected.end != planb::RunEnd::defect) {
    expected.outcome = expected.plan_error;
  }
  out += difference("what happened", expected.lines, seen.lines);
  out += difference("the gates", expected.gates, seen.gates);
  if (seen.report) out += difference("the report", expected.report, *seen.report);
  out += difference("the outcome", {expected.outcome}, {seen.outcome});
  if (expected.finished != seen.finished) {
    out += "  finished at " + model::text(seen.finished) + ", not at " + model::text(expected.finished) + "\n";
  }
  return out;
}

bool suits(const Case& c, Driver driver) {
  if (driver == Driver::by_hand && c.accepting) return false;  // it asks no check
  return has_options(driver) || (model::timeless(c) && !c.original);
}

int number_from(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

constexpr int fixed_seeds[] = {1, 2, 3, 4, 5};
constexpr int usual_count = 800;

Case make_case(int seed, int number) {
  Case c = model::CaseMaker((static_cast<std::uint64_t>(seed) << 32U) + static_cast<std::uint64_t>(number)).make();
#if !PLANB_HAS_STOP_TOKEN
  c.stop = {};
#endif
  return c;
}

}  // namespace

TEST_CASE("random runs do what the model says", "[random]") {
  const int count = number_from("PLANB_RANDOM_CASES", usual_count);
  std::vector<int> seeds(std::begin(fixed_seeds), std::end(fixed_seeds));
  if (const int seed = number_from("PLANB_RANDOM_SEED", 0); seed != 0) seeds.push_back(seed);
  for (const int seed : seeds) {
    for (int number = 0; number != count; ++number) {
      const Case c = make_case(seed, number);
      for (const Driver driver : {Driver::run, Driver::run_returning, Driver::try_run, Driver::by_hand, Driver::retry,
                                  Driver::run_without_options, Driver::try_without_options}) {
        const auto played = [&](const Case& x) { return driver == Driver::retry ? model::for_retry(x) : x; };
        const auto differs = [&](const Case& x) {
          return suits(played(x), driver) && !difference(played(x), driver).empty();
        };
        if (!differs(c)) continue;
        const Case small = played(model::shrink(c, differs));
        FAIL("PLANB_RANDOM_SEED=" << seed << ", case " << number << ", " << driver_names[static_cast<int>(driver)]
                                  << "\n"
                                  << model::describe(small) << difference(small, driver));
      }
    }
  }
  SUCCEED();
}

TEST_CASE("the random cases come to every end, and leave steps for every reason", "[random]") {
  std::vector<std::pair<std::string, int>> found;
  for (const char* const what : {
         "next end exhausted, ", "next end aborted, ", "next end deadline, ", "next end defect, ", "next retry in ",
             "next step, classified", "next step, not_retryable", "next step, attempts_spent",
             "next step, schedule_ended", "next step, wait_too_long", "next step, out_of_time",
             "next step, gate_closed", ": declined opens", ": gate_closed opens", ": out_of_time opens", ": error 503",
             ": timeout 503", ": rejected -", ": defect -", "verdict next_guarded", "verdict abort!", " wait until ",
             " enter_when of step 4", " has 0ms", "try 4",
#if PLANB_HAS_STOP_TOKEN
             "next end interrupted, ", ": interrupted 503", ": interrupted -"
#endif
       }) {
    found.emplace_back(what, 0);
  }
  for (const int seed : fixed_seeds) {
    for (int number = 0; number != usual_count; ++number) {
      const Case c = make_case(seed, number);
      const Expected expected = model::Model(c, Shape::returning).run();
      for (const std::string& line : expected.lines) {
        for (auto& [what, times] : found) {
          if (line.find(what) != std::string::npos) ++times;
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
