import { useEffect, useRef, useState } from "react";

/** A button that asks before it does what cannot be undone. */
export function Confirm({ label, question, isBusy, onConfirm, className = "button button-plain" }: {
  label: string;
  question: string;
  isBusy: boolean;
  onConfirm: () => void;
  className?: string;
}) {
  const [isAsking, setIsAsking] = useState(false);
  const no = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isAsking) {
      no.current?.focus();
    }
  }, [isAsking]);
  if (!isAsking) {
    return (
      <button type="button" className={className} disabled={isBusy} onClick={() => { setIsAsking(true); }}>
        {label}
      </button>
    );
  }
  return (
    <span className="confirm" role="group" aria-label={question}>
      <span>{question}</span>
      <button type="button" className="button button-danger" onClick={() => { setIsAsking(false); onConfirm(); }}>
        {label}
      </button>
      <button ref={no} type="button" className="button button-plain" onClick={() => { setIsAsking(false); }}>
        Keep
      </button>
    </span>
  );
}
