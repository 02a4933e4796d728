//! Web store settings: who its staff are.

use clap::Args;

use crate::accounts::Username;
use crate::blog::commands::ListedUser;
use crate::graphql::GlobalId;

/// The staff of the demo: one of the demo users.
const DEMO_STAFF: &str = "ada";

/// Settings of the web store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Web store")]
pub struct WebstoreSettings {
    /// Staff, as usernames or user ids of the API with commas between them: users who may change the
    /// catalogue, ship orders and see all customers. A username is resolved to its user at the start and
    /// protected: no other user can take it, and its user keeps it. --production needs users that exist
    /// [default: none; `ada` with --demo]
    #[arg(long, value_name = "USERS", env = "ONEHOP_STAFF", value_delimiter = ',', value_parser = parse_user)]
    pub staff: Vec<ListedUser>,
}

impl WebstoreSettings {
    /// The staff as it is listed; in the demo there is always a member.
    #[must_use]
    pub fn listed(&self, is_demo: bool) -> Vec<ListedUser> {
        let demo = (is_demo && self.staff.is_empty()).then(|| Username::parse(DEMO_STAFF).ok()).flatten();
        self.staff.iter().cloned().chain(demo.map(ListedUser::Name)).collect()
    }
}

fn parse_user(text: &str) -> Result<ListedUser, String> {
    match GlobalId::decode(text.trim()) {
        Ok(GlobalId::User(id)) => Ok(ListedUser::Id(id)),
        _ => Username::parse(text.trim()).map(ListedUser::Name).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::blog::ids::UserId;

    #[test]
    fn the_demo_has_a_member_of_staff_unless_others_are_listed() {
        let name = |typed: &str| ListedUser::Name(Username::parse(typed).unwrap());
        let named = WebstoreSettings { staff: vec![name("Eve")] };
        let none = WebstoreSettings { staff: Vec::new() };
        assert_eq!(none.listed(false), []);
        assert_eq!(none.listed(true), [name("ada")]);
        assert_eq!((named.listed(true), named.listed(false)), (vec![name("Eve")], vec![name("Eve")]));
    }

    #[test]
    fn staff_is_listed_by_username_or_by_user_id() {
        let user = UserId(Uuid::from_u128(7));
        assert_eq!(parse_user(&GlobalId::User(user).encode()), Ok(ListedUser::Id(user)));
        assert_eq!(parse_user(" ada "), Ok(ListedUser::Name(Username::parse("ada").unwrap())));
        assert!(parse_user("no name").is_err());
    }
}
