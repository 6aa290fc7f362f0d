"""What exists by name: benchmarks, systems, registered objects and installed packages, none of them imported early."""
