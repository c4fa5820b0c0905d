"""Maximum-margin problems from parts: a loss, a regulariser, a domain, and restrictions."""
