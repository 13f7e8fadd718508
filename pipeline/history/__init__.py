"""Runs over time: numbers of each run, series, verdicts, and what a change is made of."""
