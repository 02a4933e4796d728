import { Link } from "wouter";
import { preloadRoute } from "../app/routes.js";
import { Avatar } from "../ui/Avatar.js";
import { counted } from "../ui/count.js";
import { Picture } from "../ui/Picture.js";
import { TagLinks } from "../ui/TagLinks.js";
import { When } from "../ui/When.js";
import type { PostCardFragment } from "./PostCard.generated.js";
import { postTagLinks } from "./post-tags.js";
import "./post-card.css";

/** A post in short form, as every list shows it. */
export function PostCard({ post, hasAuthor = true }: { post: PostCardFragment; hasAuthor?: boolean }) {
  const path = `/posts/${post.id}`;
  const preload = (): void => {
    void preloadRoute(path);
  };
  return (
    <article className="post-card">
      <Picture of={post.id} />
      <div className="post-card-text">
        {hasAuthor && (
          <p className="post-card-author">
            <Link href={`/users/${post.author.id}`}>
              <Avatar id={post.author.id} name={post.author.username} />
              <bdi>{post.author.username}</bdi>
            </Link>
          </p>
        )}
        <h2 dir="auto">
          <Link href={path} onPointerEnter={preload} onFocus={preload}>
            {post.title}
          </Link>
        </h2>
        <p className="post-card-summary" dir="auto">
          {post.summary}
        </p>
        <TagLinks tags={postTagLinks(post.tags)} />
        <p className="post-card-meta">
          <When date={post.creationDate} />
          <span aria-hidden="true"> · </span>
          <span>{counted(post.likeCount, "like")}</span>
          <span aria-hidden="true"> · </span>
          <span>{counted(post.commentCount, "comment")}</span>
        </p>
      </div>
    </article>
  );
}
