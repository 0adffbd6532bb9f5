// The command line.
#pragma once

#include <planb/engine/stream_options.hpp>
#include <planb/error/http_classifier.hpp>
#include <planb/schedule/combinators.hpp>
#include <planb/schedule/jitter.hpp>
#include <planb/schedule/leaves.hpp>
#include <planb/time/clock.hpp>

#include "provider.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ask {

inline constexpr std::string_view usage =
    R"(Sends a prompt to chat completion endpoints, one after the other, until one answers.

  ask [--prompt TEXT ...]       goes through three providers of its own, on this machine
  ask --stream                  goes through four others, three of which fail after half of their answer
  ask --provider name=url[,model=...][,key_env=VAR] ... [--prompt TEXT ...]

  --provider name=url[,...]     an OpenAI-compatible endpoint; repeat it for the next one in the chain.
                                url:          http[s]://host[:port][/path]; /v1/chat/completions is added where missing
                                model=...     the model to ask for
                                key_env=VAR   the environment variable that holds the API key
  --prompt TEXT                 the prompt; - or nothing: read it from standard input; repeat it for the next prompt
  --stream                      print the answer as it comes
  --partial allow|prevent-fallback|prevent-retry
                                where a provider fails after the first piece of its answer: let the next one start
                                afresh, try only the same one again, or give up (allow)
  --timeout 30s                 for one attempt (30s); also 250ms, 1.5m, or a number of seconds;
                                with --stream for each silence: before the first piece, and between two of them
  --attempts N                  for each provider, counting the first (2)
  --budget 2m                   for one prompt, all providers together (no limit; 30s for the program's own providers)
  --refusal next|abort          where a provider refuses what the prompt is about: ask the next one, or give up (next)
  --quiet                       print the answers only, and alerts
  --help

What a failure says decides what is done. Overload, a broken server or connection, and a timeout are tried again, then
left to the next provider; a provider's wait hint is honoured. A bad key, an empty account or an unknown model is left
to the next provider at once, with an alert. A bad request ends it: every provider would refuse it.

A provider that fails N times in a row, or twice where N is 1, is passed over for 30 s, or longer where its wait hint
says so: `ask --prompt one --prompt two` shows it.

Each event is printed as it happens, then the answer and who gave it; alerts and errors go to standard error.
A streamed answer that broke off stays on the screen: a line says so, and who starts afresh.
Ends with 0 after an answer to every prompt, 1 where one got none, 2 where the command line is wrong.
)";

struct Options {
  std::vector<Provider> providers;         // none: the program's own
  std::vector<std::string> prompts;        // none: from standard input, or the program's own
  std::optional<planb::Duration> timeout;  // of one attempt
  std::optional<int> attempts;
  std::optional<planb::Duration> budget;  // of one prompt
  planb::ContentRefusal refusal = planb::ContentRefusal::next_step;
  bool stream = false;
  std::optional<planb::PartialStream> partial;
  bool quiet = false;
  bool help = false;
};

// Reads a time above zero and of at most a day: "30s", "250ms", "1.5m", "2h", or a number of seconds.
[[nodiscard]] inline std::optional<planb::Duration> parse_time(std::string_view text) {
  double number = 0;
  double place = 0;  // 0 before the point
  std::size_t at = 0;
  bool digits = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c >= '0' && c <= '9') {
      digits = true;
      number = place == 0 ? number * 10 + (c - '0') : number + (c - '0') * place;
      place /= 10;
    } else if (c == '.' && place == 0 && digits) {
      place = 0.1;
    } else {
      break;
    }
  }
  const std::string_view unit = text.substr(at);
  const double seconds = unit.empty() || unit == "s"    ? 1
                         : unit == "ms"                 ? 0.001
                         : unit == "m" || unit == "min" ? 60
                         : unit == "h"                  ? 3600
                                                        : 0;
  constexpr double day = 24 * 3600;
  const double total = number * seconds;
  if (!digits || text[at - 1] == '.' || !(total > 0) || total > day) return std::nullopt;
  const auto time = std::chrono::round<planb::Duration>(std::chrono::duration<double>(total));
  return time > planb::Duration::zero() ? std::optional(time) : std::nullopt;
}

namespace detail {

[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

[[nodiscard]] inline bool is_variable_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
                              std::string_view::npos;
}

}  // namespace detail

// Reads what follows --provider. Throws UsageError.
[[nodiscard]] inline Provider parse_provider(std::string_view text) {
  const std::size_t name_end = text.find('=');
  if (name_end == 0 || name_end == std::string_view::npos) {
    throw UsageError("--provider " + in_quotes(text) + ": expected name=url[,model=...][,key_env=VAR]");
  }
  Provider provider;
  provider.name = text.substr(0, name_end);
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--provider " + one_line(provider.name, 80) + ": " + why);
  };

  const std::vector<std::string_view> parts = detail::split(text.substr(name_end + 1), ',');
  try {
    provider.url = parse_url(parts.front());
  } catch (const UsageError& e) {
    refuse(e.what());
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = (std::min)(parts[i].find('='), parts[i].size());
    const std::string_view setting = parts[i].substr(0, equals);
    const std::string_view value = parts[i].substr((std::min)(equals + 1, parts[i].size()));
    // A refused value is not shown: it may be a key in the wrong place.
    if (setting != "model" && setting != "key_env") {
      refuse("unknown setting " + in_quotes(setting) + "; there are model=... and key_env=VAR");
    }
    if (value.empty()) refuse(std::string(setting) + "= is empty");
    if (setting == "model") {
      provider.model = value;
    } else {
      if (!detail::is_variable_name(value)) refuse("key_env takes the name of an environment variable, not a key");
      provider.key_variable = value;
    }
  }
  return provider;
}

// `arguments` are those after the program's name. Throws UsageError. --help is the end of what is read.
[[nodiscard]] inline Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.starts_with("--") ? argument.find('=') : std::string_view::npos;
    const std::string name(argument.substr(0, equals));
    const auto value = [&](const char* example) -> std::string {
      if (equals != std::string_view::npos) return std::string(argument.substr(equals + 1));
      if (++i == arguments.size()) throw UsageError(name + " needs a value, such as " + name + ' ' + example);
      return arguments[i];
    };
    const auto time = [&](const char* example) {
      const std::string text = value(example);
      const std::optional<planb::Duration> read = parse_time(text);
      if (!read)
        throw UsageError(name + ' ' + in_quotes(text) + ": expected a time up to a day, such as 30s, 250ms or 1.5");
      return *read;
    };
    const auto flag = [&] {
      if (equals != std::string_view::npos) throw UsageError(name + " takes no value");
      return true;
    };

    if (name == "--help" || name == "-h") {
      options.help = flag();
      return options;
    } else if (name == "--quiet") {
      options.quiet = flag();
    } else if (name == "--provider") {
      options.providers.push_back(parse_provider(value("local=http://127.0.0.1:8080")));
    } else if (name == "--prompt") {
      options.prompts.push_back(value("\"What is a plan B?\""));
    } else if (name == "--stream") {
      options.stream = flag();
    } else if (name == "--partial") {
      const std::string text = value("allow");
      if (text == "allow") {
        options.partial = planb::PartialStream::allow;
      } else if (text == "prevent-fallback") {
        options.partial = planb::PartialStream::prevent_fallback;
      } else if (text == "prevent-retry") {
        options.partial = planb::PartialStream::prevent_retry;
      } else {
        throw UsageError("--partial " + in_quotes(text) + ": expected allow, prevent-fallback or prevent-retry");
      }
    } else if (name == "--timeout") {
      options.timeout = time("30s");
    } else if (name == "--budget") {
      options.budget = time("2m");
    } else if (name == "--refusal") {
      const std::string text = value("next");
      if (text != "next" && text != "abort") {
        throw UsageError("--refusal " + in_quotes(text) + ": expected next or abort");
      }
      options.refusal = text == "next" ? planb::ContentRefusal::next_step : planb::ContentRefusal::abort;
    } else if (name == "--attempts") {
      const std::string text = value("2");
      options.attempts = detail::read_number(text, 1000);
      if (*options.attempts < 1)
        throw UsageError("--attempts " + in_quotes(text) + ": expected a number from 1 to 1000");
    } else if (argument.starts_with('-') && argument != "-") {
      throw UsageError("unknown option " + in_quotes(name) + "; see ask --help");
    } else {
      throw UsageError("unexpected argument " + in_quotes(argument) + "; a prompt goes after --prompt");
    }
  }
  if (options.partial && !options.stream) throw UsageError("--partial says something of --stream only");
  for (Provider& provider : options.providers) {
    provider.attempts = options.attempts.value_or(2);
    provider.pause = planb::jittered(planb::exponential(std::chrono::milliseconds(250)));
  }
  return options;
}

// Fills in the providers' keys. `lookup` is std::getenv or its like. Throws UsageError.
template <class Lookup>
void read_keys(std::vector<Provider>& providers, Lookup lookup) {
  for (Provider& provider : providers) {
    if (provider.key_variable.empty()) continue;
    const std::string label = one_line(provider.name, 80) + ": the environment variable " + provider.key_variable +
                              ", which should hold its key, ";
    const char* const key = lookup(provider.key_variable.c_str());
    if (key == nullptr) throw UsageError(label + "is not set");
    provider.key = key;
    if (provider.key.empty()) throw UsageError(label + "is empty");
    for (const char c : provider.key) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte <= 0x20U || byte >= 0x7FU)
        throw UsageError(label + "holds a character that no key has, such as a space");
    }
  }
}

}  // namespace ask
