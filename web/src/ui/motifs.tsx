/**
 * Motifs of generated pictures: each fills the frame with shapes from seeded numbers and four colours. The
 * server draws the same pictures (`src/api/page_contents/pictures.rs`), and `picture-samples.json` has
 * samples for both.
 */
import type { ReactNode } from "react";

/** The width of a picture, in units of its own. */
export const WIDTH = 160;
/** The height of a picture, in units of its own. */
export const HEIGHT = 120;

/** The colours of one picture, from the palest to the strongest. */
export interface Palette {
  paper: string;
  pale: string;
  mid: string;
  strong: string;
  accent: string;
}

export type Motif = (random: () => number, colours: Palette) => ReactNode;

const rings: Motif = (random, { pale, mid, strong, accent }) => {
  const x = 50 + random() * 60;
  const y = 45 + random() * 40;
  return [64, 49, 35, 22, 10].map((radius, index) => (
    <circle key={radius} cx={x} cy={y} r={radius} fill={[pale, mid, pale, strong, accent][index]} />
  ));
};

const hills: Motif = (random, { pale, mid, strong, accent }) => {
  const crest = (base: number): string => {
    const heights = [0, 1, 2, 3, 4].map(() => base + random() * 22);
    const [first = base, ...rest] = heights;
    const curve = rest.map((height, index) => {
      const x = (index + 1) * 40;
      return `C ${x - 20} ${heights[index] ?? base}, ${x - 20} ${height}, ${x} ${height}`;
    });
    return `M 0 ${first} ${curve.join(" ")} V ${HEIGHT} H 0 Z`;
  };
  return (
    <>
      <circle cx={25 + random() * 110} cy={24 + random() * 14} r={13} fill={accent} />
      <path d={crest(46)} fill={pale} />
      <path d={crest(66)} fill={mid} />
      <path d={crest(88)} fill={strong} />
    </>
  );
};

const tiles: Motif = (random, { pale, mid, strong, accent }) => {
  const size = 40;
  const cells = Array.from({ length: 12 }, (_, index) => ({ x: (index % 4) * size, y: Math.floor(index / 4) * size }));
  return cells.map(({ x, y }) => {
    const turn = Math.floor(random() * 4) * 90;
    const fill = [pale, mid, mid, strong, strong, accent][Math.floor(random() * 6)];
    return (
      <path
        key={`${x} ${y}`}
        d={`M ${x} ${y} h ${size} a ${size} ${size} 0 0 1 -${size} ${size} Z`}
        transform={`rotate(${turn} ${x + size / 2} ${y + size / 2})`}
        fill={fill}
      />
    );
  });
};

const stripes: Motif = (random, { pale, mid, strong, accent }) => {
  const slope = random() > 0.5 ? 1 : -1;
  const colours = [mid, pale, strong, pale, accent, mid, pale, strong];
  return (
    <g transform={`rotate(${slope * (25 + random() * 20)} ${WIDTH / 2} ${HEIGHT / 2})`}>
      {colours.map((colour, index) => (
        <rect
          key={index}
          x={-40 + index * 32 + random() * 8}
          y={-80}
          width={8 + random() * 16}
          height={280}
          fill={colour}
        />
      ))}
    </g>
  );
};

const petals: Motif = (random, { pale, mid, strong, accent }) => {
  const start = random() * 60;
  const count = 5 + Math.floor(random() * 4);
  return (
    <g transform={`translate(${WIDTH / 2} ${HEIGHT / 2})`}>
      <circle r={56} fill={pale} />
      {Array.from({ length: count }, (_, index) => (
        <ellipse
          key={index}
          cy={-28}
          rx={11}
          ry={24}
          fill={index % 2 === 0 ? mid : strong}
          transform={`rotate(${start + (index * 360) / count})`}
        />
      ))}
      <circle r={11} fill={accent} />
    </g>
  );
};

const dots: Motif = (random, { mid, strong, accent }) => {
  const cells = Array.from({ length: 35 }, (_, index) => ({
    x: 20 + (index % 7) * 20,
    y: 20 + Math.floor(index / 7) * 20,
  }));
  const focusX = random() * WIDTH;
  const focusY = random() * HEIGHT;
  const special = Math.floor(random() * cells.length);
  return cells.map(({ x, y }, index) => {
    const near = Math.max(0, 1 - Math.sqrt((x - focusX) ** 2 + (y - focusY) ** 2) / 130);
    const fill = index === special ? accent : near > 0.5 ? strong : mid;
    return <circle key={index} cx={x} cy={y} r={index === special ? 9 : 2 + near * 8} fill={fill} />;
  });
};

export const motifs: readonly Motif[] = [rings, hills, tiles, stripes, petals, dots];
