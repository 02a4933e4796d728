import { useEffect, useEffectEvent, useRef } from "react";
import { useMutation, useQuery } from "urql";
import { Link } from "wouter";

import { Markdown } from "../markdown/Markdown.js";
import { Avatar } from "../ui/Avatar.js";
import { Confirm } from "../ui/Confirm.js";
import { FormError } from "../ui/FormError.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { useHash } from "../ui/use-hash.js";
import { When } from "../ui/When.js";
import { COMMENTS_OF_PAGE } from "./comment-limits.js";
import { CommentForm } from "./CommentForm.js";
import { CommentsDocument, DeleteCommentDocument, type CommentItemFragment } from "./comments.generated.js";

/** The heading, which has the focus after a comment was deleted. */
const TITLE_ID = "comments-title";

/** A post's comments, oldest first, and the place to write one. */
export function Comments({ post }: { post: { id: string; commentCount: number } }) {
  const [pages, showMore] = useShownPages(`comments of ${post.id}`);
  const hash = useHash();
  const linked = hash.startsWith(anchorOf("")) ? hash : null;
  return (
    <section className="comments" aria-labelledby={TITLE_ID}>
      <h2 id={TITLE_ID} tabIndex={-1} aria-live="polite">
        {post.commentCount === 0 ? "No comments yet" : counted(post.commentCount, "comment")}
      </h2>
      <ol className="comment-list">
        <CommentPage post={post} pages={pages} linked={linked} onMore={showMore} />
      </ol>
      <CommentForm postId={post.id} />
    </section>
  );
}

function CommentPage({
  post,
  after,
  pages,
  linked,
  onMore,
}: {
  post: { id: string };
  after?: string;
  pages: number;
  /** The linked comment that was not found on the pages until here; null where there is none. */
  linked: string | null;
  onMore: () => void;
}) {
  const [{ data, error }, readAgain] = useQuery({
    query: CommentsDocument,
    variables: { id: post.id, first: COMMENTS_OF_PAGE, ...(after === undefined ? {} : { after }) },
  });
  const comments = data?.post?.comments;
  if (comments === undefined) {
    return <li>{error === undefined ? <SkeletonLines lines={3} /> : <Failure error={error} onRetry={readAgain} />}</li>;
  }
  const { nodes, pageInfo } = comments;
  const stillLinked = linked !== null && nodes.some(({ id }) => anchorOf(id) === linked) ? null : linked;
  return (
    <>
      {nodes.map((comment) => (
        <li key={comment.id}>
          <Comment comment={comment} />
        </li>
      ))}
      {pageInfo.hasNextPage &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <CommentPage post={post} after={pageInfo.endCursor} pages={pages - 1} linked={stillLinked} onMore={onMore} />
        ) : (
          <li>
            <More label="Show more comments" onMore={onMore} isEndless={false} />
            {stillLinked !== null && <ReadOn key={pageInfo.endCursor} onMore={onMore} />}
          </li>
        ))}
    </>
  );
}

/** Reads on until the linked comment is there. */
function ReadOn({ onMore }: { onMore: () => void }) {
  const more = useEffectEvent(onMore);
  useEffect(() => {
    more();
  }, []);
  return null;
}

/** The fragment of an address that leads to a comment. */
function anchorOf(commentId: string): string {
  return `comment-${commentId}`;
}

function Comment({
  comment: { id, content, creationDate, author, viewerCanDelete },
}: {
  comment: CommentItemFragment & { viewerCanDelete: boolean };
}) {
  const [{ fetching, error }, deleteComment] = useMutation(DeleteCommentDocument);
  const anchor = anchorOf(id);
  const isLinked = useHash() === anchor;
  const article = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isLinked) {
      article.current?.scrollIntoView({ block: "center" });
      article.current?.focus({ preventScroll: true });
    }
  }, [isLinked]);
  return (
    <article ref={article} id={anchor} tabIndex={-1} className={isLinked ? "comment is-linked" : "comment"}>
      <p className="comment-meta">
        <Avatar id={author.id} name={author.username} />
        <Link href={`/users/${author.id}`}>
          <bdi>{author.username}</bdi>
        </Link>
        <span aria-hidden="true"> · </span>
        <a href={`#${anchor}`}>
          <span className="unseen">Link to the comment of </span>
          <When date={creationDate} />
        </a>
      </p>
      <Markdown text={content} />
      {viewerCanDelete && (
        <Confirm
          label="Delete"
          question="Delete this comment?"
          className="quiet"
          isBusy={fetching}
          onConfirm={() => {
            void deleteComment({ input: { commentId: id } }).then((result) => {
              if (result.error === undefined) {
                document.getElementById(TITLE_ID)?.focus();
              }
            });
          }}
        />
      )}
      <FormError error={error} />
    </article>
  );
}
