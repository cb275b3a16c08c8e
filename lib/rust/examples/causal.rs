//! Causal attention forward: q and k are ones, row n of v is n, so row m of o is the mean of 0 .. m.

use std::ffi::{c_void, CString};
use std::os::raw::c_int;

use aothip::{Context, Dtype, Forward, Mask, Stream, Tensor};

const SIZE: [i64; 4] = [1, 2, 5, 64]; // batch, heads, rows, channels
const ELEMENTS: usize = 2 * 5 * 64;

/// Device memory that holds one tensor.
struct Buffer {
    memory: *mut c_void,
    copy: extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int,
    free: extern "C" fn(*mut c_void) -> c_int,
}

impl Buffer {
    fn new(context: &Context, host: &[f32; ELEMENTS]) -> Result<Buffer, Box<dyn std::error::Error>> {
        let find = |name: &str| context.hip_function(&CString::new(name).unwrap());
        let (allocate, copy, free) = (find("hipMalloc")?, find("hipMemcpy")?, find("hipFree")?);
        let mut memory = std::ptr::null_mut();
        // SAFETY: these are the signatures of the HIP functions of these names.
        let (allocate, copy, free) = unsafe {
            (
                std::mem::transmute::<_, extern "C" fn(*mut *mut c_void, usize) -> c_int>(
                    allocate.as_ptr(),
                ),
                std::mem::transmute::<
                    _,
                    extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int,
                >(copy.as_ptr()),
                std::mem::transmute::<_, extern "C" fn(*mut c_void) -> c_int>(free.as_ptr()),
            )
        };
        let bytes = std::mem::size_of_val(host);
        if allocate(&mut memory, bytes) != 0 || copy(memory, host.as_ptr().cast(), bytes, 1) != 0 {
            return Err("no device memory".into());
        }
        Ok(Buffer { memory, copy, free })
    }

    fn tensor(&self) -> Tensor<'_> {
        // SAFETY: the memory is of this size; reading o below waits for the GPU.
        unsafe { Tensor::bhsd(self.memory, Dtype::F32, SIZE) }
    }

    fn read(&self) -> [f32; ELEMENTS] {
        let mut host = [0.0; ELEMENTS];
        let bytes = std::mem::size_of_val(&host);
        assert_eq!((self.copy)(host.as_mut_ptr().cast(), self.memory, bytes, 2), 0);
        host
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        (self.free)(self.memory);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::open()?;
    let mut counted = [0.0; ELEMENTS];
    for (i, x) in counted.iter_mut().enumerate() {
        *x = (i / 64 % 5) as f32;
    }
    let q = Buffer::new(&context, &[1.0; ELEMENTS])?;
    let v = Buffer::new(&context, &counted)?;
    let o = Buffer::new(&context, &[0.0; ELEMENTS])?;

    let problem = Forward::new(q.tensor(), q.tensor(), v.tensor(), o.tensor())
        .mask(Mask::CausalTopLeft);
    context.forward(&problem, Stream::NULL)?;

    for (row, values) in o.read().chunks(64).take(5).enumerate() {
        println!("row {row}: {}", values[0]);
    }
    Ok(())
}
