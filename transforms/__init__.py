"""What is computed, floor by floor: pure functions, files, jobs from files to files, and jobs as Beam transforms."""
