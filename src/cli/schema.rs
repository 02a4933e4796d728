//! `onehop schema`: the GraphQL schema in SDL.

use clap::Args;

use super::Exit;

/// Arguments of `onehop schema`.
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    pub fn run(self) -> anyhow::Result<Exit> {
        let Self {} = self;
        print!("{}", crate::graphql::sdl());
        Ok(Exit::Success)
    }
}
