"""What all floors share: records and their Arrow side, reasons, splits, manifests, errors."""

VERSION = "0.1.0"
