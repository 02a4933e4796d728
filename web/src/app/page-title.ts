import { useEffect } from "react";

const SITE = "Onehop";

/** Names the page in the browser's title, and describes it. */
export function usePageTitle(title: string | null, description?: string): void {
  useEffect(() => {
    document.title = title === null ? SITE : `${title} · ${SITE}`;
  }, [title]);
  useEffect(() => {
    if (description !== undefined) {
      document.querySelector('meta[name="description"]')?.setAttribute("content", description);
    }
  }, [description]);
}
