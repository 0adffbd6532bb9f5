// The main of Catch2 2, compiled here where the one that is installed does not link.
#define CATCH_CONFIG_MAIN
#include "catch.hpp"
