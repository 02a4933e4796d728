import type { ReactNode } from "react";
import "./settings-part.css";

/** A part of the settings of an account, of the blog or of the shop, below its heading. */
export function SettingsPart({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="settings-part">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
