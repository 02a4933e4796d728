import { useState, type ReactNode } from "react";
import { SkeletonLines } from "../ui/Skeleton.js";
import { Charge } from "./Charge.js";
import { FailedRead } from "./FailedRead.js";
import { ItemsTable } from "./ItemsTable.js";
import type { Item, ModelType } from "./model.js";
import type { Read } from "./use-read.js";

interface Page {
  items: readonly Item[];
  end: string | null;
}

/** The positions of the pages so far: the last one is of the page that is shown. */
export function usePositions(): {
  after: string | null;
  number: number;
  next: (end: string) => void;
  previous: () => void;
} {
  const [positions, setPositions] = useState<(string | null)[]>([null]);
  return {
    after: positions.at(-1) ?? null,
    number: positions.length,
    next: (end) => {
      setPositions((before) => [...before, end]);
    },
    previous: () => {
      setPositions((before) => (before.length > 1 ? before.slice(0, -1) : before));
    },
  };
}

/** One page of items with its request charge, and the ways to the pages beside it. */
export function Pages<Data>({
  read,
  pageOf,
  positions,
  type,
  empty,
}: {
  read: Read<Data>;
  pageOf: (data: Data) => Page;
  positions: ReturnType<typeof usePositions>;
  type: ModelType | undefined;
  empty: ReactNode;
}) {
  if (read.state === "loading") {
    return <SkeletonLines lines={6} />;
  }
  if (read.state === "failed") {
    return <FailedRead {...read} />;
  }
  const { items, end } = pageOf(read.data);
  const { number, next, previous } = positions;
  const hasNext = typeof end === "string";
  return (
    <>
      {items.length > 0 ? (
        <ItemsTable items={items} type={type} />
      ) : (
        <p className="browse-empty">{hasNext || number > 1 ? "No items on this page." : empty}</p>
      )}
      <div className="browse-end">
        <Charge requestCharge={read.requestCharge} />
        <nav className="browse-steps" aria-label="Pages of items">
          <button type="button" className="button button-plain" disabled={number === 1} onClick={previous}>
            Previous
          </button>
          <span>Page {number}</span>
          <button
            type="button"
            className="button button-plain"
            disabled={!hasNext}
            onClick={() => {
              if (hasNext) {
                next(end);
              }
            }}
          >
            Next
          </button>
        </nav>
      </div>
    </>
  );
}
