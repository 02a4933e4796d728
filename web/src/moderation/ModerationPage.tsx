import { useQuery } from "urql";
import { Link } from "wouter";
import { StaffOnly } from "../account/StaffOnly.js";
import { useViewerIsStaff } from "../account/viewer-is-staff.js";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { When } from "../ui/When.js";
import { ModerationLogDocument, type ModerationLogQuery } from "./moderation.generated.js";
import "./moderation.css";

/** Entries of one page of the log. */
const PAGE_ENTRIES = 20;

type Log = NonNullable<ModerationLogQuery["moderationLog"]>;
type Entry = Log["nodes"][number];

/** The log of moderation, for staff. */
export default function ModerationPage() {
  usePageTitle("Moderation log");
  const session = useSession();
  const isStaff = useViewerIsStaff();
  const [pages, showMore] = useShownPages("moderation");
  if (session === null) {
    return (
      <Notice heading="h1" title="Sign in as staff">
        <Link className="button" href="/signin?next=%2Fmoderation">
          Sign in
        </Link>
      </Notice>
    );
  }
  if (isStaff !== true) {
    return isStaff === null ? <SkeletonLines lines={4} /> : <StaffOnly />;
  }
  return (
    <section className="moderation">
      <h1>Moderation log</h1>
      <p>Deleted posts and comments, and suspended accounts, newest first. Entries are kept for two years.</p>
      <ol className="moderation-log">
        <Entries pages={pages} onMore={showMore} />
      </ol>
    </section>
  );
}

function Entries({ after, pages, onMore }: { after?: string; pages: number; onMore: () => void }) {
  const [{ data, error }, readAgain] = useQuery({
    query: ModerationLogDocument,
    variables: { first: PAGE_ENTRIES, ...(after === undefined ? {} : { after }) },
    requestPolicy: "cache-and-network",
  });
  const log = data?.moderationLog;
  if (log == null) {
    return <li>{error === undefined ? <SkeletonLines lines={4} /> : <Failure error={error} onRetry={readAgain} />}</li>;
  }
  const { nodes, pageInfo } = log;
  if (nodes.length === 0 && after === undefined) {
    return (
      <li>
        <Notice title="Nothing to see yet">
          <p>Deletions and suspensions appear here.</p>
        </Notice>
      </li>
    );
  }
  return (
    <>
      {nodes.map((entry) => (
        <li key={entry.id}>
          <p>
            <strong>
              <Name user={entry.staff} />
            </strong>{" "}
            <Act entry={entry} />
            <span aria-hidden="true"> · </span>
            <When date={entry.creationDate} />
          </p>
          {entry.reason !== null && <blockquote dir="auto">{entry.reason}</blockquote>}
        </li>
      ))}
      {pageInfo.hasNextPage &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <Entries after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <li>
            <More label="Show older entries" onMore={onMore} isEndless={false} />
          </li>
        ))}
    </>
  );
}

/** The act, as the rest of a sentence. */
function Act({ entry: { action, user, postId } }: { entry: Entry }) {
  switch (action) {
    case "DELETE_POST":
      return (
        <>
          deleted a post by <Name user={user} />
        </>
      );
    case "DELETE_COMMENT":
      return (
        <>
          deleted a comment by <Name user={user} />{" "}
          {postId !== null && (
            <>
              on <Link href={`/posts/${postId}`}>a post</Link>
            </>
          )}
        </>
      );
    case "SUSPEND_USER":
      return (
        <>
          suspended <Name user={user} />
        </>
      );
    case "UNSUSPEND_USER":
      return (
        <>
          ended the suspension of <Name user={user} />
        </>
      );
  }
}

function Name({ user }: { user: Entry["user"] }) {
  return user === null ? (
    "a deleted account"
  ) : (
    <Link href={`/users/${user.id}`}>
      <bdi>{user.username}</bdi>
    </Link>
  );
}
