import { useState } from "react";
import { Link } from "wouter";
import { useViewerIsStaff } from "../account/viewer-is-staff.js";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";
import { SettingsPart } from "../ui/SettingsPart.js";
import { ChangePassword } from "./ChangePassword.js";
import { DeleteAccount } from "./DeleteAccount.js";
import { DownloadData } from "./DownloadData.js";
import { Rename } from "./Rename.js";

/** The account of the signed-in user: username, password, data, and its end. */
export default function SettingsPage() {
  usePageTitle("Account settings");
  const [isDeleted, setIsDeleted] = useState(false);
  const session = useSession();
  const isStaff = useViewerIsStaff();
  if (isDeleted) {
    return (
      <Notice heading="h1" title="Your account has been deleted">
        <p>Your posts, comments and likes are being removed now.</p>
        <Link className="button" href="/">
          To the blog
        </Link>
      </Notice>
    );
  }
  if (session === null) {
    return (
      <Notice heading="h1" title="Sign in to see your account">
        <Link className="button" href="/signin?next=%2Fsettings">
          Sign in
        </Link>
      </Notice>
    );
  }
  const { user } = session;
  return (
    <div className="settings">
      <h1>Account settings</h1>
      {isStaff === true && (
        <p>
          You are staff: see the <Link href="/moderation">moderation log</Link> and the{" "}
          <Link href="/shop/staff">staff pages of the shop</Link>.
        </p>
      )}
      <SettingsPart title="Username">
        <p>
          <bdi>{user.username}</bdi>
        </p>
        <Rename userId={user.id} />
      </SettingsPart>
      <SettingsPart title="Password">
        <ChangePassword username={user.username} />
      </SettingsPart>
      <DownloadData user={user} />
      {isStaff === false && (
        <DeleteAccount
          username={user.username}
          onDeleted={() => {
            setIsDeleted(true);
          }}
        />
      )}
    </div>
  );
}
