"""What is computed, as pure functions; and, in io, runner and stages, how Beam runs them."""
