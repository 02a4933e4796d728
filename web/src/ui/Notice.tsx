import type { ReactNode } from "react";
import "./notice.css";

/** Says what is there in place of what was looked for: nothing yet, nothing any more, or a failure. */
export function Notice({ title, kind = "plain", children }: {
  title: string;
  kind?: "plain" | "failure";
  children?: ReactNode;
}) {
  return (
    <section className={`notice notice-${kind}`} {...(kind === "failure" ? { role: "alert" } : {})}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
