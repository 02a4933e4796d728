import { useId, type ComponentProps, type InputHTMLAttributes } from "react";
import { limitInWords, lengthOf } from "./limits.js";
import "./field.css";

interface FieldProps {
  label: string;
  /** The problem with the typed text. */
  error?: string | undefined;
  hint?: string;
  /** The most characters that the server accepts. The field shows how many are left. */
  charsMax?: number;
  value: string;
  onText: (text: string) => void;
}

/** A line to type into, with its label, its limit and its problem. */
export function TextField({
  label,
  error,
  hint,
  charsMax,
  value,
  onText,
  ...input
}: FieldProps & Omit<InputHTMLAttributes<HTMLInputElement>, "value">) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        id={id}
        value={value}
        aria-describedby={`${id}-note`}
        aria-invalid={error !== undefined || isTooLong(value, charsMax)}
        onChange={(event) => {
          onText(event.target.value);
        }}
      />
      <Note id={`${id}-note`} error={error} hint={hint} value={value} charsMax={charsMax} />
    </div>
  );
}

/** Several lines to type into. Ctrl+Enter, or Cmd+Enter, submits the form. */
export function TextArea({
  label,
  error,
  hint,
  charsMax,
  value,
  onText,
  ...area
}: FieldProps & Omit<ComponentProps<"textarea">, "value">) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        {...area}
        id={id}
        value={value}
        aria-describedby={`${id}-note`}
        aria-invalid={error !== undefined || isTooLong(value, charsMax)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }
        }}
        onChange={(event) => {
          onText(event.target.value);
        }}
      />
      <Note id={`${id}-note`} error={error} hint={hint} value={value} charsMax={charsMax} />
    </div>
  );
}

function Note({
  id,
  error,
  hint,
  value,
  charsMax,
}: {
  id: string;
  error: string | undefined;
  hint: string | undefined;
  value: string;
  charsMax: number | undefined;
}) {
  return (
    <p id={id} className="field-note">
      {error === undefined ? (
        <span>{hint}</span>
      ) : (
        <span role="alert" className="field-error">
          {error}
        </span>
      )}
      {charsMax !== undefined && (
        <span className={isTooLong(value, charsMax) ? "field-limit field-error" : "field-limit"}>
          {limitInWords(value, charsMax)}
        </span>
      )}
    </p>
  );
}

function isTooLong(value: string, charsMax: number | undefined): boolean {
  return charsMax !== undefined && lengthOf(value) > charsMax;
}
