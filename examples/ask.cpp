// Sends a prompt to chat completion endpoints through a fallback chain. Without arguments it shows itself at work, with
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

#include <csignal>
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

std::string read_prompt(const ask::Options& options) {
  std::string prompt;
  if (options.prompt && *options.prompt != "-") {
    prompt = *options.prompt;
  } else if (!options.prompt && options.providers.empty()) {
    prompt = "What is a plan B?";
  } else {
#ifndef _WIN32
    if (!options.prompt && isatty(STDIN_FILENO) != 0)
      throw ask::UsageError("no prompt: give --prompt TEXT, or pipe it in");
#endif
    prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
    while (prompt.ends_with('\n') || prompt.ends_with('\r')) prompt.pop_back();
  }
  if (prompt.empty()) throw ask::UsageError("the prompt is empty");
  if (!ask::is_utf8(prompt)) throw ask::UsageError("the prompt is not UTF-8");
  return prompt;
}

int run(const std::vector<std::string>& arguments) {
  ask::Options options = ask::parse_options(arguments);
  if (options.help) {
    std::cout << ask::usage;
    return EXIT_SUCCESS;
  }
  const std::string prompt = read_prompt(options);
  ask::read_keys(options.providers, [](const char* name) { return std::getenv(name); });

  std::optional<ask::DemoProviders> demo;
  if (options.providers.empty()) {
    options.providers = demo.emplace().list();
    for (ask::Provider& provider : options.providers) provider.attempts = options.attempts.value_or(provider.attempts);
  }

  const auto plan = ask::make_plan(options.providers, options.timeout,
                                   [](const ask::Provider& provider) { return ask::ChatClient(provider); });
  planb::RunOptions run_options{.budget = options.budget};
  if (!options.quiet) {
    run_options.on_event = [](const planb::Event& event) { std::cout << planb::to_string(event) << std::endl; };
  }
  const planb::PlanResult<std::string> answer = ask::ask_providers(plan, prompt, run_options);
  if (!answer) throw answer.error();

  if (options.quiet) {
    std::cout << *answer << '\n';
  } else {
    const planb::RunReport& report = answer.report();
    std::cout << '\n'
              << *answer << "\n\nAnswered by " << report.answered_by() << ", attempt " << report.attempts << '\n';
  }
  return EXIT_SUCCESS;
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
