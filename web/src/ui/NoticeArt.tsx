import type { ReactNode } from "react";

/** What a notice is about, which its drawing shows. */
export type NoticeKind = "plain" | "shop" | "missing" | "failure";

const DRAWINGS: Record<NoticeKind, () => ReactNode> = {
  plain: OpenPage,
  shop: ShoppingBag,
  missing: RoadSign,
  failure: BrokenLine,
};

/** The drawing above a notice: an open page, a shopping bag, a road sign, or a broken line. */
export function NoticeArt({ kind }: { kind: NoticeKind }) {
  const Drawing = DRAWINGS[kind];
  return (
    <svg className="notice-art" viewBox="0 0 120 80" aria-hidden="true">
      <ellipse className="notice-ground" cx="60" cy="70" rx="44" ry="6" />
      <Drawing />
    </svg>
  );
}

function OpenPage() {
  return (
    <>
      <path className="notice-shape" d="M60 26 Q46 16 28 20 V62 Q46 58 60 68 Q74 58 92 62 V20 Q74 16 60 26 Z" />
      <path d="M60 26 V68 M37 32 Q46 31 52 34 M37 42 Q46 41 52 44 M83 32 Q74 31 68 34" />
      <circle className="notice-accent" cx="88" cy="14" r="6" />
    </>
  );
}

function ShoppingBag() {
  return (
    <>
      <path className="notice-shape" d="M36 28 H84 L89 70 H31 Z" />
      <path d="M48 36 V24 A12 12 0 0 1 72 24 V36" />
      <circle className="notice-accent" cx="60" cy="52" r="6" />
    </>
  );
}

function RoadSign() {
  return (
    <>
      <path d="M60 8 V70" />
      <path className="notice-shape" d="M60 14 H92 L100 22 L92 30 H60 Z" />
      <path className="notice-accent" d="M60 34 H30 L22 42 L30 50 H60 Z" />
      <path d="M70 22 H86 M34 42 H50" />
    </>
  );
}

function BrokenLine() {
  return (
    <>
      <path className="notice-shape" d="M20 40 H44 L50 34 V54 L44 48 H20 Z M100 40 H76 L70 34 V54 L76 48 H100 Z" />
      <path d="M60 16 V24 M46 20 L50 27 M74 20 L70 27" />
      <circle className="notice-accent" cx="60" cy="44" r="4" />
    </>
  );
}
