"""Jobs as Beam transforms, and the runner."""
