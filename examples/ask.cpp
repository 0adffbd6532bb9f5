// Sends prompts to chat completion endpoints through a fallback chain. Without arguments it shows itself at work, with
// three providers of its own; `ask --help` tells the rest.
//
//   ask/options.hpp      the command line
//   ask/route.hpp        the chain: the part that is about planb
//   ask/chat_client.hpp  one provider over HTTP
//   ask/loopback.hpp     the providers of its own
#include "ask/chat_client.hpp"
#include "ask/loopback.hpp"
#include "ask/options.hpp"
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

void print_event(const planb::Event& event, bool quiet) {
  if (!quiet) std::cout << planb::to_string(event) << std::endl;
  const auto* const failure = event.get_if<planb::AttemptFailure>();
  if (failure != nullptr && failure->verdict.alert) std::cerr << ask::alert_line(*failure) << std::endl;
}

void print_answer(const planb::PlanResult<std::string>& answer, bool quiet) {
  if (!answer) {
    std::cerr << "ask: " << answer.error().what() << std::endl;
  } else if (quiet) {
    std::cout << *answer << std::endl;
  } else {
    const planb::RunReport& report = answer.report();
    std::cout << '\n'
              << *answer << "\n\nAnswered by " << report.answered_by() << ", attempt " << report.attempts << std::endl;
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
  if (options.providers.empty()) {
    options.providers = demo.emplace().list();
    for (ask::Provider& provider : options.providers) provider.attempts = options.attempts.value_or(provider.attempts);
    options.budget = options.budget.value_or(std::chrono::seconds(30));
  }

  const auto plan = ask::make_plan(options.providers, options.timeout, options.refusal,
                                   [](const ask::Provider& provider) { return ask::ChatClient(provider); });
  const planb::RunOptions run_options{
      .on_event = [quiet = options.quiet](const planb::Event& event) { print_event(event, quiet); },
      .budget = options.budget};

  int status = EXIT_SUCCESS;
  for (std::size_t i = 0; i != prompts.size(); ++i) {
    if (!options.quiet && prompts.size() > 1) {
      std::cout << (i == 0 ? "" : "\n") << "Prompt " << i + 1 << ": " << ask::one_line(prompts[i], 80) << std::endl;
    }
    const planb::PlanResult<std::string> answer = ask::ask_providers(plan, prompts[i], run_options);
    print_answer(answer, options.quiet);
    if (!answer) status = EXIT_FAILURE;
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
