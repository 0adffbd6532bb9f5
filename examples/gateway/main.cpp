// A gateway in front of model providers: OpenAI's HTTP interface on one side, chains of providers on the other.
//
//   gateway                                         a demonstration with providers of its own
//   gateway --settings FILE [--port N] [--check]    FILE in planb's text form, or JSON where its name ends in .json
//
// SIGHUP reads the file again, SIGTERM and SIGINT end the requests in flight within --grace.
#include "demo.hpp"
#include "server.hpp"

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

namespace asio = boost::asio;

struct Arguments {
  std::string settings;
  unsigned short port = 8080;
  planb::Duration grace = std::chrono::seconds(5);
  bool check = false;
  bool understood = true;
};

Arguments read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--check") {
      arguments.check = true;
    } else if (word == "--settings" && !value.empty()) {
      arguments.settings = argv[++i];
    } else if (word == "--port" && !value.empty() && value.find_first_not_of("0123456789") == std::string::npos &&
               value.size() < 6 && std::stoi(value) < 65536) {
      arguments.port = static_cast<unsigned short>(std::stoi(argv[++i]));
    } else if (const auto grace = planb::parse_duration(value); word == "--grace" && grace) {
      arguments.grace = *grace;
      ++i;
    } else {
      arguments.understood = false;
    }
  }
  if (arguments.settings.empty() && argc > 1) arguments.understood = false;
  return arguments;
}

// Until SIGTERM.
asio::awaitable<void> heed_signals(asio::signal_set& signals, gateway::Server& server, gateway::Chains& chains,
                                   planb::Duration grace) {
  for (;;) {
    const int signal = co_await signals.async_wait(asio::use_awaitable);
    if (signal != SIGHUP) {
      server.log({{"event", "shutdown"}});
      co_return server.shut_down(std::chrono::ceil<std::chrono::milliseconds>(grace));
    }
    const std::string faults = chains.load();
    gateway::json line{{"event", "reload"}, {"ok", faults.empty()}};
    if (!faults.empty()) line["faults"] = faults;
    server.log(line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = read(argc, argv);
  if (!arguments.understood) {
    std::cerr << "gateway [--settings FILE [--port N] [--grace TIME] [--check]]\n";
    return 2;
  }
  if (arguments.settings.empty()) return gateway::demonstrate();

  gateway::Chains chains([&] { return gateway::read_file(arguments.settings); });
  if (const std::string faults = chains.load(); !faults.empty()) {
    std::cerr << faults << '\n';
    return 1;
  }
  if (arguments.check) {
    std::cout << chains.explain();
    return 0;
  }
  try {
    asio::io_context io(1);
    gateway::Server server(io, chains);
    asio::signal_set signals(io, SIGHUP, SIGTERM, SIGINT);
    const unsigned short port = server.listen(arguments.port);
    asio::co_spawn(io, heed_signals(signals, server, chains, arguments.grace), asio::detached);
    server.log({{"event", "listening"}, {"url", "http://127.0.0.1:" + std::to_string(port)}});
    io.run();
  } catch (const std::exception& e) {  // the port is taken, say
    std::cerr << "gateway: " << e.what() << '\n';
    return 1;
  }
  return 0;
}
