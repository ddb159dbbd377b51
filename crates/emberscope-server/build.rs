//! Builds again what embeds the page when the page was built again. It builds no page: `cargo xtask ui` does.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../ui/dist");
}
