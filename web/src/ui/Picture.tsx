import { useMemo } from "react";
import { HEIGHT, motifs, WIDTH, type Palette } from "./motifs.js";
import { seeded } from "./seeded.js";
import "./picture.css";

/**
 * Generated picture of a post: its id chooses motif, hue and composition. It says nothing that
 * the text beside it does not say, so screen readers skip it.
 */
export function Picture({ of, className = "" }: { of: string; className?: string }) {
  const shapes = useMemo(() => {
    const random = seeded(of);
    const motif = motifs[Math.floor(random() * motifs.length)];
    const colours = paletteOf(Math.floor(random() * 360));
    return (
      <>
        <rect width={WIDTH} height={HEIGHT} fill={colours.paper} />
        {motif?.(random, colours)}
      </>
    );
  }, [of]);
  return (
    <svg
      className={`picture ${className}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
    >
      {shapes}
    </svg>
  );
}

function paletteOf(hue: number): Palette {
  return {
    paper: `hsl(${hue} 36% 90%)`,
    pale: `hsl(${hue} 38% 80%)`,
    mid: `hsl(${hue + 12} 40% 62%)`,
    strong: `hsl(${hue + 24} 46% 36%)`,
    accent: `hsl(${hue + 165} 66% 58%)`,
  };
}
