//! Has the released program stripped.
//!
//! `strip = true` of a profile is ignored by Cargo for a program whose own package has settings in that profile, and
//! this one has its optimisation there.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|set| set == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}
