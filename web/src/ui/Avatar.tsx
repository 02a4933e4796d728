import { hashOf } from "./seeded.js";
import "./avatar.css";

/** Generated avatar: the initial of a name on a colour of the account. The name stands beside it. */
export function Avatar({
  id,
  name,
  size = "small",
}: {
  id: string;
  name: string;
  size?: "small" | "medium" | "large";
}) {
  const hue = hashOf(id) % 360;
  const initial = /[\p{L}\p{N}]/u.exec(name)?.[0] ?? "?";
  return (
    <svg className={`avatar avatar-${size}`} viewBox="0 0 40 40" aria-hidden="true">
      <circle cx="20" cy="20" r="20" fill={`hsl(${hue} 42% 34%)`} />
      <path d="M 40 20 A 20 20 0 0 1 0 20 Q 20 34 40 20" fill={`hsl(${hue + 40} 48% 42%)`} />
      <text x="20" y="26.5" textAnchor="middle" fill="#fff">
        {initial.toLocaleUpperCase("en")}
      </text>
    </svg>
  );
}
