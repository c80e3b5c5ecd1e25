"""What is run: the tables of the paper, and questions of our own. Data, no logic."""
