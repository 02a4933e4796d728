import { useMemo } from "react";
import { productDrawing } from "./product-drawing.js";
import "../ui/picture.css";

/**
 * Drawing of a product or of a category, from words of its name: "Bell" gives the shape and "amber" the
 * colour. It says nothing that the text beside it does not say, so screen readers skip it.
 */
export function ProductPicture({
  name,
  category = "",
  className = "",
}: {
  name: string;
  /** The name of the category, for names of products without a known word. */
  category?: string;
  className?: string;
}) {
  const { halo, parts } = useMemo(() => productDrawing(name, category), [name, category]);
  return (
    <svg
      className={`picture product-shot ${className}`}
      viewBox="0 0 160 120"
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
    >
      <rect className="shot-ground" width="160" height="120" />
      <circle cx="80" cy="60" r="54" fill={halo} opacity="0.28" />
      <ellipse className="shot-shadow" cx="80" cy="108" rx="50" ry="4" />
      {parts.map(({ d, fill, line }, index) =>
        line === undefined ? (
          <path key={index} d={d} fill={fill} />
        ) : (
          <path
            key={index}
            d={d}
            fill="none"
            stroke={fill}
            strokeWidth={line}
            strokeLinecap="round"
            strokeLinejoin="round"
          />
        ),
      )}
    </svg>
  );
}
