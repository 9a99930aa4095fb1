//! Facts in a true database.
