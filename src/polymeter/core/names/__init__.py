"""Names of benchmarks, systems, registered objects and installed packages, none of them imported early."""
