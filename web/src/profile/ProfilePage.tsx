import { useQuery } from "urql";
import { Link } from "wouter";
import { useSession } from "../api/session.js";
import { usePagePolicy } from "../api/embedded.js";
import { usePageTitle } from "../app/page-title.js";
import { Suspension } from "../moderation/Suspension.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { PostCard } from "../post/PostCard.js";
import { Avatar } from "../ui/Avatar.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonCards } from "../ui/Skeleton.js";
import "./profile.css";
import { ProfileDocument } from "./profile.generated.js";

/** Posts of one page of a profile. */
const PAGE_POSTS = 20;

/** A user with the user's posts. */
export default function ProfilePage({ params: { id = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  const [{ data, error }, readAgain] = useQuery({
    query: ProfileDocument,
    variables: { id, first: PAGE_POSTS },
    requestPolicy: usePagePolicy(),
  });
  const refresh = (): void => {
    readAgain({ requestPolicy: "network-only" });
  };
  const isMe = useSession()?.user.id === id;
  const [pages, showMore] = useShownPages(`posts of ${id}`);
  const user = data?.user;
  usePageTitle(user?.username ?? null, user == null ? undefined : `Posts by ${user.username}.`);
  if (user == null) {
    if (error?.networkError !== undefined) {
      return <Failure error={error} onRetry={refresh} />;
    }
    return data === undefined && error === undefined ? <SkeletonCards cards={4} /> : <NotFoundPage what="user" />;
  }
  return (
    <>
      <header className="profile">
        <Avatar id={id} name={user.username} size="large" />
        <div>
          <h1 dir="auto">{user.username}</h1>
          {!isMe && <Suspension userId={id} />}
        </div>
        {isMe && (
          <Link className="button button-plain" href="/settings">
            Account settings
          </Link>
        )}
      </header>
      {user.posts.nodes.length === 0 ? (
        <Notice
          title={
            isMe ? (
              "You have not written anything yet"
            ) : (
              <>
                <bdi>{user.username}</bdi> has not written anything yet
              </>
            )
          }
        >
          {isMe && (
            <Link className="button" href="/write">
              Write a post
            </Link>
          )}
        </Notice>
      ) : (
        <div className="cards">
          <Posts userId={id} pages={pages} onMore={showMore} />
        </div>
      )}
    </>
  );
}

function Posts({
  userId,
  after,
  pages,
  onMore,
}: {
  userId: string;
  after?: string;
  pages: number;
  onMore: () => void;
}) {
  const [{ data, error }, readAgain] = useQuery({
    query: ProfileDocument,
    variables: { id: userId, first: PAGE_POSTS, ...(after === undefined ? {} : { after }) },
  });
  const posts = data?.user?.posts;
  if (posts === undefined) {
    return error === undefined ? <SkeletonCards cards={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  const { nodes, pageInfo } = posts;
  return (
    <>
      {nodes.map((post) => (
        <PostCard key={post.id} post={post} hasAuthor={false} />
      ))}
      {pageInfo.hasNextPage &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <Posts userId={userId} after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <More label="Show older posts" onMore={onMore} />
        ))}
    </>
  );
}
