//! `onehop schema`: the GraphQL schemas in SDL.

use clap::{Args, ValueEnum};

use super::Exit;

/// Arguments of `onehop schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Schema to print
    #[arg(value_enum, default_value = "public")]
    schema: Printed,
}

/// A schema of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Printed {
    /// Schema of the blog, as the file schema.graphql has it
    Public,
    /// Schema of the operations API, as the file operations.graphql has it
    Operations,
}

impl Schema {
    pub fn run(self) -> anyhow::Result<Exit> {
        let sdl = match self.schema {
            Printed::Public => crate::graphql::sdl(),
            Printed::Operations => crate::operations::sdl(),
        };
        print!("{sdl}");
        Ok(Exit::Success)
    }
}
