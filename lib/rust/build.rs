// Links libaothip.so: of the directory AOTHIP_LIB_DIR, else of the linker's path.
fn main() {
    println!("cargo:rerun-if-env-changed=AOTHIP_LIB_DIR");
    if let Ok(directory) = std::env::var("AOTHIP_LIB_DIR") {
        println!("cargo:rustc-link-search=native={directory}");
    }
    println!("cargo:rustc-link-lib=dylib=aothip");
}
