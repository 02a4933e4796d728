import { useEffect, useEffectEvent } from "react";
import { useQuery } from "urql";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { useHash } from "../ui/use-hash.js";
import { anchorOf } from "./comment-anchor.js";
import { COMMENTS_OF_PAGE } from "./comment-limits.js";
import { CommentForm } from "./CommentForm.js";
import { CommentItem } from "./CommentItem.js";
import { CommentsDocument } from "./comments.generated.js";

/** The heading, which has the focus after a comment was deleted. */
const TITLE_ID = "comments-title";

interface CommentedPost {
  id: string;
  viewerCanUpdate: boolean;
}

/** A post's comments, oldest first, and the place to write one. */
export function Comments({ post }: { post: CommentedPost & { commentCount: number } }) {
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
  post: CommentedPost;
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
          <CommentItem
            comment={comment}
            ownsPost={post.viewerCanUpdate}
            onDeleted={() => {
              document.getElementById(TITLE_ID)?.focus();
            }}
          />
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
