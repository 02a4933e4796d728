//! `onehop schema`: the GraphQL schema in SDL.

use clap::Args;

use super::Exit;

/// Prints the schema in SDL, as the file `schema.graphql` holds it.
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    pub fn run(self) -> anyhow::Result<Exit> {
        let Self {} = self;
        print!("{}", crate::graphql::sdl());
        Ok(Exit::Success)
    }
}
