//! Living sessions: the sessions of the blog that no request can have ended, so that none of their requests
//! may be refused.

use super::World;
use crate::plan::MODEL;

impl World {
    /// A request may end all sessions of a user.
    pub fn may_end_sessions(&self, user: &str) {
        self.users_without_sessions.lock().insert(user.to_owned());
    }

    /// A request may end a session.
    pub fn may_end_session(&self, session: usize) {
        self.ended_sessions.lock().insert(session);
    }

    /// The user of a session that nothing can have ended, as far as clients know.
    pub fn user_of_living(&self, session: usize) -> Option<String> {
        let user = self.users.lock()[session].clone();
        let is_certain = self.plan.domain != MODEL
            && !self.plan.has_second_month
            && !self.counts().contains_key("clock step")
            && !self.store.was_damaged()
            && !self.shop_users.lock().contains(&user)
            && !self.users_without_sessions.lock().contains(&user)
            && !self.ended_sessions.lock().contains(&session);
        is_certain.then_some(user)
    }
}
