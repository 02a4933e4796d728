import { useEffect, useRef } from "react";
import { useMutation } from "urql";
import { useContinuation } from "../account/use-continuation.js";
import { Markdown } from "../markdown/Markdown.js";
import { useDraft } from "../ui/draft.js";
import { CommentTextArea } from "./CommentTextArea.js";
import { fitsComment } from "./comment-limits.js";
import { UpdateCommentDocument, type CommentItemFragment } from "./comments.generated.js";

/**
 * Where an author changes a comment. Typed text is kept until the server has taken it. A change from
 * elsewhere meanwhile is shown, and not overwritten unseen.
 */
export function CommentEdit({
  comment: { id, content: saved, version, author },
  onEnd,
}: {
  comment: CommentItemFragment;
  onEnd: () => void;
}) {
  const empty = { content: saved, seen: String(version) };
  const { draft, change, forget } = useDraft(author.id, `edit of comment ${id}`, empty);
  const [{ fetching, error }, updateComment] = useMutation(UpdateCommentDocument);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector("textarea")?.focus();
  }, []);
  const { content } = draft.fields;
  /** The version that the author has seen. */
  const seen = Number(draft.fields.seen);
  const isLate = version !== seen && !fetching;
  const fits = fitsComment(content);
  const end = (): void => {
    forget();
    onEnd();
  };
  const save = async (): Promise<void> => {
    if (content === saved) {
      end();
      return;
    }
    const result = await updateComment({ input: { commentId: id, content, ifVersion: seen } });
    if (result.data?.updateComment != null) {
      end();
    }
  };
  useContinuation(error, () => {
    void save();
  });
  return (
    <form
      ref={form}
      className="comment-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (fits && !fetching && !isLate) {
          void save();
        }
      }}
    >
      <CommentTextArea
        label="Edit your comment"
        action="saves"
        content={content}
        error={isLate ? undefined : error}
        onContent={(text) => {
          change({ content: text });
        }}
      />
      {isLate && (
        <div role="alert" className="comment-late">
          <p className="field-error">This comment was changed elsewhere. It reads now:</p>
          <Markdown text={saved} />
          <button
            type="button"
            className="button button-plain"
            onClick={() => {
              change({ seen: String(version) });
            }}
          >
            Keep my text
          </button>
        </div>
      )}
      <button type="submit" className="button" disabled={!fits || isLate}>
        {fetching ? "Saving…" : "Save"}
      </button>{" "}
      <button type="button" className="quiet" onClick={end}>
        Cancel
      </button>
    </form>
  );
}
