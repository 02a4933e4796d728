import { useEffect } from "react";

const SITE = "Onehop";

/**
 * A title has no element that could isolate them, and one of them would reverse the following text. The
 * server leaves them out, too.
 */
const BIDIRECTIONAL_CONTROLS = /\p{Bidi_Control}/gu;

/** Names the page in the browser's title, and describes it. */
export function usePageTitle(title: string | null, description?: string): void {
  useEffect(() => {
    document.title = title === null ? SITE : `${title.replace(BIDIRECTIONAL_CONTROLS, "")} · ${SITE}`;
  }, [title]);
  useEffect(() => {
    if (description !== undefined) {
      document.querySelector('meta[name="description"]')?.setAttribute("content", description);
    }
  }, [description]);
}
