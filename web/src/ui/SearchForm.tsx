import { useId, useState } from "react";
import "./field.css";
import "./search-form.css";

/** The most characters of a search that the server accepts. */
const SEARCH_CHARS_MAX = 100;

/** Form of a search. The address of the page has its words, which a reload and the back button keep. */
export function SearchForm({
  label,
  words,
  onSearch,
}: {
  label: string;
  words: string;
  onSearch: (words: string) => void;
}) {
  const id = useId();
  const [text, setText] = useState(words);
  const [shown, setShown] = useState(words);
  if (shown !== words) {
    // The back button has changed the address.
    setShown(words);
    setText(words);
  }
  return (
    <form
      role="search"
      className="field search-form"
      onSubmit={(event) => {
        event.preventDefault();
        const typed = text.trim();
        if (typed !== "") {
          onSearch(typed);
        }
      }}
    >
      <label htmlFor={id}>{label}</label>
      <div>
        <input
          id={id}
          type="search"
          name="q"
          value={text}
          maxLength={SEARCH_CHARS_MAX}
          autoComplete="off"
          enterKeyHint="search"
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
        <button type="submit" className="button">
          Search
        </button>
      </div>
    </form>
  );
}
