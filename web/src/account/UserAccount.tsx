import { Link, useLocation } from "wouter";
import { endSession, useSession } from "../api/session.js";
import { Avatar } from "../ui/Avatar.js";

/** The account of the blog in the masthead: the user, or the way to sign in. */
export function UserAccount() {
  const session = useSession();
  const [pathname] = useLocation();
  if (session === null) {
    const next = pathname === "/" ? "" : `?next=${encodeURIComponent(`${pathname}${location.search}`)}`;
    return (
      pathname !== "/signin" && (
        <div className="account">
          <Link className="button" href={`/signin${next}`}>
            Sign in
          </Link>
        </div>
      )
    );
  }
  const { id, username } = session.user;
  return (
    <div className="account">
      <Link className="button" href="/write">
        Write
      </Link>
      <Link className="account-name" href={`/users/${id}`}>
        <Avatar id={id} name={username} />
        <bdi>{username}</bdi>
      </Link>
      <button type="button" className="quiet" onClick={endSession}>
        Sign out
      </button>
    </div>
  );
}
