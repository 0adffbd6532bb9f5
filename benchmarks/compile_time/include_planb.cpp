#include <planb/run.hpp>
