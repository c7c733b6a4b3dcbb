"""What measuring needs: instrumented loaders, worker processes, /proc, clocks. Knows no pytest."""
