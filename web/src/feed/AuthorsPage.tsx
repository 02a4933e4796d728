import { useQuery } from "urql";
import { Link } from "wouter";
import { usePageTitle } from "../app/page-title.js";
import { Avatar } from "../ui/Avatar.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { When } from "../ui/When.js";
import "./authors.css";
import { AuthorsDocument } from "./authors.generated.js";
import { authorsOf } from "./authors.js";
import "./feed.css";

/** The authors of the latest posts, the most active first. */
export default function AuthorsPage() {
  usePageTitle("Authors", "The people who wrote the latest posts.");
  const [{ data, error }, readAgain] = useQuery({ query: AuthorsDocument, requestPolicy: "cache-and-network" });
  const posts = data?.feed?.nodes;
  if (posts === undefined) {
    return error === undefined ? <SkeletonLines lines={6} /> : <Failure error={error} onRetry={readAgain} />;
  }
  return (
    <>
      <header className="feed-intro">
        <h1>Authors</h1>
        <p>The people who wrote the latest posts</p>
      </header>
      {posts.length === 0 ? (
        <Notice title="No posts yet">
          <p>Be the first to write one.</p>
        </Notice>
      ) : (
        <ul className="authors">
          {authorsOf(posts).map(({ id, username, posts: count, lastDate }) => (
            <li key={id}>
              <Link href={`/users/${id}`}>
                <Avatar id={id} name={username} size="medium" />
                <bdi>{username}</bdi>
              </Link>
              <p>
                {counted(count, "recent post")}
                <span aria-hidden="true"> · </span>
                <When date={lastDate} />
              </p>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
