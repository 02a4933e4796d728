import { Component, type ReactNode } from "react";
import { useOnReconnect } from "../api/connection.js";
import { Notice } from "../ui/Notice.js";

/**
 * Error boundary of a page: stands for a page whose code fails, or did not arrive. It loads again when the
 * connection is back.
 */
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
      <Notice title="This page could not be loaded" kind="failure">
        <p>Check your connection and try again.</p>
        <button type="button" className="button" onClick={reload}>
          Reload
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
