import { useState } from "react";
import { SettingsPart } from "../ui/SettingsPart.js";
import { exportOf } from "./export.js";

type State = "idle" | "reading" | "done" | "failed";

/** Downloads the user's posts, comments and likes as a JSON file. */
export function DownloadData({ user }: { user: { id: string; username: string } }) {
  const [state, setState] = useState<State>("idle");
  const download = async (): Promise<void> => {
    setState("reading");
    try {
      save(`${user.username}.json`, await exportOf(user));
      setState("done");
    } catch {
      setState("failed");
    }
  };
  return (
    <SettingsPart title="Download your data">
      <p>A JSON file with your posts, comments and likes.</p>
      <button
        type="button"
        className="button button-plain"
        aria-disabled={state === "reading"}
        onClick={() => {
          if (state !== "reading") {
            void download();
          }
        }}
      >
        {state === "reading" ? "One moment…" : "Download"}
      </button>
      <p role="status">{state === "done" && "Your file has been saved."}</p>
      {state === "failed" && (
        <p role="alert" className="field-error">
          Your data could not be read. Try again in a minute.
        </p>
      )}
    </SettingsPart>
  );
}

/** Has the browser save a text as a file. */
function save(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
