import { Component, type ReactNode } from "react";
import { useOnReconnect } from "../api/connection.js";
import { Notice } from "../ui/Notice.js";

/** Error boundary of a page: stands for one whose code fails, or did not arrive. It loads again when the connection is back. */
export class Failing extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) {
      return this.props.children;
    }
    return (
      <Notice title="This page could not be shown" kind="failure">
        <p>The server could not be reached, or the page has an error.</p>
        <button type="button" className="button" onClick={reload}>
          Load it again
        </button>
        <ReloadOnReconnect />
      </Notice>
    );
  }
}

function ReloadOnReconnect(): ReactNode {
  useOnReconnect(reload);
  return null;
}

function reload(): void {
  location.reload();
}
