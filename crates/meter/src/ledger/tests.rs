//! B13: rows on their way from the file to the store.
