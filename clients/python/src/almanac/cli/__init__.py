"""The command `almanac`."""
