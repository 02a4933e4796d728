import { useEffect, useEffectEvent, useRef } from "react";
import { useCostsShown } from "../charges/shown-costs.js";

/** The distance below the screen at which the next page is asked for. */
const AHEAD = "600px";

/**
 * The end of a list that goes on: the next page is requested when the reader comes near, or by the button.
 * Where the costs are shown, only the button requests it, so that the end of the page stays within reach.
 */
export function More({
  label,
  onMore,
  isEndless: wantsEndless = true,
}: {
  label: string;
  onMore: () => void;
  isEndless?: boolean;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const more = useEffectEvent(onMore);
  const isEndless = !useCostsShown() && wantsEndless;
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
