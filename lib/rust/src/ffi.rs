//! The structs and functions of aothip.h, word for word; not those that list images, name statuses
//! or set an error.

use std::ffi::c_void;
use std::os::raw::{c_char, c_int};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Tensor {
    pub data: *mut c_void,
    pub size: [i64; 4],
    pub stride: [i64; 4],
    pub dtype: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Seqs {
    pub cumulative: *const c_void,
    pub lengths: *const c_void,
    pub starts: *const c_void,
    pub packed: i32,
    pub max: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Scale {
    pub data: *const f32,
    pub stride: [i64; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AttnFwdParams {
    pub struct_size: usize,
    pub q: Tensor,
    pub k: Tensor,
    pub v: Tensor,
    pub o: Tensor,
    pub lse: *mut f32,
    pub scale: f32,
    pub mask: i32,
    pub window_left: i32,
    pub window_right: i32,
    pub lse_layout: i32,
    pub lse_base2: i32,
    pub lse_size: i64,
    pub sequences: i32,
    pub index64: i32,
    pub q_seqs: Seqs,
    pub k_seqs: Seqs,
    pub bias: Tensor,
    pub keep: Tensor,
    pub alibi_slopes: *const f32,
    pub alibi_stride: i64,
    pub softcap: f32,
    pub dropout_p: f32,
    pub probs_dropped: i32,
    pub dropout_seed: u64,
    pub dropout_offset: u64,
    pub dropout_seed_pointer: *const u64,
    pub dropout_offset_pointer: *const u64,
    pub dropout_seed_output: *mut u64,
    pub dropout_offset_output: *mut u64,
    pub probs: Tensor,
    pub sinks: *const f32,
    pub block_table: *const i32,
    pub block_table_stride: i64,
    pub block_table_columns: i32,
    pub rotary_interleaved: i32,
    pub batch_index: *const i32,
    pub k_new: Tensor,
    pub v_new: Tensor,
    pub rotary_cos: *const c_void,
    pub rotary_sin: *const c_void,
    pub rotary_stride: i64,
    pub rotary_dim: i32,
    pub rotary_rows: i32,
    pub splits: i32,
    pub reserved: i32,
    pub workspace: *mut c_void,
    pub workspace_size: usize,
    pub q_scale: Scale,
    pub k_scale: Scale,
    pub v_scale: Scale,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AttnBwdParams {
    pub struct_size: usize,
    pub fwd: *const AttnFwdParams,
    pub d_o: Tensor,
    pub dq: Tensor,
    pub dk: Tensor,
    pub dv: Tensor,
    pub dbias: Tensor,
    pub dsinks: *mut f32,
    pub dalibi: *mut f32,
    pub delta: *mut f32,
    pub workspace: *mut c_void,
    pub workspace_size: usize,
    pub atomics: i32,
    pub reserved: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct AttnMergeParams {
    pub struct_size: usize,
    pub o: Tensor,
    pub lse: Tensor,
    pub part_o: Tensor,
    pub part_lse: Tensor,
    pub lse_base2: i32,
    pub reserved: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DeviceInfo {
    pub struct_size: usize,
    pub device: i32,
    pub compute_units: i32,
    pub memory_bytes: u64,
    pub target: [c_char; 48],
    pub gpu: [c_char; 16],
    pub name: [c_char; 256],
}

#[repr(C)]
pub struct Context {
    _private: [u8; 0],
}

extern "C" {
    pub fn aothip_open(directory: *const c_char, context: *mut *mut Context) -> c_int;
    pub fn aothip_close(context: *mut Context);
    pub fn aothip_directory(context: *const Context) -> *const c_char;
    pub fn aothip_check_device(context: *mut Context, device: c_int) -> c_int;
    pub fn aothip_check_stream(context: *mut Context, stream: *mut c_void) -> c_int;
    pub fn aothip_attn_fwd(
        context: *mut Context,
        params: *const AttnFwdParams,
        stream: *mut c_void,
    ) -> c_int;
    pub fn aothip_attn_fwd_workspace(
        context: *mut Context,
        params: *const AttnFwdParams,
        stream: *mut c_void,
        bytes: *mut usize,
    ) -> c_int;
    pub fn aothip_attn_bwd(
        context: *mut Context,
        params: *const AttnBwdParams,
        stream: *mut c_void,
    ) -> c_int;
    pub fn aothip_attn_bwd_workspace(
        context: *mut Context,
        params: *const AttnBwdParams,
        stream: *mut c_void,
        bytes: *mut usize,
    ) -> c_int;
    pub fn aothip_attn_probs(
        context: *mut Context,
        params: *const AttnFwdParams,
        stream: *mut c_void,
    ) -> c_int;
    pub fn aothip_attn_merge(
        context: *mut Context,
        params: *const AttnMergeParams,
        stream: *mut c_void,
    ) -> c_int;
    pub fn aothip_warm_up(context: *mut Context, stream: *mut c_void) -> c_int;
    pub fn aothip_stream_device(
        context: *mut Context,
        stream: *mut c_void,
        info: *mut DeviceInfo,
    ) -> c_int;
    pub fn aothip_hip_function(context: *mut Context, name: *const c_char) -> *mut c_void;
    pub fn aothip_last_error() -> *const c_char;
    pub fn aothip_last_hip_error() -> c_int;
    pub fn aothip_version() -> *const c_char;
}
