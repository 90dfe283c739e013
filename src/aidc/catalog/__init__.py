"""From a key or a path to a carrier with its evidence; the one place that knows stand-ins."""
