//! The structs of ffi.rs lie in memory as the C compiler lays out those of aothip.h, which
//! AOTHIP_INCLUDE says the directory of; without it nothing is compared.

use std::mem::{size_of, MaybeUninit};
use std::process::Command;
use std::ptr::addr_of;

use aothip::ffi;

macro_rules! layout {
    ($rust:ty, $c:literal, $($field:ident)*) => {{
        let memory = MaybeUninit::<$rust>::uninit();
        let at = memory.as_ptr();
        let mut fields = vec![(String::new(), size_of::<$rust>())];
        // SAFETY: addresses of fields are taken, and nothing is read.
        $(fields.push((stringify!($field).to_string(),
                       unsafe { addr_of!((*at).$field) } as usize - at as usize));)*
        ($c, fields)
    }};
}

#[test]
fn structs_lie_as_in_c() {
    let include = match std::env::var("AOTHIP_INCLUDE") {
        Ok(directory) => directory,
        Err(_) => return,
    };
    let structs = [
        layout!(ffi::Tensor, "aothip_tensor", data size stride dtype),
        layout!(ffi::Seqs, "aothip_seqs", cumulative lengths starts packed max),
        layout!(ffi::Scale, "aothip_scale", data stride),
        layout!(ffi::AttnFwdParams, "aothip_attn_fwd_params", struct_size q k v o lse scale mask
            window_left window_right lse_layout lse_base2 lse_size sequences index64 q_seqs k_seqs
            bias keep alibi_slopes alibi_stride softcap dropout_p probs_dropped dropout_seed
            dropout_offset dropout_seed_pointer dropout_offset_pointer dropout_seed_output
            dropout_offset_output probs sinks block_table block_table_stride block_table_columns
            rotary_interleaved batch_index k_new v_new rotary_cos rotary_sin rotary_stride
            rotary_dim rotary_rows splits reserved workspace workspace_size q_scale k_scale
            v_scale),
        layout!(ffi::AttnBwdParams, "aothip_attn_bwd_params", struct_size fwd d_o dq dk dv dbias
            dsinks dalibi delta workspace workspace_size atomics reserved),
        layout!(ffi::AttnMergeParams, "aothip_attn_merge_params", struct_size o lse part_o part_lse
            lse_base2 reserved),
        layout!(ffi::DeviceInfo, "aothip_device_info", struct_size device compute_units
            memory_bytes target gpu name),
    ];
    let mut code = String::from("#include <aothip/aothip.h>\n");
    for (c, fields) in &structs {
        for (field, offset) in fields {
            let value = if field.is_empty() {
                format!("sizeof(struct {c})")
            } else {
                format!("offsetof(struct {c}, {field})")
            };
            code += &format!("_Static_assert({value} == {offset}, \"{c}.{field}\");\n");
        }
    }
    let file = std::env::temp_dir().join(format!("aothip-layout-{}.c", std::process::id()));
    std::fs::write(&file, code).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut words = compiler.split_whitespace();
    let output = Command::new(words.next().unwrap()).args(words).arg("-std=c11")
        .arg("-fsyntax-only").arg(format!("-I{include}")).arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
