//! Build script: the name of the profile, and a function of the C library that the simulation replaces.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The simulation replaces this function of the C library, which libraries look up when they run.
    println!("cargo:rustc-link-arg-tests=-Wl,--export-dynamic-symbol=getrandom");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    println!("cargo:rustc-env=ONEHOP_PROFILE={}", if is_release { "release" } else { "dev" });
}
