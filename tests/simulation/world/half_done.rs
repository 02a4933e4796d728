//! Commands that may have ended between two writes, and left a reservation.

use super::World;

/// Types of reservations, and the commands that write them.
const RESERVING: [(&str, &[&str]); 4] = [
    ("reservation", &["createDesk(", "updateDesk(", "deleteDesk(", "createPerson(", "updatePerson("]),
    ("reservationOfDeletedAccount", &["updateUser(", "createUser("]),
    ("skuReservation", &["createProduct(", "deleteProduct("]),
    ("emailReservation", &["createCustomer(", "changeCustomerEmailAddress("]),
];

impl World {
    /// Notes a command that reserves an SKU or an e-mail address, or gives one up, and may have ended between
    /// two writes.
    pub fn may_be_half_done(&self, query: &str) {
        for (reservations, commands) in RESERVING {
            if commands.iter().any(|command| query.contains(command)) {
                *self.half_done.lock().entry(reservations).or_default() += 1;
            }
        }
    }

    /// The number of commands that may each have left a reservation of this type.
    pub fn half_done(&self, reservations: &str) -> u64 {
        self.half_done.lock().get(reservations).copied().unwrap_or(0)
    }
}
