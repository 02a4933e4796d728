//! The memory of plans: an estimate of the bytes that a plan takes beside its own size.

use super::plan::{ConnectionPlan, ConnectionValue, EdgeValue, Fields, ObjectValue, PageInfoValue, Plan};
use super::plan::{PlannedField, PointPlan, RootValue};

/// Bytes that an allocation takes beside its content.
const ALLOCATION_BYTES: usize = 16;

impl Plan {
    /// Bytes of memory that the plan takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.roots.heap_bytes() + list_bytes(&self.models)
    }
}

/// Bytes on the heap.
trait HeapBytes {
    fn heap_bytes(&self) -> usize;
}

fn list_bytes<T>(list: &Vec<T>) -> usize {
    ALLOCATION_BYTES + list.capacity() * size_of::<T>()
}

impl<V: HeapBytes> HeapBytes for Fields<V> {
    fn heap_bytes(&self) -> usize {
        let of_field = |field: &PlannedField<V>| field.before.heap_bytes() + field.value.heap_bytes();
        list_bytes(&self.fields) + self.fields.iter().map(of_field).sum::<usize>()
    }
}

impl HeapBytes for Box<[u8]> {
    fn heap_bytes(&self) -> usize {
        ALLOCATION_BYTES + self.len()
    }
}

impl HeapBytes for PointPlan {
    fn heap_bytes(&self) -> usize {
        let lists = self.lists.iter().map(HeapBytes::heap_bytes).sum::<usize>();
        self.object.heap_bytes() + list_bytes(&self.lists) + lists
    }
}

impl HeapBytes for ConnectionPlan {
    fn heap_bytes(&self) -> usize {
        self.fields.heap_bytes()
    }
}

impl HeapBytes for RootValue {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Constant(bytes) => bytes.heap_bytes(),
            Self::Point(_, _, point) | Self::Caller(_, point) => point.heap_bytes(),
            Self::Node(_, points) => {
                list_bytes(points) + points.iter().map(|(_, point)| point.heap_bytes()).sum::<usize>()
            }
            Self::Page(page) => page.heap_bytes(),
            Self::All(_, fields) => fields.heap_bytes(),
        }
    }
}

impl HeapBytes for ObjectValue {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Constant(bytes) => bytes.heap_bytes(),
            Self::Object(fields) | Self::Objects(_, _, fields) | Self::Beside(fields) => fields.heap_bytes(),
            _ => 0,
        }
    }
}

impl HeapBytes for ConnectionValue {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Constant(bytes) => bytes.heap_bytes(),
            Self::Nodes(fields) => fields.heap_bytes(),
            Self::Edges(fields) => fields.heap_bytes(),
            Self::PageInfo(fields) => fields.heap_bytes(),
        }
    }
}

impl HeapBytes for EdgeValue {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Constant(bytes) => bytes.heap_bytes(),
            Self::Node(fields) => fields.heap_bytes(),
            Self::Cursor => 0,
        }
    }
}

impl HeapBytes for PageInfoValue {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Constant(bytes) => bytes.heap_bytes(),
            Self::HasNextPage | Self::HasPreviousPage | Self::StartCursor | Self::EndCursor => 0,
        }
    }
}
