"""What public data say: formats, loading, fetching, and statistics of what was loaded."""
