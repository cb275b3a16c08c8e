//! Attention on AMD GPUs from precompiled kernels: the C API of aothip.h, whose rules hold.
//!
//! Device memory comes from whoever manages it in your program; a [`Tensor`] is a view of it, and
//! making one is what is `unsafe`: see there. Everything after that is checked by the library.
//! `examples/causal.rs` is a whole program.
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;

#[allow(missing_docs)]
pub mod ffi;

use std::ffi::{c_void, CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{size_of, zeroed};
use std::os::raw::{c_char, c_int};
use std::path::Path;
use std::ptr::{self, NonNull};

/// What the library failed with; its text names the argument, file, kernel or GPU at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Why, as the library classes it.
    pub status: Status,
    /// One line of text.
    pub text: String,
    /// The `hipError_t` behind it; 0 if HIP was not the cause.
    pub hip_error: i32,
}

/// `enum aothip_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Status {
    Argument,
    Unsupported,
    NoHip,
    Hip,
    NoDevice,
    NoImages,
    Io,
    Format,
    Checksum,
    Version,
    Target,
    Memory,
    /// One that this crate does not know.
    Other(i32),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.text, self.status)
    }
}

impl std::error::Error for Error {}

fn status_of(code: c_int) -> Status {
    use Status::*;
    const KNOWN: [Status; 12] = [
        Argument, Unsupported, NoHip, Hip, NoDevice, NoImages, Io, Format, Checksum, Version,
        Target, Memory,
    ];
    *usize::try_from(code - 1).ok().and_then(|i| KNOWN.get(i)).unwrap_or(&Other(code))
}

/// A string of the library's own, which lives at least until the thread's next call.
fn text_of(text: *const c_char) -> String {
    // SAFETY: the library returns strings, or NULL in none of the cases that come here.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn failure(status: Status) -> Error {
    // SAFETY: these may be called at any time.
    let (text, hip_error) = unsafe { (ffi::aothip_last_error(), ffi::aothip_last_hip_error()) };
    Error { status, text: text_of(text), hip_error }
}

fn check(code: c_int) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(failure(status_of(code))) }
}

/// The version of the library that runs: "0.1.0".
pub fn version() -> String {
    // SAFETY: returns a static string.
    text_of(unsafe { ffi::aothip_version() })
}

/// Element types of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs)]
pub enum Dtype {
    F32 = 1,
    F16 = 2,
    Bf16 = 3,
    /// One byte, 0 is false: masks alone.
    Bool = 4,
    /// One byte, OCP's FP8, to 448: q, k and v alone, as the three that follow.
    Fp8E4m3 = 5,
    /// OCP's, to 57344.
    Fp8E5m2 = 6,
    /// To 240, without -0 and infinity.
    Fp8E4m3Fnuz = 7,
    /// To 57344, without -0 and infinity.
    Fp8E5m2Fnuz = 8,
}

/// Which keys a query sees: `enum aothip_mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// All.
    None,
    /// n <= m
    CausalTopLeft,
    /// n <= m + seq_k - seq_q
    CausalBottomRight,
    /// m - left <= n <= m + right; `None` opens a side.
    WindowTopLeft(Option<i32>, Option<i32>),
    /// The same with m + seq_k - seq_q for m.
    WindowBottomRight(Option<i32>, Option<i32>),
}

/// A view of device memory: (batch, head, sequence, channel), whatever the order in memory.
#[derive(Clone, Copy)]
pub struct Tensor<'memory> {
    raw: ffi::Tensor,
    memory: PhantomData<&'memory ()>,
}

impl<'memory> Tensor<'memory> {
    /// The element (b, h, s, d) at `data + b * stride[0] + h * stride[1] + s * stride[2] + d *
    /// stride[3]`, in elements.
    ///
    /// # Safety
    ///
    /// All these elements are memory of the GPU whose stream the tensor is used on, and stay so
    /// until the work on that stream which uses them is done, which is after the call that starts
    /// it. Until then the [`Context`] that started it lives, too. Where the tensor is an output,
    /// nobody else uses them meanwhile.
    pub unsafe fn new(data: *mut c_void, dtype: Dtype, size: [i64; 4], stride: [i64; 4]) -> Self {
        let raw = ffi::Tensor { data, size, stride, dtype: dtype as i32 };
        Tensor { raw, memory: PhantomData }
    }

    /// Contiguous, of this size (batch, heads, rows, channels).
    ///
    /// # Safety
    ///
    /// As of [`Tensor::new`].
    pub unsafe fn bhsd(data: *mut c_void, dtype: Dtype, size: [i64; 4]) -> Self {
        let [_, h, s, d] = size;
        // SAFETY: the caller's promise.
        unsafe { Self::new(data, dtype, size, [h * s * d, s * d, d, 1]) }
    }

    /// Of the same size, but in memory as (batch, rows, heads, channels).
    ///
    /// # Safety
    ///
    /// As of [`Tensor::new`].
    pub unsafe fn bshd(data: *mut c_void, dtype: Dtype, size: [i64; 4]) -> Self {
        let [_, h, s, d] = size;
        // SAFETY: the caller's promise.
        unsafe { Self::new(data, dtype, size, [s * h * d, d, h * d, 1]) }
    }

    /// (batch, heads, rows, channels)
    pub fn size(&self) -> [i64; 4] {
        self.raw.size
    }
}

/// What elements of FP8 are multiplied by: `struct aothip_scale`. A view of device memory.
#[derive(Clone, Copy)]
pub struct Scale<'memory> {
    raw: ffi::Scale,
    memory: PhantomData<&'memory ()>,
}

impl<'memory> Scale<'memory> {
    /// That of sequence b and key head g, whose query heads have the same, is `data[b * stride[0] +
    /// g * stride[1]]`; a stride of 0 is the same for all.
    ///
    /// # Safety
    ///
    /// As of [`Tensor::new`], for these elements.
    pub unsafe fn new(data: *const f32, stride: [i64; 2]) -> Self {
        Scale { raw: ffi::Scale { data, stride }, memory: PhantomData }
    }
}

/// Forward attention; `struct aothip_attn_fwd_params`.
#[derive(Clone, Copy)]
pub struct Forward<'memory> {
    raw: ffi::AttnFwdParams,
    memory: PhantomData<&'memory ()>,
}

impl<'memory> Forward<'memory> {
    /// o = softmax(scale q k^T) v, with 1 / sqrt(channels of q) for scale.
    pub fn new(q: Tensor<'memory>, k: Tensor<'memory>, v: Tensor<'memory>, o: Tensor<'memory>) -> Self {
        // SAFETY: numbers and pointers, all of which may be 0.
        let mut raw: ffi::AttnFwdParams = unsafe { zeroed() };
        raw.struct_size = size_of::<ffi::AttnFwdParams>();
        raw.scale = 1.0 / (q.raw.size[3].max(1) as f32).sqrt();
        raw.q = q.raw;
        raw.k = k.raw;
        raw.v = v.raw;
        raw.o = o.raw;
        Forward { raw, memory: PhantomData }
    }

    /// What the scores are multiplied by.
    #[must_use]
    pub fn scale(mut self, scale: f32) -> Self {
        self.raw.scale = scale;
        self
    }

    /// Which keys are seen.
    #[must_use]
    pub fn mask(mut self, mask: Mask) -> Self {
        let unbounded = |n: Option<i32>| n.unwrap_or(i32::MAX);
        let (code, left, right) = match mask {
            Mask::None => (0, 0, 0),
            Mask::CausalTopLeft => (1, 0, 0),
            Mask::CausalBottomRight => (2, 0, 0),
            Mask::WindowTopLeft(l, r) => (3, unbounded(l), unbounded(r)),
            Mask::WindowBottomRight(l, r) => (4, unbounded(l), unbounded(r)),
        };
        self.raw.mask = code;
        self.raw.window_left = left;
        self.raw.window_right = right;
        self
    }

    /// Scores become softcap tanh(s / softcap).
    #[must_use]
    pub fn softcap(mut self, softcap: f32) -> Self {
        self.raw.softcap = softcap;
        self
    }

    /// Added to the scores: (batch, heads, rows, keys), each of them 1 for all.
    #[must_use]
    pub fn bias(mut self, bias: Tensor<'memory>) -> Self {
        self.raw.bias = bias.raw;
        self
    }

    /// Keys whose element is 0 are masked; sizes as of bias, [`Dtype::Bool`].
    #[must_use]
    pub fn keep(mut self, keep: Tensor<'memory>) -> Self {
        self.raw.keep = keep.raw;
        self
    }

    /// What the elements of q are multiplied by, where they are of FP8.
    #[must_use]
    pub fn q_scale(mut self, scale: Scale<'memory>) -> Self {
        self.raw.q_scale = scale.raw;
        self
    }

    /// What the elements of k are multiplied by, where they are of FP8.
    #[must_use]
    pub fn k_scale(mut self, scale: Scale<'memory>) -> Self {
        self.raw.k_scale = scale.raw;
        self
    }

    /// What the elements of v are multiplied by, where they are of FP8.
    #[must_use]
    pub fn v_scale(mut self, scale: Scale<'memory>) -> Self {
        self.raw.v_scale = scale.raw;
        self
    }

    /// Where the logarithm of the sum of the exponentials goes, (batch, heads, rows).
    ///
    /// # Safety
    ///
    /// As of [`Tensor::new`], for so many elements behind each other.
    #[must_use]
    pub unsafe fn lse(mut self, lse: *mut f32) -> Self {
        self.raw.lse = lse;
        self
    }

    /// Every other option of aothip.h.
    ///
    /// # Safety
    ///
    /// What is set there is true: pointers of memory as of [`Tensor::new`], `struct_size` as it is.
    pub unsafe fn raw(&mut self) -> &mut ffi::AttnFwdParams {
        &mut self.raw
    }
}

/// The gradients of sum(o * d_o); `struct aothip_attn_bwd_params`.
#[derive(Clone, Copy)]
pub struct Backward<'memory> {
    forward: Forward<'memory>,
    raw: ffi::AttnBwdParams,
}

impl<'memory> Backward<'memory> {
    /// Of `forward`, whose o and lse have been computed, dq, dk and dv.
    pub fn new(
        forward: Forward<'memory>,
        d_o: Tensor<'memory>,
        dq: Tensor<'memory>,
        dk: Tensor<'memory>,
        dv: Tensor<'memory>,
    ) -> Self {
        // SAFETY: numbers and pointers, all of which may be 0.
        let mut raw: ffi::AttnBwdParams = unsafe { zeroed() };
        raw.struct_size = size_of::<ffi::AttnBwdParams>();
        raw.d_o = d_o.raw;
        raw.dq = dq.raw;
        raw.dk = dk.raw;
        raw.dv = dv.raw;
        Backward { forward, raw }
    }

    /// Whether dq may be atomic sums, whose last bits differ from call to call, where that takes
    /// less time. [`Context::backward_workspace`] then asks for more.
    #[must_use]
    pub fn atomics(mut self, allowed: bool) -> Self {
        self.raw.atomics = i32::from(allowed);
        self
    }

    /// Device memory of `bytes` bytes, as many as [`Context::backward_workspace`] says.
    ///
    /// # Safety
    ///
    /// As of [`Tensor::new`].
    #[must_use]
    pub unsafe fn workspace(mut self, memory: *mut c_void, bytes: usize) -> Self {
        self.raw.workspace = memory;
        self.raw.workspace_size = bytes;
        self
    }

    /// Every other option of aothip.h; `fwd` is set by the call.
    ///
    /// # Safety
    ///
    /// As of [`Forward::raw`].
    pub unsafe fn raw(&mut self) -> &mut ffi::AttnBwdParams {
        &mut self.raw
    }
}

/// A partial result of attention, merged into another one in place; `struct
/// aothip_attn_merge_params`.
#[derive(Clone, Copy)]
pub struct Merge<'memory> {
    raw: ffi::AttnMergeParams,
    memory: PhantomData<&'memory ()>,
}

impl<'memory> Merge<'memory> {
    /// `o` and `lse` of the same rows over some keys, and over others. The logarithms are (batch,
    /// heads, rows, 1), [`Dtype::F32`]; where one is infinite, its row has seen no key.
    pub fn new(
        o: Tensor<'memory>,
        lse: Tensor<'memory>,
        part_o: Tensor<'memory>,
        part_lse: Tensor<'memory>,
    ) -> Self {
        let raw = ffi::AttnMergeParams {
            struct_size: size_of::<ffi::AttnMergeParams>(),
            o: o.raw,
            lse: lse.raw,
            part_o: part_o.raw,
            part_lse: part_lse.raw,
            lse_base2: 0,
            reserved: 0,
        };
        Merge { raw, memory: PhantomData }
    }
}

/// A `hipStream_t`.
#[derive(Clone, Copy)]
pub struct Stream(*mut c_void);

impl Stream {
    /// The null stream of the current device.
    pub const NULL: Stream = Stream(ptr::null_mut());

    /// # Safety
    ///
    /// `stream` is one of the HIP runtime that the library uses, and lives while this is used.
    pub unsafe fn from_raw(stream: *mut c_void) -> Stream {
        Stream(stream)
    }
}

/// A GPU as the HIP runtime describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// HIP's number.
    pub number: i32,
    /// "gfx942"
    pub gpu: String,
    /// "gfx942:sramecc+:xnack-"
    pub target: String,
    /// "AMD Instinct MI300X"
    pub name: String,
    /// As HIP counts them.
    pub compute_units: i32,
    /// All of it.
    pub memory_bytes: u64,
}

/// An opened image directory, and what has been loaded from it. When it is dropped, no kernel that
/// it launched may still be running.
pub struct Context(NonNull<ffi::Context>);

// SAFETY: all functions of the library may be called from any number of threads at once, on one
// context, but for the closing, which has it alone.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: opened by open(), and nobody else has it any more.
        unsafe { ffi::aothip_close(self.0.as_ptr()) }
    }
}

impl Context {
    /// The images where the environment says, else beside the library.
    pub fn open() -> Result<Context, Error> {
        Self::open_c(None)
    }

    /// The images in `directory`.
    pub fn open_directory(directory: &Path) -> Result<Context, Error> {
        let text = directory.to_str().and_then(|text| CString::new(text).ok());
        let text = text.ok_or_else(|| Error {
            status: Status::Argument,
            text: format!("directory: {} is not UTF-8 without NUL", directory.display()),
            hip_error: 0,
        })?;
        Self::open_c(Some(&text))
    }

    fn open_c(directory: Option<&CStr>) -> Result<Context, Error> {
        let mut context = ptr::null_mut();
        let name = directory.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: a string or NULL, and where to put the context.
        check(unsafe { ffi::aothip_open(name, &mut context) })?;
        NonNull::new(context).map(Context).ok_or_else(|| failure(Status::Memory))
    }

    /// The directory that it reads from.
    pub fn directory(&self) -> String {
        // SAFETY: the context is open.
        text_of(unsafe { ffi::aothip_directory(self.0.as_ptr()) })
    }

    /// Whether attention can run on HIP device number `device`.
    pub fn check_device(&self, device: i32) -> Result<(), Error> {
        // SAFETY: the context is open.
        check(unsafe { ffi::aothip_check_device(self.0.as_ptr(), device) })
    }

    /// The device of a stream.
    pub fn device(&self, stream: Stream) -> Result<Device, Error> {
        // SAFETY: numbers and characters, all of which may be 0.
        let mut info: ffi::DeviceInfo = unsafe { zeroed() };
        info.struct_size = size_of::<ffi::DeviceInfo>();
        // SAFETY: the context is open, the struct says its size.
        check(unsafe { ffi::aothip_stream_device(self.0.as_ptr(), stream.0, &mut info) })?;
        Ok(Device {
            number: info.device,
            gpu: text_of(info.gpu.as_ptr()),
            target: text_of(info.target.as_ptr()),
            name: text_of(info.name.as_ptr()),
            compute_units: info.compute_units,
            memory_bytes: info.memory_bytes,
        })
    }

    /// Loads every kernel onto the device of the stream.
    pub fn warm_up(&self, stream: Stream) -> Result<(), Error> {
        // SAFETY: the context is open.
        check(unsafe { ffi::aothip_warm_up(self.0.as_ptr(), stream.0) })
    }

    /// Starts forward attention on the stream, and returns.
    pub fn forward(&self, problem: &Forward<'_>, stream: Stream) -> Result<(), Error> {
        // SAFETY: the context is open, and who made the tensors promised that they are there.
        check(unsafe { ffi::aothip_attn_fwd(self.0.as_ptr(), &problem.raw, stream.0) })
    }

    /// How many bytes of workspace forward() can use.
    pub fn forward_workspace(&self, problem: &Forward<'_>, stream: Stream) -> Result<usize, Error> {
        let mut bytes = 0;
        let context = self.0.as_ptr();
        // SAFETY: as forward().
        check(unsafe {
            ffi::aothip_attn_fwd_workspace(context, &problem.raw, stream.0, &mut bytes)
        })?;
        Ok(bytes)
    }

    /// Starts backward attention on the stream, and returns.
    pub fn backward(&self, problem: &Backward<'_>, stream: Stream) -> Result<(), Error> {
        let mut raw = problem.raw;
        raw.fwd = &problem.forward.raw;
        // SAFETY: as forward().
        check(unsafe { ffi::aothip_attn_bwd(self.0.as_ptr(), &raw, stream.0) })
    }

    /// How many bytes of workspace are of use to backward().
    pub fn backward_workspace(&self, problem: &Backward<'_>, stream: Stream) -> Result<usize, Error> {
        let mut bytes = 0;
        let mut raw = problem.raw;
        raw.fwd = &problem.forward.raw;
        // SAFETY: as forward().
        check(unsafe {
            ffi::aothip_attn_bwd_workspace(self.0.as_ptr(), &raw, stream.0, &mut bytes)
        })?;
        Ok(bytes)
    }

    /// Starts a merge of partial results on the stream, and returns.
    pub fn merge(&self, parts: &Merge<'_>, stream: Stream) -> Result<(), Error> {
        // SAFETY: as forward().
        check(unsafe { ffi::aothip_attn_merge(self.0.as_ptr(), &parts.raw, stream.0) })
    }

    /// The function `name` of the HIP runtime that the library calls.
    pub fn hip_function(&self, name: &CStr) -> Result<NonNull<c_void>, Error> {
        // SAFETY: the context is open, the name a string.
        let found = unsafe { ffi::aothip_hip_function(self.0.as_ptr(), name.as_ptr()) };
        NonNull::new(found).ok_or_else(|| failure(Status::NoHip))
    }
}
