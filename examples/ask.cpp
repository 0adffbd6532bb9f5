// Sends prompts to chat completion endpoints through a fallback chain. Without arguments it shows itself at work, with
// three providers of its own; `ask --help` tells the rest.
//
//   ask/options.hpp      the command line
//   ask/route.hpp        the chain: the part that is about planb
//   ask/chat_client.hpp  one provider over HTTP
//   ask/sse.hpp          its streamed answers
//   ask/printer.hpp      what is seen on the screen
//   ask/loopback.hpp     the providers of its own
#include "ask/chat_client.hpp"
#include "ask/loopback.hpp"
#include "ask/options.hpp"
#include "ask/printer.hpp"
#include "ask/route.hpp"

#include <planb/planb.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace {

std::vector<std::string> read_prompts(const ask::Options& options) {
  std::vector<std::string> prompts = options.prompts;
  if (prompts.empty() && options.providers.empty()) {
    prompts = {"What is a plan B?"};
  } else if (prompts.empty()) {
#ifndef _WIN32
    if (isatty(STDIN_FILENO) != 0) throw ask::UsageError("no prompt: give --prompt TEXT, or pipe it in");
#endif
    prompts = {"-"};
  }
  for (std::string& prompt : prompts) {
    if (prompt == "-") {
      prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
      while (prompt.ends_with('\n') || prompt.ends_with('\r')) prompt.pop_back();
    }
    if (prompt.empty()) throw ask::UsageError("the prompt is empty");
    if (!ask::is_utf8(prompt)) throw ask::UsageError("the prompt is not UTF-8");
  }
  return prompts;
}

using Plan = planb::ExecutionPlan<ask::ChatClient>;

bool print_answer(const Plan& plan, const std::string& prompt, const ask::Options& options) {
  ask::Printer printer(std::cout, std::cerr, options.quiet);
  const auto told = [&printer](const planb::Event& event) { printer.event(event); };
  const auto answer = ask::ask_providers(plan, prompt, {.on_event = told, .budget = options.budget});
  if (answer) {
    printer.answer(*answer, answer.report().answered_by(), answer.report().attempts);
  } else {
    printer.error(answer.error());
  }
  return answer.has_value();
}

bool print_stream(const Plan& plan, const std::string& prompt, const ask::Options& options) {
  ask::Printer printer(std::cout, std::cerr, options.quiet);
  try {
    const auto [by, attempt] =
        ask::stream_from_providers(plan, prompt, [&printer](const std::string& piece) { return printer.piece(piece); },
                                   {.on_event = [&printer](const planb::Event& event) { printer.event(event); },
                                    .budget = options.budget,
                                    .partial = options.partial.value_or(planb::PartialStream::allow)});
    printer.end_of_pieces(by, attempt);
    return true;
  } catch (const planb::PlanError& error) {
    printer.error(error);
    return false;
  }
}

int run(const std::vector<std::string>& arguments) {
  ask::Options options = ask::parse_options(arguments);
  if (options.help) {
    std::cout << ask::usage;
    return EXIT_SUCCESS;
  }
  const std::vector<std::string> prompts = read_prompts(options);
  ask::read_keys(options.providers, [](const char* name) { return std::getenv(name); });

  std::optional<ask::DemoProviders> demo;
  std::optional<ask::DemoStreams> demo_streams;
  if (options.providers.empty()) {
    options.providers = options.stream ? demo_streams.emplace().list() : demo.emplace().list();
    if (options.stream) options.timeout = options.timeout.value_or(ask::DemoStreams::patience);
    for (ask::Provider& provider : options.providers) provider.attempts = options.attempts.value_or(provider.attempts);
    options.budget = options.budget.value_or(std::chrono::seconds(30));
  }

  const Plan plan =
      ask::make_plan(options.providers, options.timeout.value_or(std::chrono::seconds(30)), options.refusal,
                     [](const ask::Provider& provider) { return ask::ChatClient(provider); });

  int status = EXIT_SUCCESS;
  for (std::size_t i = 0; i != prompts.size(); ++i) {
    if (!options.quiet && prompts.size() > 1) {
      std::cout << (i == 0 ? "" : "\n") << "Prompt " << i + 1 << ": " << ask::one_line(prompts[i], 80) << std::endl;
    }
    const bool answered =
        options.stream ? print_stream(plan, prompts[i], options) : print_answer(plan, prompts[i], options);
    if (!answered) status = EXIT_FAILURE;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef SIGPIPE
  std::signal(SIGPIPE, SIG_IGN);  // a connection that breaks is an error like any other
#endif
  try {
    const int status = run({argv + (argc > 0 ? 1 : 0), argv + argc});
    if (std::cout.flush()) return status;
    std::cerr << "ask: cannot write to standard output\n";
  } catch (const ask::UsageError& e) {
    std::cerr << "ask: " << e.what() << '\n';
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "ask: " << e.what() << '\n';
  }
  return EXIT_FAILURE;
}
