// Every way to run a case, and what each run is seen to do.
#pragma once

#include <planb/coro.hpp>
#include <planb/drive/committing.hpp>
#include <planb/engine/plan_run.hpp>
#include <planb/error/accepting.hpp>
#include <planb/run.hpp>
#include <planb/stream.hpp>

#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "by_hand.hpp"
#include "cases.hpp"
#include "model.hpp"
#include "next_range.hpp"
#include "results.hpp"
#include "scene.hpp"

namespace scene {

using model::Form;

struct Seen {
  Lines lines;
  Lines gates;
  std::optional<Lines> report;
  std::string outcome;
  Duration finished{};
  std::string broken;
};

inline Lines lines_of(const planb::RunReport& report) {
  Lines out{model::run_line(report.end, report.attempts, report.answered_step, text(report.last_cause()),
                            report.delivered, report.rule_error.has_value())};
  for (const planb::StepReport& s : report.steps) {
    out.push_back(model::step_line(s.index, s.name, s.attempts, text(s.cause), s.skipped, s.left, s.alert,
                                   since_start(s.opens_at), s.opens_in));
  }
  return out;
}

// What was thrown, as the model says it.
inline std::string outcome_of_error() {
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
  } catch (const planb::AttemptTimeout&) {
    return "throws timeout";
  } catch (const ConsumerError&) {
    return "throws sink";
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

enum class Driver {
  run,
  run_returning,
  try_run,
  by_hand,
  retry,
  run_without_options,
  try_without_options,
  pull,
  push,
  push_void,
  co_push,
  co_push_void
};
constexpr const char* driver_names[] = {"run_with_plan, errors thrown",
                                        "run_with_plan, errors returned",
                                        "try_run_with_plan",
                                        "PlanRun by hand",
                                        "retry",
                                        "run_with_plan without options",
                                        "try_run_with_plan without options",
                                        "a pulled stream",
                                        "a pushed stream",
                                        "a pushed stream, errors as elements",
                                        "a stream pushed in a coroutine",
                                        "a stream pushed in a coroutine, errors as elements"};
constexpr Driver drivers[] = {Driver::run,
                              Driver::run_returning,
                              Driver::try_run,
                              Driver::by_hand,
                              Driver::retry,
                              Driver::run_without_options,
                              Driver::try_without_options,
                              Driver::pull,
                              Driver::push,
                              Driver::push_void,
                              Driver::co_push,
                              Driver::co_push_void};

inline Shape shape_of(Driver driver) {
  const bool throwing = driver == Driver::run || driver == Driver::retry || driver == Driver::run_without_options;
  return throwing ? Shape::throwing : Shape::returning;
}

inline bool has_options(Driver driver) {
  return driver != Driver::run_without_options && driver != Driver::try_without_options;
}

inline bool suits(const Case& c, Driver driver) {
  if (driver == Driver::by_hand && c.accepting) return false;  // it asks no check
  return has_options(driver) || (model::timeless(c) && !c.original);
}

// What a driver makes of a case.
inline Case played_by(Driver driver, const Case& c) {
  switch (driver) {
    case Driver::by_hand: {
      Case played = c;
      played.by_hand = true;
      return played;
    }
    case Driver::retry: return model::for_retry(c);
    case Driver::pull: return model::as_stream(c, Form::pull);
    case Driver::push:
    case Driver::co_push: return model::as_stream(c, Form::push);
    case Driver::push_void:
    case Driver::co_push_void: return model::as_stream(c, Form::push_void);
    default: return c;
  }
}

inline void by_hand(Scene& scene, const planb::ExecutionPlan<Client>& plan, Seen& seen) {
  const planb::RunOptions options = scene.options();
  planb::PlanRun<Client> run(plan, options);
  run_by_hand(run, options, [&](const Client& client, const planb::Attempt& attempt) {
    Outcome outcome = scene.use(client, attempt);
    return outcome.has_value() ? std::nullopt : std::optional(Cause::of(outcome.error()));
  });
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
      Outcome r = planb::run_with_plan(plan, returning, scene.options());
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
    default: break;
  }
}

// Gives the elements of an attempt, until the consumer wants no more; then, what the attempt comes to.
template <class Emit>
Outcome produce(Scene& scene, const Client& client, const planb::Attempt& attempt, const Emit& emit) {
  scene.look_at(client);
  scene.open(attempt);
  for (int given = 0;; ++given) {
    const std::optional<int> element = scene.next_element(attempt, given);
    if (!element) return scene.outcome_of_call(attempt);
    if (!emit(*element)) return attempt.attempt;
  }
}

template <class Emit>
planb::Task<Outcome> co_produce(Scene& scene, const Client& client, planb::Attempt attempt, const Emit& emit) {
  scene.look_at(client);
  scene.open(attempt);
  for (int given = 0;; ++given) {
    const std::optional<int> element = scene.next_element(attempt, given);
    if (!element) co_return scene.outcome_of_call(attempt);
    const bool wanted = co_await emit(*element);
    if (!wanted) co_return attempt.attempt;
  }
}

template <class Plan, class Source>
void pull(Scene& scene, const Plan& plan, const Source& source, Seen& seen) {
  auto stream = planb::stream_with_plan(plan, source, scene.options<planb::StreamOptions>());
  bool to_the_end = true;
  for (Outcome& element : stream) {
    scene.check(planb::CurrentMetadata::get() == scene.outside, "a consumer's metadata is its own");
    to_the_end = scene.consume(*element);
    if (!to_the_end) break;
  }
  seen.outcome = "ends";
  if (to_the_end) seen.report = lines_of(stream.report());
}

// Runs it with the source or producer as it is, or as one that has a say in what is output.
template <class Source, class Run>
void with_prelude(Scene& scene, const Source& source, const Run& run) {
  if (!scene.what.stream.prelude) return run(source);
  const auto commits = [&scene](auto element) {
    if constexpr (std::is_same_v<decltype(element), int>) {
      return scene.is_output(element);
    } else {
      return scene.is_output(*element);
    }
  };
  run(planb::committing(source, commits, static_cast<std::size_t>(scene.what.stream.prelude_limit)));
}

inline void stream(Scene& scene, const planb::ExecutionPlan<Client>& plan, Seen& seen) {
  const auto options = scene.options<planb::StreamOptions>();
  switch (scene.what.form) {
    case Form::call: break;
    case Form::pull: {
      const auto source = [&scene](Client& client, const planb::Attempt& attempt) {
        scene.look_at(client);
        scene.open(attempt);
        return NextRange([&scene, attempt, given = 0]() mutable -> std::optional<Outcome> {
          if (const std::optional<int> element = scene.next_element(attempt, given)) return ++given, Outcome(*element);
          Outcome outcome = scene.outcome_of_call(attempt);
          if (outcome.has_value()) return std::nullopt;
          return outcome;
        });
      };
      return with_prelude(scene, source, [&](const auto& with) { pull(scene, plan, with, seen); });
    }
    case Form::push: {
      const auto producer = [&scene](Client& client, const auto& emit, const planb::Attempt& attempt) {
        return produce(scene, client, attempt, emit);
      };
      const auto sink = [&scene](int element) { return scene.consume(element); };
      return with_prelude(scene, producer, [&](const auto& with) {
        Outcome outcome = planb::push_with_plan(plan, with, sink, options);
        seen.outcome = outcome.has_value() ? "gives " + std::to_string(*outcome)
                                           : "returns " + std::to_string(outcome.error().status);
      });
    }
    case Form::push_void: {
      const auto producer = [&scene](Client& client, const auto& emit, const planb::Attempt& attempt) {
        const Outcome outcome =
            produce(scene, client, attempt, [&emit](int element) { return emit(Outcome(element)); });
        if (!outcome.has_value()) emit(outcome);
      };
      const auto sink = [&scene](Outcome element) { return scene.consume(*element); };
      return with_prelude(scene, producer, [&](const auto& with) {
        planb::push_with_plan(plan, with, sink, options);
        seen.outcome = "ends";
      });
    }
  }
}

inline void co_stream(Scene& scene, const planb::ExecutionPlan<Client>& plan, Seen& seen) {
  const auto options = scene.options<planb::StreamOptions>();
  const auto sleep = [&scene](Duration time, planb::StopToken stop) -> planb::Task<> {
    planb::Clock& clock = scene.clock;
    clock.sleep_until(clock.now() + time, std::move(stop));
    co_return;
  };
  if (scene.what.form == Form::push) {
    const auto producer = [&scene](Client& client, const auto& emit, const planb::Attempt& attempt) {
      return co_produce(scene, client, attempt, emit);
    };
    const auto sink = [&scene](int element) -> planb::Task<bool> { co_return scene.consume(element); };
    return with_prelude(scene, producer, [&](const auto& with) {
      Outcome outcome =
          planb::sync_wait(planb::co_push_with_plan<planb::Task<Outcome>>(plan, with, sink, sleep, options));
      seen.outcome = outcome.has_value() ? "gives " + std::to_string(*outcome)
                                         : "returns " + std::to_string(outcome.error().status);
    });
  }
  const auto producer = [&scene](Client& client, const auto& emit, planb::Attempt attempt) -> planb::Task<> {
    const auto as_outcome = [&emit](int element) { return emit(Outcome(element)); };
    Outcome outcome = co_await co_produce(scene, client, attempt, as_outcome);
    if (!outcome.has_value()) co_await emit(std::move(outcome));
  };
  const auto sink = [&scene](Outcome element) { return scene.consume(*element); };
  with_prelude(scene, producer, [&](const auto& with) {
    planb::sync_wait(planb::co_push_with_plan<planb::Task<>>(plan, with, sink, sleep, options));
    seen.outcome = "ends";
  });
}

inline std::string difference(const Case& c, Driver driver);

// `c` is what the driver makes of a case.
inline Seen play(const Case& c, Driver driver, model::Draws& draws) {
  Seen seen;
  Scene scene(c, shape_of(driver), draws);
  scene.has_handler = has_options(driver);
  scene.run_nested = [driver](const Case& nested) {
    // Another driver's turn, and not one that has to have a plan of one step.
    static constexpr Driver turns[] = {Driver::try_run, Driver::pull, Driver::push, Driver::run, Driver::co_push};
    const Driver within = turns[static_cast<std::size_t>(driver) % std::size(turns)];
    return difference(played_by(within, nested), within);
  };
  {
    const planb::ExecutionPlan<Client> plan = scene.plan();
    scene.in_plan = scene.live;
    const auto returning = [&](Client& client, const planb::Attempt& attempt) { return scene.use(client, attempt); };
    const auto throwing = [&](Client& client, const planb::Attempt& attempt) { return *scene.use(client, attempt); };
    const auto alone = [&](const planb::Attempt& attempt) { return *scene.call(attempt); };
    const auto accepts = [&](int value) { return scene.accept(value); };
    try {
      if (driver == Driver::co_push || driver == Driver::co_push_void) {
        co_stream(scene, plan, seen);
      } else if (c.form != Form::call) {
        stream(scene, plan, seen);
      } else if (driver == Driver::by_hand) {
        by_hand(scene, plan, seen);
      } else if (c.accepting) {
        drive(scene, plan, driver, seen, planb::accepting(throwing, accepts), planb::accepting(returning, accepts),
              planb::accepting(alone, accepts));
      } else {
        drive(scene, plan, driver, seen, throwing, returning, alone);
      }
    } catch (const planb::PlanError& e) {
      seen.report = lines_of(e.report());
      seen.outcome = outcome_of_error();
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

inline std::string difference(const char* of, const Lines& expected, const Lines& seen) {
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

// Between the model and what the library does: empty, or told line by line. `c` is what the driver makes of a case.
inline std::string difference(const Case& c, Driver driver) {
  model::Draws draws;
  if (model::jitters(c) && has_options(driver)) static_cast<void>(play(c, driver, draws));
  Seen seen = play(c, driver, draws);
  model::Expected expected = model::Model(c, shape_of(driver), draws).run();
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

}  // namespace scene
