//! `onehop schema`: the GraphQL schemas in SDL.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::model::served_model;
use super::{Exit, output};
use crate::graphql::served::served_sdl;

/// Arguments of `onehop schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Schema to print
    #[arg(value_enum, default_value = "public")]
    schema: Printed,

    /// Model file: the schema of a served model, such as for codegen
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL", conflicts_with = "schema")]
    model: Option<PathBuf>,
}

/// A schema of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Printed {
    /// Schema of the built-in domains, as the file schema.graphql has it
    Public,
    /// Schema of the operations API, as the file operations.graphql has it
    Operations,
}

impl Schema {
    pub fn run(self) -> anyhow::Result<Exit> {
        let sdl = match (&self.model, self.schema) {
            (Some(file), _) => served_sdl(&served_model(file)?.model)?,
            (None, Printed::Public) => crate::graphql::sdl(),
            (None, Printed::Operations) => crate::operations::sdl(),
        };
        output::write(&sdl)?;
        Ok(Exit::Success)
    }
}
