"""What a record is: the dataclasses (records) and the Arrow side of them (arrow)."""

VERSION = "0.1.0"
