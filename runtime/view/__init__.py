"""Looking at graphs: text, DOT, SVG."""
