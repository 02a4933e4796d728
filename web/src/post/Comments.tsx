import { useMutation, useQuery } from "urql";
import { Link } from "wouter";
import { messageOf } from "../api/errors.js";
import { Markdown } from "../markdown/Markdown.js";
import { Confirm } from "../ui/Confirm.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { When } from "../ui/When.js";
import { COMMENTS_OF_PAGE } from "./comment-limits.js";
import { CommentForm } from "./CommentForm.js";
import { CommentsDocument, DeleteCommentDocument, type CommentItemFragment } from "./comments.generated.js";

/** The heading, which has the focus after a comment was deleted. */
const TITLE_ID = "comments-title";

/** A post's comments, oldest first, and the place to write one. */
export function Comments({ post }: { post: { id: string; commentCount: number } }) {
  const [pages, showMore] = useShownPages(`comments of ${post.id}`);
  return (
    <section className="comments" aria-labelledby={TITLE_ID}>
      <h2 id={TITLE_ID} tabIndex={-1} aria-live="polite">
        {post.commentCount === 0 ? "No comments yet" : counted(post.commentCount, "comment")}
      </h2>
      <ol className="comment-list">
        <CommentPage post={post} pages={pages} onMore={showMore} />
      </ol>
      <CommentForm postId={post.id} />
    </section>
  );
}

function CommentPage({
  post,
  after,
  pages,
  onMore,
}: {
  post: { id: string };
  after?: string;
  pages: number;
  onMore: () => void;
}) {
  const [{ data, error }, readAgain] = useQuery({
    query: CommentsDocument,
    variables: { id: post.id, first: COMMENTS_OF_PAGE, ...(after === undefined ? {} : { after }) },
  });
  const comments = data?.post?.comments;
  if (comments === undefined) {
    return (
      <li>
        {error === undefined ? (
          <SkeletonLines lines={3} />
        ) : (
          <Failure
            error={error}
            onRetry={() => {
              readAgain({ requestPolicy: "network-only" });
            }}
          />
        )}
      </li>
    );
  }
  const { nodes, pageInfo } = comments;
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
          <CommentPage post={post} after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <li>
            <More label="Show more comments" onMore={onMore} isEndless={false} />
          </li>
        ))}
    </>
  );
}

function Comment({
  comment: { id, content, creationDate, author, viewerCanDelete },
}: {
  comment: CommentItemFragment & { viewerCanDelete: boolean };
}) {
  const [{ fetching, error }, deleteComment] = useMutation(DeleteCommentDocument);
  return (
    <article className="comment">
      <p className="comment-meta">
        <Link href={`/users/${author.id}`}>
          <bdi>{author.username}</bdi>
        </Link>
        <span aria-hidden="true"> · </span>
        <When date={creationDate} />
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
      {error !== undefined && (
        <p role="alert" className="field-error">
          {messageOf(error)}
        </p>
      )}
    </article>
  );
}
