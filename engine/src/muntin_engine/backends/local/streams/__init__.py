"""Streams in this process, micro-batch by micro-batch: those of jobs under test."""
