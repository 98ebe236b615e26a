"""The functions and operators that Spark calls on its workers."""
