import { Notice } from "../ui/Notice.js";
import { BrowseEntriesDocument } from "./browse.generated.js";
import { addressOfItem } from "./ItemsTable.js";
import { listNamed, PAGE_ITEMS, sourceInWords, type Model } from "./model.js";
import { Pages, usePositions } from "./Pages.js";
import { addressOf } from "./places.js";
import { useRead } from "./use-read.js";

interface Owner {
  id: string;
  partitionKey: string[];
}

/** The entries of a list, page by page. */
export function ListView({ model, list: name, owner }: { model: Model; list: string; owner: Owner | null }) {
  const found = listNamed(model, name);
  const isComplete = found !== undefined && (found.owner === null) === (owner === null);
  const positions = usePositions();
  const variables = {
    list: name,
    partitionKey: owner?.partitionKey ?? null,
    id: owner?.id ?? null,
    first: PAGE_ITEMS,
    after: positions.after,
  };
  const read = useRead(BrowseEntriesDocument, variables, isComplete);
  if (found === undefined || !isComplete) {
    return (
      <Notice title="Page not found" heading="h1">
        <p>The model has no such list, or it needs the item that it belongs to.</p>
        <a className="button" href="#/">
          Show the model
        </a>
      </Notice>
    );
  }
  const { list } = found;
  const listed = model.types.find((type) => type.name === list.itemType);
  return (
    <>
      <p className="browse-path">
        <a href="#/">Model</a>
        {found.owner !== null && owner !== null && (
          <>
            {" "}
            › <a href={addressOf({ page: "type", type: found.owner.name })}>{found.owner.name}</a> ›{" "}
            <a href={addressOfItem({ type: found.owner.name, ...owner })}>{owner.id}</a>
          </>
        )}
      </p>
      <h1>{list.name}</h1>
      <p className="browse-lead">
        Items of {list.itemType}: {sourceInWords(list)}
        {typeof list.container === "string" && (
          <>
            , in the container <code>{list.container}</code>
          </>
        )}
        {typeof list.projection === "string" && (
          <>
            , kept by the projection <code>{list.projection}</code>
          </>
        )}
        .
      </p>
      <Pages
        read={read}
        pageOf={({ entries }) => entries}
        positions={positions}
        type={listed}
        empty="The list is empty."
      />
    </>
  );
}
