import { useEffect, useRef, useState } from "react";

/**
 * A button that asks before an action that cannot be undone. Escape keeps the item, and the focus returns to
 * the button.
 */
export function Confirm({
  label,
  question,
  isBusy,
  onConfirm,
  keep: keepLabel = "Cancel",
  className = "button button-plain",
}: {
  label: string;
  question: string;
  isBusy: boolean;
  onConfirm: () => void;
  /** The button that changes nothing. */
  keep?: string;
  className?: string;
}) {
  const [isAsking, setIsAsking] = useState(false);
  const ask = useRef<HTMLButtonElement>(null);
  const keep = useRef<HTMLButtonElement>(null);
  const hasAsked = useRef(false);
  useEffect(() => {
    if (isAsking) {
      hasAsked.current = true;
      keep.current?.focus();
    } else if (hasAsked.current) {
      ask.current?.focus();
    }
  }, [isAsking]);
  const keepOnEscape = ({ key }: { key: string }): void => {
    if (key === "Escape") {
      setIsAsking(false);
    }
  };
  if (!isAsking) {
    return (
      <button
        ref={ask}
        type="button"
        className={className}
        aria-disabled={isBusy}
        onClick={() => {
          setIsAsking(!isBusy);
        }}
      >
        {label}
      </button>
    );
  }
  return (
    <span className="confirm" role="group" aria-label={question}>
      <span>{question}</span>
      <button
        type="button"
        className="button button-danger"
        onKeyDown={keepOnEscape}
        onClick={() => {
          setIsAsking(false);
          onConfirm();
        }}
      >
        {label}
      </button>
      <button
        ref={keep}
        type="button"
        className="button button-plain"
        onKeyDown={keepOnEscape}
        onClick={() => {
          setIsAsking(false);
        }}
      >
        {keepLabel}
      </button>
    </span>
  );
}
