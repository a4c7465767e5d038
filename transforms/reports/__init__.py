"""Reports: what was built and what was scored, as data, as a table and as a page."""
