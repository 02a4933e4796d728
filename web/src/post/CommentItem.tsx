import { useEffect, useRef, useState } from "react";
import { useMutation } from "urql";
import { Link } from "wouter";
import { Markdown } from "../markdown/Markdown.js";
import { ReasonForm } from "../moderation/ReasonForm.js";
import { Avatar } from "../ui/Avatar.js";
import { Confirm } from "../ui/Confirm.js";
import { FormError } from "../ui/FormError.js";
import { useHash } from "../ui/use-hash.js";
import { When } from "../ui/When.js";
import { anchorOf } from "./comment-anchor.js";
import { CommentEdit } from "./CommentEdit.js";
import { DeleteCommentDocument, type CommentItemFragment } from "./comments.generated.js";

export type ShownComment = CommentItemFragment & { viewerCanUpdate: boolean; viewerCanDelete: boolean };

/** A comment, with its link and the actions that its reader may take. */
export function CommentItem({
  comment,
  ownsPost,
  onDeleted,
}: {
  comment: ShownComment;
  /** Whether the reader wrote the post. */
  ownsPost: boolean;
  onDeleted: () => void;
}) {
  const { id, content, creationDate, updateDate, author } = comment;
  const [isEdited, setIsEdited] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const anchor = anchorOf(id);
  const isLinked = useHash() === anchor;
  const article = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isLinked) {
      article.current?.scrollIntoView({ block: "center" });
      article.current?.focus({ preventScroll: true });
    }
  }, [isLinked]);
  const hasEdited = useRef(false);
  useEffect(() => {
    if (!isEdited && hasEdited.current) {
      edit.current?.focus();
    }
    hasEdited.current = isEdited;
  }, [isEdited]);
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
        {updateDate !== null && (
          <>
            <span aria-hidden="true"> · </span>
            <span className="comment-edited">
              edited <When date={updateDate} />
            </span>
          </>
        )}
      </p>
      {isEdited ? (
        <CommentEdit
          comment={comment}
          onEnd={() => {
            setIsEdited(false);
          }}
        />
      ) : (
        <>
          <Markdown text={content} />
          {(comment.viewerCanUpdate || comment.viewerCanDelete) && (
            <div className="comment-actions">
              {comment.viewerCanUpdate && (
                <button
                  ref={edit}
                  type="button"
                  className="quiet"
                  onClick={() => {
                    setIsEdited(true);
                  }}
                >
                  Edit
                </button>
              )}
              {comment.viewerCanDelete && (
                <Deletion id={id} isOwn={comment.viewerCanUpdate || ownsPost} onDeleted={onDeleted} />
              )}
            </div>
          )}
        </>
      )}
    </article>
  );
}

/** Deleting a comment. Staff give a reason for the removal of a comment that is no matter of their own. */
function Deletion({ id, isOwn, onDeleted }: { id: string; isOwn: boolean; onDeleted: () => void }) {
  const [{ fetching, error }, deleteComment] = useMutation(DeleteCommentDocument);
  const remove = async (reason: string | null): Promise<boolean> => {
    const { data } = await deleteComment({ input: reason === null ? { commentId: id } : { commentId: id, reason } });
    const isDone = data?.deleteComment != null;
    if (isDone) {
      onDeleted();
    }
    return isDone;
  };
  if (!isOwn) {
    return (
      <ReasonForm
        label="Remove comment"
        question="Remove this comment, as staff?"
        fetching={fetching}
        error={error}
        onSubmit={remove}
      />
    );
  }
  return (
    <>
      <Confirm
        label="Delete"
        question="Delete this comment?"
        className="quiet"
        isBusy={fetching}
        onConfirm={() => void remove(null)}
      />
      <FormError error={error} />
    </>
  );
}
