// Runs a model in a static archive from Rust, by the table of functions of include/whet/model.h: no crate, no bindings to generate.
//
//   whet compile zoo:mlp -o libone.a
//   rustc run_archive.rs -L . -l static=one && ./run_archive

use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null, null_mut};

#[repr(C)]
struct WhetError {
    message: [c_char; 512],
}

#[repr(C)]
struct TensorInfo {
    name: *const c_char,
    dtype: c_int,
    rank: u32,
    shape: *const i64,
    bytes: i64,
}

type Model = c_void;
type Session = c_void;

/// The functions that every table begins with; those that are not called here stand as pointers.
#[repr(C)]
struct WhetApi {
    struct_bytes: u32,
    api_version: u32,
    format_version: u32,
    reserved: u32,
    model_open: extern "C" fn(*const c_void, *mut *mut Model, *mut WhetError) -> c_int,
    model_close: extern "C" fn(*mut Model),
    model_info: *const c_void,
    model_input: extern "C" fn(*const Model, u32) -> *const TensorInfo,
    model_output: extern "C" fn(*const Model, u32) -> *const TensorInfo,
    of_pools: [*const c_void; 3],
    session_create: extern "C" fn(*mut Model, *mut c_void, *mut *mut Session, *mut WhetError) -> c_int,
    session_destroy: extern "C" fn(*mut Session),
    session_pool: *const c_void,
    session_note: *const c_void,
    session_set_input: extern "C" fn(*mut Session, u32, *const c_void, *const i64, *mut WhetError) -> c_int,
    session_set_input_dlpack: *const c_void,
    session_bind_output: *const c_void,
    session_run: extern "C" fn(*mut Session, *mut WhetError) -> c_int,
    session_output: extern "C" fn(*const Session, u32) -> *const c_void,
}

extern "C" {
    fn whet_one_v1() -> *const WhetApi;
}

fn check(result: c_int, error: &WhetError) {
    if result != 0 {
        let sentence = unsafe { CStr::from_ptr(error.message.as_ptr()) };
        eprintln!("{}", sentence.to_string_lossy());
        std::process::exit(1);
    }
}

fn main() {
    let whet = unsafe { &*whet_one_v1() };
    assert_eq!(whet.api_version, 1, "this program knows version 1 of the table");
    let mut error = WhetError { message: [0; 512] };
    let (mut model, mut session) = (null_mut(), null_mut());
    check((whet.model_open)(null(), &mut model, &mut error), &error);
    check((whet.session_create)(model, null_mut(), &mut session, &mut error), &error);
    let input = unsafe { &*(whet.model_input)(model, 0) };
    let values = vec![0.5f32; input.bytes as usize / 4];
    check((whet.session_set_input)(session, 0, values.as_ptr().cast(), null(), &mut error), &error);
    check((whet.session_run)(session, &mut error), &error);
    let output = unsafe { &*(whet.model_output)(model, 0) };
    let scores = unsafe { std::slice::from_raw_parts((whet.session_output)(session, 0) as *const f32, output.bytes as usize / 4) };
    println!("{} scores, whose sum is {:.3}", scores.len(), scores.iter().sum::<f32>());
    (whet.session_destroy)(session);
    (whet.model_close)(model);
}
