import { lazy, Suspense, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { TextArea } from "../ui/Field.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { withMark, type Mark } from "./markdown-marks.js";
import "./editor.css";

const Markdown = lazy(() => import("../markdown/Markdown.js").then(({ Markdown }) => ({ default: Markdown })));

/** Buttons of the toolbar, each with the path of its icon. */
const MARKS: readonly { mark: Mark; name: string; icon: string }[] = [
  { mark: "bold", name: "Bold", icon: "M7 5h6a3.5 3.5 0 0 1 0 7H7zm0 7h7a3.5 3.5 0 0 1 0 7H7z" },
  { mark: "italic", name: "Italic", icon: "M10 5h8M6 19h8M14.5 5l-5 14" },
  { mark: "heading", name: "Heading", icon: "M6 5v14M18 5v14M6 12h12" },
  {
    mark: "link",
    name: "Link",
    icon: "M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1",
  },
  { mark: "quote", name: "Quote", icon: "M5 5v14M10 8h9M10 12h9M10 16h6" },
  { mark: "list", name: "List", icon: "M5 7h.01M5 12h.01M5 17h.01M10 7h9M10 12h9M10 17h9" },
  { mark: "code", name: "Code", icon: "M9 7l-5 5 5 5M15 7l5 5-5 5" },
];

/** Editor of a text in Markdown: a toolbar, and a preview that renders as the post will. */
export function MarkdownEditor({
  label,
  value,
  charsMax,
  error,
  onText,
}: {
  label: string;
  value: string;
  charsMax: number;
  error: string | undefined;
  onText: (text: string) => void;
}) {
  const [isPreview, setIsPreview] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const setMark = (mark: Mark): void => {
    const field = area.current;
    if (field !== null) {
      const changed = withMark({ text: value, start: field.selectionStart, end: field.selectionEnd }, mark);
      // The selection is set in the new text.
      flushSync(() => {
        onText(changed.text);
      });
      field.focus();
      field.setSelectionRange(changed.start, changed.end);
    }
  };
  return (
    <div className="editor">
      <div className="editor-bar">
        <div className="editor-views" role="group" aria-label="View">
          <View
            name="Edit"
            isChosen={!isPreview}
            onChoose={() => {
              setIsPreview(false);
            }}
          />
          <View
            name="Preview"
            isChosen={isPreview}
            onChoose={() => {
              setIsPreview(true);
            }}
          />
        </div>
        <div className="editor-marks" role="group" aria-label="Formatting">
          {MARKS.map(({ mark, name, icon }) => (
            <button
              key={mark}
              type="button"
              className="editor-mark"
              aria-label={name}
              title={name}
              disabled={isPreview}
              onClick={() => {
                setMark(mark);
              }}
            >
              <svg viewBox="0 0 24 24" aria-hidden="true">
                <path d={icon} />
              </svg>
            </button>
          ))}
        </div>
      </div>
      <div hidden={isPreview}>
        <TextArea
          ref={area}
          label={label}
          rows={16}
          value={value}
          charsMax={charsMax}
          error={error}
          hint="You can use Markdown. Ctrl+Enter sends."
          onText={onText}
        />
      </div>
      {isPreview && (
        <section className="editor-preview" aria-label="Preview">
          {value.trim() === "" ? (
            <p className="editor-nothing">Nothing to preview yet.</p>
          ) : (
            <Suspense fallback={<SkeletonLines lines={6} />}>
              <Markdown text={value} />
            </Suspense>
          )}
        </section>
      )}
    </div>
  );
}

function View({ name, isChosen, onChoose }: { name: string; isChosen: boolean; onChoose: () => void }) {
  return (
    <button type="button" className="editor-view" aria-pressed={isChosen} onClick={onChoose}>
      {name}
    </button>
  );
}
