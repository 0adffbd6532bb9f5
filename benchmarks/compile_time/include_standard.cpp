// What planb/run.hpp cannot do without.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>
