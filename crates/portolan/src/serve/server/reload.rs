//! How a running process takes another configuration.
//!
//! Invariant: all that can fail is made ready first, and changes nothing; what is then taken is
//! taken whole.

use std::sync::PoisonError;

use super::super::explorers::Wanted;
use super::super::reserve;
use super::super::services::{Idle, can_serve};
use super::{Explored, Server};
use crate::config::Config;
use crate::failure::Failure;

impl Server {
    /// Takes plans, nodes, limits and TLS files of a new configuration.
    ///
    /// # Errors
    /// Something of it cannot be used; everything is as it was.
    pub(crate) async fn reload(&mut self, config: Config) -> Result<(), Failure> {
        let idle = can_serve(&config, &self.services)?;
        let renewed = self.certificates.renewed()?;
        let prepared = self.chains().prepare(&config)?;
        let wanted = Wanted::of(&prepared);
        if let Some(explored) = &self.explored {
            tokio::task::block_in_place(|| explored.indexes.check(&wanted))?;
        }
        // From here on nothing can fail.
        idle.iter().for_each(Idle::tell);
        renewed.into_iter().for_each(listen::Renewed::put);
        self.meter.set_plans(config.plans());
        let services = self.chains().take(prepared);
        if let Some(gateway) = &self.gateway {
            gateway.reload(services, config.gateway.settings());
        }
        if let Some(explored) = &mut self.explored {
            explored.indexes.want(wanted).await;
            // Whoever still reads an index that has ended lets go of it.
            explored.show(&config);
            explored.indexes.open_missing().await;
            explored.show(&config);
        }
        for field in self.started.needs_restart(&config) {
            tracing::warn!("{field} is other than at the start; that takes a restart");
        }
        self.config = config;
        Ok(())
    }

    /// Does what could not be done before, where it may go by now: opens indexes, keeps room on the
    /// store's disk.
    pub(crate) async fn try_again(&mut self) {
        tokio::task::block_in_place(|| reserve::make(&self.started.store.dir));
        if let Some(explored) = &mut self.explored
            && explored.indexes.open_missing().await
        {
            explored.show(&self.config);
        }
    }
}

impl Explored {
    /// Shows the indexes as they are now to the explorer and to the control socket.
    pub(super) fn show(&self, config: &Config) {
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = self.indexes.indexes();
        self.explorer.reload(self.indexes.services(), config.explorer.settings());
    }
}
