// The door to what people and their tools look at.
#pragma once

#include <planb/observe/explain.hpp>  // IWYU pragma: export
