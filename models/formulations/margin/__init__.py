"""Maximum-margin problems that users compose of a loss, a regulariser, a domain of the coefficients, and restrictions."""
