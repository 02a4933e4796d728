import type { CombinedError } from "urql";
import { codeOf, messageOf } from "../api/errors.js";
import { TextArea } from "../ui/Field.js";
import { COMMENT_CHARS_MAX } from "./comment-limits.js";

/** The text of a comment in a form. An error of the sign-in is shown elsewhere. */
export function CommentTextArea({
  label,
  action,
  content,
  error,
  onContent,
}: {
  label: string;
  /** The verb for Ctrl+Enter. */
  action: "saves" | "sends";
  content: string;
  error: CombinedError | undefined;
  onContent: (content: string) => void;
}) {
  return (
    <TextArea
      label={label}
      rows={4}
      value={content}
      charsMax={COMMENT_CHARS_MAX}
      error={error === undefined || codeOf(error) === "UNAUTHENTICATED" ? undefined : messageOf(error)}
      hint={`You can use Markdown. Ctrl+Enter ${action}.`}
      onText={onContent}
    />
  );
}
