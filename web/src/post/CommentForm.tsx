import { useRef } from "react";
import { useMutation } from "urql";
import { Link, useLocation } from "wouter";
import { useContinuation } from "../account/use-continuation.js";
import { useSession } from "../api/session.js";
import { useDraft } from "../ui/draft.js";
import { CommentTextArea } from "./CommentTextArea.js";
import { fitsComment } from "./comment-limits.js";
import { CreateCommentDocument } from "./comments.generated.js";

/** Where one comments on a post. Typed text is kept until the server has taken it. */
export function CommentForm({ postId }: { postId: string }) {
  const session = useSession();
  const { draft, change, forget } = useDraft(session?.user.id ?? null, `comment on ${postId}`, { content: "" });
  const [{ fetching, error }, createComment] = useMutation(CreateCommentDocument);
  const [pathname] = useLocation();
  const form = useRef<HTMLFormElement>(null);
  const { content } = draft.fields;
  const fits = fitsComment(content);
  const send = async (): Promise<void> => {
    const result = await createComment({ input: { postId, content, idempotencyKey: draft.idempotencyKey } });
    if (result.error === undefined) {
      // The button is disabled now, and would lose the focus to the page.
      form.current?.querySelector("textarea")?.focus();
      forget();
    }
  };
  useContinuation(error, () => {
    void send();
  });
  if (session === null) {
    return (
      <p className="comment-invitation">
        <Link href={`/signin?next=${encodeURIComponent(pathname)}`}>Sign in</Link> to comment.
      </p>
    );
  }
  return (
    <form
      ref={form}
      className="comment-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (fits && !fetching) {
          void send();
        }
      }}
    >
      <CommentTextArea
        label="Your comment"
        action="sends"
        content={content}
        error={error}
        onContent={(text) => {
          change({ content: text });
        }}
      />
      <button type="submit" className="button" disabled={!fits}>
        {fetching ? "Sending…" : "Comment"}
      </button>
    </form>
  );
}
