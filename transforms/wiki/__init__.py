"""A wiki: its dump, its titles and redirects, what it says of itself."""
