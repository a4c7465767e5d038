"""Jobs: work from files to files, without Beam."""
