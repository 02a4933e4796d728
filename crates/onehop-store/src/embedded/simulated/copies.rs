//! Copies of simulated disks: an online backup of an open store, and a copy of a disk that no store has open.

use std::sync::Arc;

use super::disk::SimulatedDisk;
use super::faults::DiskFaults;
use super::key_maps::{KeyMaps, SPACES};
use crate::Fault;
use crate::embedded::backup::counts_in;
use crate::embedded::high_water_mark::HighWaterMark;
use crate::embedded::keys::BEHIND_ALL;
use crate::embedded::store::EmbeddedStore;
use onehop_runtime::planted;

impl EmbeddedStore {
    /// Copies the store to a simulated disk while it is written to, as an online backup does: whole commits
    /// up to one moment, and nothing later. The disk holds nothing else afterwards.
    ///
    /// # Errors
    /// The engine is closed, or something in it cannot be read. The disk is as it was.
    pub async fn copy_to(&self, target: &SimulatedDisk) -> Result<(), Fault> {
        let mut view = self.engine.view()?;
        let numbers = counts_in(&view)?;
        let mut tables = KeyMaps::default();
        for space in SPACES {
            self.engine.interruption("backup: between key spaces").await;
            if planted!("backup-of-several-moments") {
                view = self.engine.view()?;
            }
            for entry in view.range(space, &[], BEHIND_ALL) {
                let (key, value) = entry.pair()?;
                tables.apply(vec![(space, key.to_vec(), Some(value.to_vec()))]);
            }
        }
        let mark = HighWaterMark { numbers, ..self.high_water.made_with() };
        let mark = serde_json::to_vec(&mark).expect("a plain struct with string keys serialises");
        target.fill(tables, mark);
        Ok(())
    }
}

impl SimulatedDisk {
    /// Copies the readable content of the disk to a new disk, as a copy of its files does. `None` while a
    /// store has it open.
    #[must_use]
    pub fn copy(&self, faults: Arc<dyn DiskFaults>) -> Option<Self> {
        let state = self.state();
        let mark = state.unsynced_mark.clone().or_else(|| state.mark.clone());
        let copy = (!state.is_locked).then(|| Self::new(faults))?;
        {
            let mut copied = copy.state();
            copied.tables = state.tables.clone();
            copied.journal = state.journal.iter().map(|record| record.durable()).collect();
            copied.damage = state.damage.clone();
            copied.mark = mark;
        }
        Some(copy)
    }

    fn fill(&self, tables: KeyMaps, mark: Vec<u8>) {
        let mut state = self.state();
        state.tables = tables;
        state.journal.clear();
        state.damage.clear();
        state.mark = Some(mark);
        state.unsynced_mark = None;
        state.note("backup");
    }
}
