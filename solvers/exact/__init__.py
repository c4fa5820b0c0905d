"""Parts of exact search that every problem shares: coordinates, compiled relaxations and matchings, logs and their checker."""
