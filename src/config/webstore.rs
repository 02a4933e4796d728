//! Web store settings: who its staff are.

use clap::Args;

use super::SettingError;
use crate::accounts::Username;
use crate::blog::commands::ListedUser;
use crate::graphql::GlobalId;

/// The staff of the demo: one of the demo users.
const DEMO_STAFF: &str = "ada";

/// Settings of the web store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Web store")]
pub struct WebstoreSettings {
    /// Staff, as usernames or user ids of the API with commas between them; with --model, as logins. Of the
    /// web store, they may change the catalogue, ship orders and see all customers. A username or login is
    /// resolved to its user at the start and protected: no other user can take it, and its user keeps it.
    /// --production needs users that exist
    /// [default: none; `ada` with --demo]
    #[arg(long, value_name = "USERS", env = "ONEHOP_STAFF", value_delimiter = ',')]
    pub staff: Vec<String>,
}

impl WebstoreSettings {
    /// The staff as it is listed; in the demo there is always a member.
    ///
    /// # Errors
    /// A text that is neither a username nor the id of a user.
    pub fn listed(&self, is_demo: bool) -> Result<Vec<ListedUser>, SettingError> {
        let demo = (is_demo && self.staff.is_empty()).then(|| DEMO_STAFF.to_owned());
        let listed = self.staff.iter().cloned().chain(demo).map(|text| {
            parse_user(&text)
                .map_err(|rule| SettingError::new(format!("--staff {text:?}: a username {rule}")))
        });
        listed.collect()
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
        let named = WebstoreSettings { staff: vec!["Eve".to_owned()] };
        let none = WebstoreSettings { staff: Vec::new() };
        assert_eq!(none.listed(false).unwrap(), []);
        assert_eq!(none.listed(true).unwrap(), [name("ada")]);
        assert_eq!(named.listed(true).unwrap(), [name("Eve")]);
        assert_eq!(named.listed(false).unwrap(), [name("Eve")]);
    }

    #[test]
    fn staff_is_listed_by_username_or_by_user_id() {
        let user = UserId(Uuid::from_u128(7));
        assert_eq!(parse_user(&GlobalId::User(user).encode()), Ok(ListedUser::Id(user)));
        assert_eq!(parse_user(" ada "), Ok(ListedUser::Name(Username::parse("ada").unwrap())));
        assert!(parse_user("no name").is_err());
    }
}
