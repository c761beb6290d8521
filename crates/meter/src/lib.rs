//! meter.
