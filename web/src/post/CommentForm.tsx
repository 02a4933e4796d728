import { useRef } from "react";
import { useMutation } from "urql";
import { Link, useLocation } from "wouter";
import { useContinuation } from "../account/use-continuation.js";
import { codeOf, messageOf } from "../api/errors.js";
import { useSession } from "../api/session.js";
import { useDraft } from "../ui/draft.js";
import { TextArea } from "../ui/Field.js";
import { lengthOf } from "../ui/limits.js";
import { COMMENT_CHARS_MAX } from "./comment-limits.js";
import { CreateCommentDocument } from "./comments.generated.js";

/** Where one comments on a post. Typed text is kept until the server has taken it. */
export function CommentForm({ postId }: { postId: string }) {
  const session = useSession();
  const { draft, change, forget } = useDraft(session?.user.id ?? null, `comment on ${postId}`, { content: "" });
  const [{ fetching, error }, createComment] = useMutation(CreateCommentDocument);
  const [pathname] = useLocation();
  const form = useRef<HTMLFormElement>(null);
  const { content } = draft.fields;
  const fits = content.trim() !== "" && lengthOf(content) <= COMMENT_CHARS_MAX;
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
      <TextArea
        label="Your comment"
        rows={4}
        value={content}
        charsMax={COMMENT_CHARS_MAX}
        error={error === undefined || codeOf(error) === "UNAUTHENTICATED" ? undefined : messageOf(error)}
        hint="You can use Markdown. Ctrl+Enter sends."
        onText={(text) => {
          change({ content: text });
        }}
      />
      <button type="submit" className="button" disabled={!fits}>
        {fetching ? "Sending…" : "Comment"}
      </button>
    </form>
  );
}
