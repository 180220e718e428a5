"""A strict kvsettle codec, written from spec/*.md alone. Standard library only."""
