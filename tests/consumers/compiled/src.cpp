#include <planb/src.hpp>
