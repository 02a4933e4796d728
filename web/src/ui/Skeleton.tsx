import "./skeleton.css";

/** The shape of text that is on its way. */
export function SkeletonLines({ lines }: { lines: number }) {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

/** The shapes of posts that are on their way. */
export function SkeletonCards({ cards }: { cards: number }) {
  return (
    <div className="skeleton-cards" aria-hidden="true">
      {Array.from({ length: cards }, (_, index) => (
        <div key={index} className="skeleton skeleton-card">
          <span />
          <span />
          <span />
          <span />
        </div>
      ))}
    </div>
  );
}
