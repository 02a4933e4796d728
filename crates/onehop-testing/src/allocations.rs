//! An allocator that counts the peak bytes of each thread.
#![expect(unsafe_code, reason = "an allocator is unsafe by definition; each call is forwarded as it came")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// The system's allocator, with the bytes of each thread beside. A test program has it as its
/// `#[global_allocator]`.
#[derive(Debug, Clone, Copy)]
pub struct CountingAllocator;

thread_local! {
    /// Bytes that this thread has, and the most that it had.
    static BYTES: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(change: isize) {
    // A thread that ends may free when its counter is gone already.
    let _ = BYTES.try_with(|bytes| {
        let (now, most) = bytes.get();
        bytes.set((now + change, most.max(now + change)));
    });
}

fn size(layout: Layout) -> isize {
    isize::try_from(layout.size()).unwrap_or(isize::MAX)
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both are there while the system copies.
        count(isize::try_from(new_size).unwrap_or(isize::MAX));
        let moved = unsafe { System.realloc(pointer, layout, new_size) };
        count(-size(layout));
        moved
    }
}

/// The bytes that this thread has.
pub fn live_bytes() -> isize {
    BYTES.with(Cell::get).0
}

/// The peak bytes of this thread beyond its earlier ones, until a future was ready.
pub async fn peak_bytes<T>(future: impl Future<Output = T>) -> (usize, T) {
    let mut future = pin!(future);
    let mut most = 0;
    let before = BYTES.with(Cell::get).0;
    let value = std::future::poll_fn(|context| {
        BYTES.with(|bytes| bytes.set((bytes.get().0, bytes.get().0)));
        let polled = future.as_mut().poll(context);
        most = most.max(BYTES.with(Cell::get).1 - before);
        match polled {
            Poll::Ready(value) => Poll::Ready(value),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    (usize::try_from(most).unwrap_or(0), value)
}
