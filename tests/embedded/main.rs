//! What the embedded store promises beyond the port: its directory, its durability, and the ends of its process.

mod charges;
mod crash;
mod damage;
mod directory;
mod flushes;
mod group_commit;
mod harness;
