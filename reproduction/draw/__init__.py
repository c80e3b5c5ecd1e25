"""Tables and figures of the book."""
