import type { CombinedError } from "@urql/core";
import type { ReactNode } from "react";
import { fieldOf, messageAt } from "../api/errors.js";
import { TextField } from "../ui/Field.js";
import { FormError } from "../ui/FormError.js";
import { lengthOf } from "../ui/limits.js";
import { MarkdownEditor } from "./MarkdownEditor.js";
import { TAGS_MAX } from "./tags.js";
import "./write.css";

const TITLE_CHARS_MAX = 200;
const CONTENT_CHARS_MAX = 100_000;

/** A post's title, tags and text, as they are typed. The text is last, since it is as tall as the window. */
export function PostForm({
  title,
  content,
  tags,
  error,
  isSending,
  label,
  isBlocked = false,
  onChange,
  onSend,
  children,
}: {
  title: string;
  content: string;
  /** The tags in one line. */
  tags: string;
  error: CombinedError | undefined;
  isSending: boolean;
  label: string;
  /** Whether the writer has to decide something before this can be sent. */
  isBlocked?: boolean;
  onChange: (fields: { title?: string; content?: string; tags?: string }) => void;
  onSend: () => void;
  children?: ReactNode;
}) {
  const fits = lengthOf(title) <= TITLE_CHARS_MAX && lengthOf(content) <= CONTENT_CHARS_MAX;
  const canSend = fits && title.trim() !== "" && content.trim() !== "" && !isSending && !isBlocked;
  const field = fieldOf(error);
  const errorAt = (name: string) => messageAt(error, name);
  return (
    <form
      className="post-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) {
          onSend();
        }
      }}
    >
      <TextField
        label="Title"
        value={title}
        charsMax={TITLE_CHARS_MAX}
        error={errorAt("title")}
        autoComplete="off"
        onText={(text) => {
          onChange({ title: text });
        }}
      />
      <TextField
        label="Tags"
        value={tags}
        hint={`Up to ${TAGS_MAX}, with commas between them: rust, databases`}
        error={errorAt("tags")}
        autoComplete="off"
        autoCapitalize="none"
        onText={(text) => {
          onChange({ tags: text });
        }}
      />
      <MarkdownEditor
        label="Text"
        value={content}
        charsMax={CONTENT_CHARS_MAX}
        error={errorAt("content")}
        onText={(text) => {
          onChange({ content: text });
        }}
      />
      {field === undefined && <FormError error={error} />}
      <div className="post-form-actions">
        <button type="submit" className="button" disabled={!canSend}>
          {isSending ? "Sending…" : label}
        </button>
        {children}
      </div>
    </form>
  );
}
