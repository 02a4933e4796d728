//! Lets the crate compile before the web is built, and compiles it again when a build of the web appears.

use std::{fs, io, path::Path};

const WEB_BUILD: &str = "web/dist";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={WEB_BUILD}");
    if !Path::new(WEB_BUILD).exists() {
        fs::create_dir_all(WEB_BUILD)?;
    }
    Ok(())
}
