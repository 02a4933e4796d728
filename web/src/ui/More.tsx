import { useEffect, useEffectEvent, useRef } from "react";

/** How far below the screen the next page is asked for. */
const AHEAD = "600px";

/** The end of a list that goes on: the next page is asked for when the reader comes near, or by the button. */
export function More({ label, onMore, isEndless = true }: { label: string; onMore: () => void; isEndless?: boolean }) {
  const button = useRef<HTMLButtonElement>(null);
  const more = useEffectEvent(onMore);
  useEffect(() => {
    if (!isEndless || button.current === null) {
      return;
    }
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) {
          more();
        }
      },
      { rootMargin: AHEAD },
    );
    observer.observe(button.current);
    return () => {
      observer.disconnect();
    };
  }, [isEndless]);
  return (
    <button ref={button} type="button" className="button more" onClick={onMore}>
      {label}
    </button>
  );
}
