"""The released files of KILT: records in their form, and back."""
