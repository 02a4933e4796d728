import { Component, type ReactNode } from "react";
import { Notice } from "../ui/Notice.js";

/** Stands for a page whose code fails, or did not arrive. */
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
        <p>Either the server is out of reach, or something is wrong with the page itself.</p>
        <button type="button" className="button" onClick={() => { location.reload(); }}>
          Load it again
        </button>
      </Notice>
    );
  }
}
