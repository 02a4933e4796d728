//! Build script: compiles the crate again when the pages that a release binary embeds have changed.
//!
//! A binary of another profile reads `web/dist` when it runs, so neither its build nor clippy needs the
//! pages.

use std::{env, fs, io, path::Path};

const WEB_BUILD: &str = "../../web/dist";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        watch_pages()?;
    }
    Ok(())
}

/// Cargo watches a directory that exists.
fn watch_pages() -> io::Result<()> {
    println!("cargo:rerun-if-changed={WEB_BUILD}");
    if !Path::new(WEB_BUILD).join("index.html").exists() {
        println!("cargo:warning=the binary will have no pages: `make web` builds them");
    }
    fs::create_dir_all(WEB_BUILD)
}
