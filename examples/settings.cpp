// Chains as settings: reads files in planb's text form, JSON, YAML or TOML, and prints the settings in the text form,
// or all that is wrong with them.
//
//   settings examples/settings/chat.yaml
#include <iostream>
#include <string>

#include "settings/load.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cout << "settings FILE...: checks settings, and prints them in the text form\n";
    return 0;
  }
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    const planb::SettingsResult settings = load_settings(argv[i]);
    std::cout << (settings ? to_string(*settings) : settings.error().message() + '\n');
    if (!settings) status = 1;
  }
  return status;
}
