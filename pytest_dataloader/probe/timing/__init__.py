"""How fast a loader is: windows of steady loading, the cost of a sample, and what each stage takes."""
