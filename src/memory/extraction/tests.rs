//! Extraction against a true database and a model on loopback.
