import { Link } from "wouter";
import { preloadRoute } from "../app/routes.js";
import { counted } from "../ui/count.js";
import { When } from "../ui/When.js";
import type { PostCardFragment } from "./PostCard.generated.js";
import "./post-card.css";

/** A post in short form, as every list shows it. */
export function PostCard({ post, hasAuthor = true }: { post: PostCardFragment; hasAuthor?: boolean }) {
  const path = `/posts/${post.id}`;
  return (
    <article className="post-card">
      <h2 dir="auto">
        <Link
          href={path}
          onPointerEnter={() => {
            preloadRoute(path);
          }}
          onFocus={() => {
            preloadRoute(path);
          }}
        >
          {post.title}
        </Link>
      </h2>
      <p className="post-card-summary" dir="auto">
        {post.summary}
      </p>
      <p className="post-card-meta">
        {hasAuthor && (
          <>
            <Link href={`/users/${post.author.id}`}>
              <bdi>{post.author.username}</bdi>
            </Link>
            <span aria-hidden="true"> · </span>
          </>
        )}
        <When date={post.creationDate} />
        <span aria-hidden="true"> · </span>
        <span>{counted(post.likeCount, "like")}</span>
        <span aria-hidden="true"> · </span>
        <span>{counted(post.commentCount, "comment")}</span>
      </p>
    </article>
  );
}
