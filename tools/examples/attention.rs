// Attention from Rust, as attention.c does it in C: no crates, the two C libraries by `extern "C"`.
//
//     rustc attention.rs && ./attention
//
// Only the fields up to `mask` are declared: struct_size tells the library where the struct ends.

use std::ffi::{c_void, CStr};
use std::os::raw::{c_char, c_int};
use std::ptr;

#[repr(C)]
#[derive(Clone, Copy)]
struct Tensor {
    data: *mut c_void,
    size: [i64; 4],   // batch, head, row, channel
    stride: [i64; 4], // in elements
    dtype: i32,
}

#[repr(C)]
struct FwdParams {
    struct_size: usize,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: *mut f32,
    scale: f32,
    mask: i32,
}

const F16: i32 = 2;
const CAUSAL_TOP_LEFT: i32 = 1;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;

#[link(name = "aothip")]
extern "C" {
    fn aothip_open(directory: *const c_char, context: *mut *mut c_void) -> c_int;
    fn aothip_close(context: *mut c_void);
    fn aothip_attn_fwd(context: *mut c_void, params: *const FwdParams, stream: *mut c_void) -> c_int;
    fn aothip_last_error() -> *const c_char;
}

#[link(name = "amdhip64")]
extern "C" {
    fn hipMalloc(memory: *mut *mut c_void, bytes: usize) -> c_int;
    fn hipFree(memory: *mut c_void) -> c_int;
    fn hipMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int;
}

const BATCH: usize = 1;
const HEADS: usize = 2;
const ROWS: usize = 5;
const DIM: usize = 64;
const ELEMENTS: usize = BATCH * HEADS * ROWS * DIM;

/// Device memory that holds one tensor.
struct Buffer(*mut c_void);

impl Buffer {
    fn new(values: &[u16; ELEMENTS]) -> Result<Buffer, String> {
        let mut memory = ptr::null_mut();
        let bytes = std::mem::size_of_val(values);
        let copied = unsafe {
            match hipMalloc(&mut memory, bytes) {
                0 => hipMemcpy(memory, values.as_ptr().cast(), bytes, HOST_TO_DEVICE),
                error => error,
            }
        };
        if copied == 0 { Ok(Buffer(memory)) } else { Err(format!("HIP error {copied}")) }
    }

    fn read(&self) -> Result<[u16; ELEMENTS], String> {
        let mut values = [0u16; ELEMENTS];
        let bytes = std::mem::size_of_val(&values);
        match unsafe { hipMemcpy(values.as_mut_ptr().cast(), self.0, bytes, DEVICE_TO_HOST) } {
            0 => Ok(values),
            error => Err(format!("hipMemcpy: HIP error {error}")),
        }
    }

    fn tensor(&self) -> Tensor {
        let (h, r, d) = (HEADS as i64, ROWS as i64, DIM as i64);
        Tensor {
            data: self.0,
            size: [BATCH as i64, h, r, d],
            stride: [h * r * d, r * d, d, 1],
            dtype: F16,
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        unsafe { hipFree(self.0) };
    }
}

fn check(status: c_int, what: &str) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(aothip_last_error()) };
    Err(format!("{what}: {}", text.to_string_lossy()))
}

fn attention() -> Result<[u16; ELEMENTS], String> {
    // q = 0: every visible key has the same weight. Row n of v is n, in half precision.
    let numbers: [u16; ROWS] = [0x0000, 0x3c00, 0x4000, 0x4200, 0x4400];
    let mut rows = [0u16; ELEMENTS];
    for (i, value) in rows.iter_mut().enumerate() {
        *value = numbers[i / DIM % ROWS];
    }
    let zero = [0u16; ELEMENTS];
    let (q, k, v, o) =
        (Buffer::new(&zero)?, Buffer::new(&zero)?, Buffer::new(&rows)?, Buffer::new(&zero)?);
    let params = FwdParams {
        struct_size: std::mem::size_of::<FwdParams>(),
        q: q.tensor(),
        k: k.tensor(),
        v: v.tensor(),
        o: o.tensor(),
        lse: ptr::null_mut(),
        scale: 0.125,
        mask: CAUSAL_TOP_LEFT,
    };
    let mut context = ptr::null_mut();
    check(unsafe { aothip_open(ptr::null(), &mut context) }, "aothip_open")?;
    let status = unsafe { aothip_attn_fwd(context, &params, ptr::null_mut()) };
    let result = check(status, "aothip_attn_fwd").and_then(|_| o.read());
    unsafe { aothip_close(context) };
    result
}

fn main() {
    match attention() {
        // Row m is the mean of 0 .. m: 0, 0.5, 1, 1.5, 2.
        Ok(values) => (0..ROWS).for_each(|m| println!("row {m}: 0x{:04x}", values[m * DIM])),
        Err(why) => {
            eprintln!("{why}");
            std::process::exit(1);
        }
    }
}
