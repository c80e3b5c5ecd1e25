"""What the paper says, held to what it prints and to what was run: claims, their checks, one verdict."""
