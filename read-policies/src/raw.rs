//! Declares the structures of policy.h in Rust. A test compares the declarations with the C
//! compiler's layout.

use std::ffi::{c_char, c_int};

pub const MIRRORS_MAX: usize = 4;
pub const PARAMETERS_MAX: usize = 4;

/// A device that holds the data: `struct read_mirror` of policy.h, which explains the fields.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mirror {
    pub devid: u64,
    pub physical: u64,
    pub next_read: u64,
    pub run_start: u64,
    pub sent: u64,
    pub head: u64,
    pub optimal_io: u64,
    pub ios: u64,
    pub wait: u64,
    pub recent_ios: u64,
    pub recent_wait: u64,
    pub reads_in_flight: u32,
    pub writes_in_flight: u32,
    pub age: i32,
    pub rotational: bool,
    pub live: bool,
}

/// The structure `read_request` of policy.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    pub logical: u64,
    pub length: u64,
    pub blocks_read: u32,
    pub block_bits: u32,
    pub pid: u32,
    pub count: u32,
    pub mirrors: [Mirror; MIRRORS_MAX],
}

/// The structure `read_parameter` of policy.h.
#[repr(C)]
#[derive(Debug)]
pub struct Parameter {
    pub key: *const c_char,
    pub kind: u32,
    pub least: u64,
    pub most: u64,
    pub value: u64,
    pub words: *const c_char,
    pub summary: *const c_char,
}

pub const NUMBER: u32 = 1;
pub const BYTES: u32 = 2;
pub const DEVICE: u32 = 3;
pub const WORD: u32 = 4;

pub const CHECKPOINT_AGE: i32 = 10000;
pub const WINDOW: i32 = 100;

/// The structure `read_policy` of policy.h.
#[repr(C)]
#[derive(Debug)]
pub struct Policy {
    pub name: *const c_char,
    pub summary: *const c_char,
    pub mainline: bool,
    pub needs: u32,
    pub parameters: [Parameter; PARAMETERS_MAX],
    pub choose: Option<unsafe extern "C" fn(*const Request, *const u64) -> u32>,
    pub age: Option<unsafe extern "C" fn(i32, bool, *const u64) -> i32>,
}

// SAFETY: the C files define it constant, with pointers to string constants.
unsafe impl Sync for Policy {}

/// The structure `read_choice` of policy.h.
#[repr(C)]
pub struct Choice {
    pub policy: *const Policy,
    pub values: [u64; PARAMETERS_MAX],
}

unsafe extern "C" {
    pub fn disklab_read_policy(index: u32) -> *const Policy;
    pub fn disklab_read_choice_parse(
        text: *const c_char,
        length: u32,
        block_bits: u32,
        choice: *mut Choice,
    ) -> c_int;
    pub fn disklab_read_choice_default(choice: *mut Choice, policy: *const Policy);
    pub fn disklab_read_decide(
        policy: *const Policy,
        values: *const u64,
        read: *const Request,
    ) -> u32;
    pub fn disklab_read_age(
        policy: *const Policy,
        values: *const u64,
        age: i32,
        chosen: bool,
    ) -> i32;
    pub fn disklab_read_latency(mirror: *const Mirror) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    unsafe extern "C" {
        static disklab_read_sample: Request;
        static disklab_read_sample_policy: Policy;
        static disklab_read_sample_choice: Choice;
        fn disklab_read_layout(index: u32) -> u32;
    }

    #[test]
    fn sizes_and_limits_are_those_of_the_header() {
        let ours = [
            size_of::<Mirror>(),
            size_of::<Request>(),
            size_of::<Parameter>(),
            size_of::<Policy>(),
            size_of::<Choice>(),
            MIRRORS_MAX,
            PARAMETERS_MAX,
            1, // READ_NEEDS_BLOCKS_READ and READ_NEEDS_IN_FLIGHT, for the kernel alone.
            2,
            0, // READ_NO_PARAMETER, which a parameter's kind is by itself where there is none.
            NUMBER as usize,
            BYTES as usize,
            DEVICE as usize,
            WORD as usize,
            CHECKPOINT_AGE as usize,
            WINDOW as usize,
        ];
        // SAFETY: a pure function of its argument.
        let theirs = |index| unsafe { disklab_read_layout(index) } as usize;
        let all: Vec<usize> = (0..ours.len() as u32).map(theirs).collect();
        assert_eq!(all, ours);
        assert_eq!(theirs(ours.len() as u32), 0, "shim.c has more");
    }

    #[test]
    fn every_field_is_where_the_c_compiler_puts_it() {
        let mirror = |n: u64| Mirror {
            devid: n + 1,
            physical: n + 2,
            next_read: n + 3,
            run_start: n + 4,
            sent: n + 5,
            head: n + 6,
            optimal_io: n + 7,
            ios: n + 8,
            wait: n + 9,
            recent_ios: n + 10,
            recent_wait: n + 11,
            reads_in_flight: n as u32 + 12,
            writes_in_flight: n as u32 + 13,
            age: -(n as i32 + 14),
            rotational: true,
            live: false,
        };
        let ours = Request {
            logical: 1,
            length: 2,
            blocks_read: 3,
            block_bits: 4,
            pid: 5,
            count: 6,
            mirrors: [mirror(100), mirror(200), mirror(300), mirror(400)],
        };
        // SAFETY: a constant of shim.c.
        assert_eq!(unsafe { disklab_read_sample }, ours);
    }

    #[test]
    fn so_is_every_field_of_a_policy() {
        // SAFETY: a constant of shim.c, whose pointers are to string constants.
        let (policy, text) =
            unsafe { (&disklab_read_sample_policy, |text| CStr::from_ptr(text).to_str().unwrap()) };
        assert_eq!((text(policy.name), text(policy.summary)), ("name", "summary"));
        assert_eq!((policy.mainline, policy.needs), (true, 9));
        for (parameter, n) in policy.parameters.iter().zip([10, 20, 30, 40]) {
            assert_eq!(
                (text(parameter.key), text(parameter.words), text(parameter.summary)),
                ("key", "words", "about")
            );
            let numbers =
                (u64::from(parameter.kind), parameter.least, parameter.most, parameter.value);
            assert_eq!(numbers, (n + 1, n + 2, n + 3, n + 4));
        }
        let values = [0; PARAMETERS_MAX];
        // SAFETY: functions of shim.c that use nothing of what they get.
        unsafe {
            assert_eq!(
                policy.choose.map(|choose| choose(&Request::default(), values.as_ptr())),
                Some(77)
            );
            assert_eq!(policy.age.map(|age| age(0, false, values.as_ptr())), Some(-77));
            assert!(std::ptr::eq(disklab_read_sample_choice.policy, policy));
            assert_eq!(disklab_read_sample_choice.values, [1, 2, 3, 4]);
        }
    }
}
