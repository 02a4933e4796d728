//! Web store settings: who its staff are.

use clap::Args;

use crate::accounts::Username;
use crate::webstore::staff::Staff;

/// The staff of the demo: one of the demo users.
const DEMO_STAFF: &str = "ada";

/// Settings of the web store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Web store")]
pub struct WebstoreSettings {
    /// Staff, as usernames with commas between them: users who may change the catalogue, ship orders and see all
    /// customers. Whoever has such a name is staff, so the user should exist before [default: none; `ada` with
    /// --demo]
    #[arg(long, value_name = "USERNAMES", env = "ONEHOP_STAFF", value_delimiter = ',', value_parser = parse_username)]
    pub staff: Vec<Username>,
}

impl WebstoreSettings {
    /// The staff; in the demo there is always a member.
    #[must_use]
    pub fn staff(&self, is_demo: bool) -> Staff {
        let demo = (is_demo && self.staff.is_empty()).then(|| Username::parse(DEMO_STAFF).ok()).flatten();
        Staff::new(self.staff.iter().chain(&demo))
    }
}

fn parse_username(text: &str) -> Result<Username, String> {
    Username::parse(text.trim()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_has_a_member_of_staff_unless_others_are_named() {
        let named = WebstoreSettings { staff: vec![Username::parse("Eve").unwrap()] };
        let none = WebstoreSettings { staff: Vec::new() };
        assert!(none.staff(false).is_empty());
        assert!(none.staff(true).member("Ada").is_some());
        assert!(named.staff(true).member("ada").is_none());
        assert!(named.staff(false).member("eve").is_some());
    }
}
