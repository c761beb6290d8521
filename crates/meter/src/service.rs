//! Which of the two metered services a request belongs to.
//!
//! Allowances of the two never mix (decision B3): every counter, lock and usage row carries one
//! of these.

use std::fmt;

/// A metered service of the house.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// The JSON-RPC gateway.
    Gateway,
    /// The explorer.
    Explorer,
}

impl Service {
    /// Both services, the gateway first.
    pub const ALL: [Service; 2] = [Service::Gateway, Service::Explorer];

    /// The name in files, rows and answers: `gateway` or `explorer`.
    pub fn as_str(self) -> &'static str {
        match self {
            Service::Gateway => "gateway",
            Service::Explorer => "explorer",
        }
    }

    /// The service of a name that [`Service::as_str`] gave.
    pub(crate) fn from_name(name: &str) -> Option<Service> {
        Service::ALL.into_iter().find(|service| service.as_str() == name)
    }

    /// Place in a pair of values, one a service: 0 or 1.
    pub(crate) fn place(self) -> usize {
        match self {
            Service::Gateway => 0,
            Service::Explorer => 1,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
