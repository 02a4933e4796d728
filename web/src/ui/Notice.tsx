import type { ReactNode } from "react";
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
  kind?: "plain" | "failure";
  children?: ReactNode;
}) {
  return (
    <section className={`notice notice-${kind}`} {...(kind === "failure" ? { role: "alert" } : {})}>
      <Heading>{title}</Heading>
      {children}
    </section>
  );
}
