import type { ReactNode } from "react";
import { NoticeArt, type NoticeKind } from "./NoticeArt.js";
import "./notice.css";

/** A notice in place of the requested content: nothing yet, nothing any more, or a failure. */
export function Notice({
  title,
  heading: Heading = "h2",
  kind = "plain",
  children,
}: {
  title: ReactNode;
  /** `h1` where the notice is the whole page. */
  heading?: "h1" | "h2";
  kind?: NoticeKind;
  children?: ReactNode;
}) {
  return (
    <section className={`notice notice-${kind}`} {...(kind === "failure" ? { role: "alert" } : {})}>
      <NoticeArt kind={kind} />
      <Heading>{title}</Heading>
      {children}
    </section>
  );
}
