//! Forward and backward against attention in double precision, and failures, on the HIP device that
//! there is.

use std::ffi::{c_void, CString, OsStr};
use std::os::raw::c_int;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use aothip::{Backward, Context, Dtype, Forward, Mask, Merge, Scale, Status, Stream, Tensor};

const ROWS: usize = 21;
const DIM: usize = 32;
const ELEMENTS: usize = ROWS * DIM;
const SIZE: [i64; 4] = [1, 1, ROWS as i64, DIM as i64];

type Copy = extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int;
type Allocate = extern "C" fn(*mut *mut c_void, usize) -> c_int;

/// Memory of the device, which lives until the test ends.
struct Gpu {
    allocate: Allocate,
    copy: Copy,
}

impl Gpu {
    fn new(context: &Context) -> Gpu {
        let find = |name| context.hip_function(&CString::new(name).unwrap()).unwrap().as_ptr();
        // SAFETY: these are the signatures of the HIP functions of these names.
        unsafe {
            Gpu {
                allocate: std::mem::transmute::<*mut c_void, Allocate>(find("hipMalloc")),
                copy: std::mem::transmute::<*mut c_void, Copy>(find("hipMemcpy")),
            }
        }
    }

    fn memory(&self, bytes: usize) -> *mut c_void {
        let mut memory = std::ptr::null_mut();
        assert_eq!((self.allocate)(&mut memory, bytes.max(16)), 0);
        memory
    }

    fn tensor(&self, host: &[f32]) -> *mut c_void {
        let bytes = std::mem::size_of_val(host);
        let memory = self.memory(bytes);
        assert_eq!((self.copy)(memory, host.as_ptr().cast(), bytes, 1), 0);
        memory
    }

    fn read(&self, memory: *mut c_void, count: usize) -> Vec<f32> {
        let mut host = vec![0f32; count];
        assert_eq!((self.copy)(host.as_mut_ptr().cast(), memory, 4 * count, 2), 0);
        host
    }
}

fn view(memory: *mut c_void) -> Tensor<'static> {
    // SAFETY: it has ELEMENTS elements, and is never freed.
    unsafe { Tensor::bhsd(memory, Dtype::F32, SIZE) }
}

fn random(seed: u64) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(ELEMENTS).collect()
}

/// P, o, lse of causal attention.
fn reference(q: &[f32], k: &[f32], v: &[f32]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let scale = 1.0 / (DIM as f64).sqrt();
    let (mut p, mut o, mut lse) = (vec![0.0; ROWS * ROWS], vec![0.0; ELEMENTS], vec![0.0; ROWS]);
    for m in 0..ROWS {
        let s: Vec<f64> = (0..=m)
            .map(|n| scale * (0..DIM).map(|d| f64::from(q[m * DIM + d]) * f64::from(k[n * DIM + d])).sum::<f64>())
            .collect();
        lse[m] = s.iter().map(|x| x.exp()).sum::<f64>().ln();
        for n in 0..=m {
            p[m * ROWS + n] = (s[n] - lse[m]).exp();
            for d in 0..DIM {
                o[m * DIM + d] += p[m * ROWS + n] * f64::from(v[n * DIM + d]);
            }
        }
    }
    (p, o, lse)
}

fn near(name: &str, got: &[f32], expected: &[f64]) {
    for (i, (x, y)) in got.iter().zip(expected).enumerate() {
        assert!((f64::from(*x) - y).abs() <= 1e-4, "{name}[{i}] is {x}, not {y}");
    }
}

#[test]
fn forward_and_backward() {
    let context = Context::open().unwrap();
    let gpu = Gpu::new(&context);
    let (q, k, v, d_o) = (random(1), random(2), random(3), random(4));
    let (p, o, lse) = reference(&q, &k, &v);
    let [dq, dk, dv, out] = [(); 4].map(|()| gpu.memory(4 * ELEMENTS));
    let lse_memory = gpu.memory(4 * ROWS);

    let forward = Forward::new(
        view(gpu.tensor(&q)), view(gpu.tensor(&k)), view(gpu.tensor(&v)), view(out),
    )
    .mask(Mask::CausalBottomRight);
    // SAFETY: there is room for a row each.
    let forward = unsafe { forward.lse(lse_memory.cast()) };
    assert_eq!(context.forward_workspace(&forward, Stream::NULL), Ok(0));
    context.forward(&forward, Stream::NULL).unwrap();
    near("o", &gpu.read(out, ELEMENTS), &o);
    near("lse", &gpu.read(lse_memory, ROWS), &lse);

    let backward = Backward::new(forward, view(gpu.tensor(&d_o)), view(dq), view(dk), view(dv));
    let bytes = context.backward_workspace(&backward, Stream::NULL).unwrap();
    assert!(bytes > 0);
    assert_eq!(context.backward(&backward, Stream::NULL).unwrap_err().status, Status::Argument);
    // SAFETY: nothing but a number is read.
    assert_eq!(unsafe { backward.atomics(true).raw().atomics }, 1);
    assert_eq!(context.backward_workspace(&backward.atomics(true), Stream::NULL), Ok(bytes));
    // SAFETY: so many bytes, never freed.
    let backward = unsafe { backward.workspace(gpu.memory(bytes), bytes) };
    context.backward(&backward, Stream::NULL).unwrap();

    let scale = 1.0 / (DIM as f64).sqrt();
    let (mut want_q, mut want_k, mut want_v) =
        (vec![0.0; ELEMENTS], vec![0.0; ELEMENTS], vec![0.0; ELEMENTS]);
    for m in 0..ROWS {
        let delta: f64 = (0..DIM).map(|d| f64::from(d_o[m * DIM + d]) * o[m * DIM + d]).sum();
        for n in 0..=m {
            let at = p[m * ROWS + n];
            let dp: f64 = (0..DIM).map(|d| f64::from(d_o[m * DIM + d]) * f64::from(v[n * DIM + d])).sum();
            let ds = scale * at * (dp - delta);
            for d in 0..DIM {
                want_q[m * DIM + d] += ds * f64::from(k[n * DIM + d]);
                want_k[n * DIM + d] += ds * f64::from(q[m * DIM + d]);
                want_v[n * DIM + d] += at * f64::from(d_o[m * DIM + d]);
            }
        }
    }
    near("dq", &gpu.read(dq, ELEMENTS), &want_q);
    near("dk", &gpu.read(dk, ELEMENTS), &want_k);
    near("dv", &gpu.read(dv, ELEMENTS), &want_v);
}

#[test]
fn windows_scale_and_raw_options() {
    let context = Context::open().unwrap();
    let gpu = Gpu::new(&context);
    let (q, v) = (random(5), random(6));
    let out = gpu.memory(4 * ELEMENTS);
    let (q, v_memory) = (view(gpu.tensor(&q)), gpu.tensor(&v));
    // Alone its own key is seen: o is v, whatever the scale.
    let alone = Forward::new(q, q, view(v_memory), view(out)).scale(3.0).softcap(2.0)
        .mask(Mask::WindowTopLeft(Some(0), Some(0)));
    context.forward(&alone, Stream::NULL).unwrap();
    assert_eq!(gpu.read(out, ELEMENTS), v);
    let mut all = alone.mask(Mask::WindowBottomRight(None, Some(0))).scale(0.0);
    // SAFETY: one is what the tensor has.
    unsafe { all.raw().sequences = 1 };
    context.forward(&all, Stream::NULL).unwrap();
    let mean: f32 = (0..ROWS).map(|n| v[n * DIM]).sum::<f32>() / ROWS as f32;
    assert!((gpu.read(out, ELEMENTS)[(ROWS - 1) * DIM] - mean).abs() < 1e-5);
}

#[test]
fn fp8() {
    let context = Context::open().unwrap();
    let gpu = Gpu::new(&context);
    // A row of 256 channels that are the numbers 0.5, 1, 2 and -1 of each type; one row of k, so o
    // is v. The FNUZ types have half of what the same code is in the others.
    for (dtype, codes, of_e) in [
        (Dtype::Fp8E4m3, [0x30u8, 0x38, 0x40, 0xb8], 1.0f32),
        (Dtype::Fp8E5m2, [0x38, 0x3c, 0x40, 0xbc], 1.0),
        (Dtype::Fp8E4m3Fnuz, [0x30, 0x38, 0x40, 0xb8], 0.5),
        (Dtype::Fp8E5m2Fnuz, [0x38, 0x3c, 0x40, 0xbc], 0.5),
    ] {
        let size = [1, 2, 1, 64];
        let words: Vec<f32> = vec![f32::from_le_bytes(codes); 32];
        let (cache, scales) = (gpu.tensor(&words), gpu.tensor(&[3.0, -0.25]));
        let out = gpu.memory(256);
        // SAFETY: so many elements, never freed.
        let (q, v, o, scale) = unsafe {
            (
                Tensor::bhsd(gpu.tensor(&vec![0.0; 64]), Dtype::Bf16, size),
                Tensor::bhsd(cache, dtype, size),
                Tensor::bhsd(out, Dtype::Bf16, size),
                Scale::new(scales.cast(), [0, 1]),
            )
        };
        let problem = Forward::new(q, v, v, o).k_scale(scale).v_scale(scale);
        context.forward(&problem, Stream::NULL).unwrap();
        for (i, bits) in gpu.read(out, 64).iter().map(|x| x.to_bits()).enumerate() {
            let factor = if i < 32 { 3.0 } else { -0.25 } * of_e;
            let pair = [[0.5, 1.0], [2.0, -1.0]][i % 2].map(|x| f32::to_bits(x * factor) >> 16);
            assert_eq!(bits, pair[0] | pair[1] << 16, "{dtype:?}, elements from {}", 2 * i);
        }
        // No scale without a tensor of FP8: here q is none.
        let why = context.forward(&problem.q_scale(scale), Stream::NULL).unwrap_err();
        assert_eq!(why.status, Status::Argument);
        assert!(why.text.contains("q_scale"), "{why}");
    }
}

#[test]
fn merge() {
    let context = Context::open().unwrap();
    let gpu = Gpu::new(&context);
    let (a, b) = (random(7), random(8));
    // One row has seen keys in the first alone, one in the second alone, the others three quarters
    // of all weight in the second.
    let (mut lse_a, mut lse_b) = (vec![2f32; ROWS], vec![2.0 + 3f32.ln(); ROWS]);
    lse_b[4] = f32::INFINITY;
    lse_a[5] = f32::INFINITY;
    let part = |d: usize| if d / DIM == 4 { 0.0 } else if d / DIM == 5 { 1.0 } else { 0.75 };
    let want: Vec<f64> = (0..ELEMENTS)
        .map(|d| f64::from(a[d]) * (1.0 - part(d)) + f64::from(b[d]) * part(d))
        .collect();
    let (o, lse) = (gpu.tensor(&a), gpu.tensor(&lse_a));
    // SAFETY: a number each of the rows.
    let [lse_o, lse_part] = [lse, gpu.tensor(&lse_b)]
        .map(|x| unsafe { Tensor::bhsd(x, Dtype::F32, [1, 1, ROWS as i64, 1]) });
    let parts = Merge::new(view(o), lse_o, view(gpu.tensor(&b)), lse_part);
    context.merge(&parts, Stream::NULL).unwrap();
    near("o", &gpu.read(o, ELEMENTS), &want);
    let sums = gpu.read(lse, ROWS);
    assert!((sums[0] - 2.0 - 4f32.ln()).abs() < 1e-5 && sums[4] == 2.0 && sums[5] == lse_b[5]);
    let itself = Merge::new(view(o), lse_o, view(o), lse_part);
    assert_eq!(context.merge(&itself, Stream::NULL).unwrap_err().status, Status::Argument);
}

#[test]
fn failures_say_what_and_why() {
    let why = Context::open_directory(Path::new("/nonexistent")).err().unwrap();
    assert_eq!(why.status, Status::NoImages);
    assert!(why.to_string().contains("/nonexistent"), "{why}");
    for name in [&b"a\0b"[..], b"a\xff"] {
        let why = Context::open_directory(Path::new(OsStr::from_bytes(name))).err().unwrap();
        assert_eq!(why.status, Status::Argument);
    }

    let context = Context::open().unwrap();
    context.check_device(0).unwrap();
    assert_eq!(context.check_device(-1).unwrap_err().status, Status::NoDevice);
    assert!(context.device(Stream::NULL).unwrap().gpu.starts_with("gfx"));
    assert!(!context.directory().is_empty() && aothip::version().contains('.'));
    let gpu = Gpu::new(&context);
    let x = view(gpu.memory(4 * ELEMENTS));
    // SAFETY: nothing is launched.
    let three = unsafe { Tensor::bshd(gpu.memory(16), Dtype::F32, [1, 3, 21, 32]) };
    assert_eq!(three.size()[1], 3);
    let why = context.forward(&Forward::new(x, three, three, x), Stream::NULL).unwrap_err();
    assert_eq!((why.status, why.hip_error), (Status::Argument, 0));
    assert!(context.hip_function(&CString::new("hipNothing").unwrap()).is_err());
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&context);
}
