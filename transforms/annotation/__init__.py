"""The annotation campaign that gives nq and eli5 their evidence in dev and test (KILT, section 3.3)."""
