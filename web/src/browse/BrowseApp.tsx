import { useEffect, useRef, useState } from "react";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { useHash } from "../ui/use-hash.js";
import "./browse.css";
import { BrowseModelDocument } from "./browse.generated.js";
import { FailedRead } from "./FailedRead.js";
import { ItemView } from "./ItemView.js";
import { KeyNeeded } from "./KeyNeeded.js";
import { ListView } from "./ListView.js";
import { ModelView } from "./ModelView.js";
import type { Model } from "./model.js";
import { forgetKey, keepKey, keyIn } from "./operator-key.js";
import { addressOf, placeOf, type Place } from "./places.js";
import { ReadModelsView } from "./ReadModelsView.js";
import { TypeView } from "./TypeView.js";
import { needsKey, OperatorKeyContext, useRead } from "./use-read.js";

/** The pages of the operator: the stored items of a served model, its lists and its read models. */
export function BrowseApp({ firstKey }: { firstKey: string | null }) {
  const [operatorKey, setOperatorKey] = useState(firstKey);
  const keep = (key: string): void => {
    keepKey(key);
    setOperatorKey(key);
  };
  const fragment = useHash();
  const pasted = keyIn(`#${fragment}`);
  useEffect(() => {
    // The printed address, opened in a tab that shows this page already.
    if (pasted !== null) {
      keepKey(pasted);
      history.replaceState(null, "", location.pathname);
      location.reload();
    }
  }, [pasted]);
  const place = placeOf(fragment);
  return (
    <OperatorKeyContext value={operatorKey}>
      <a className="skip" href="#page">
        Skip to content
      </a>
      <Masthead place={place} />
      <main id="page" className="page page-wide browse" tabIndex={-1}>
        {operatorKey === null ? (
          <KeyNeeded isRefused={false} onKey={keep} />
        ) : (
          <WithModel
            key={operatorKey}
            place={place}
            onKey={keep}
            onForget={() => {
              forgetKey();
              setOperatorKey(null);
            }}
          />
        )}
      </main>
    </OperatorKeyContext>
  );
}

function Masthead({ place }: { place: Place }) {
  const isReadModels = place.page === "read-models";
  return (
    <header className="masthead">
      <div className="masthead-inner">
        <a className="brand" href="#/">
          <img src="/favicon.svg" alt="" width="26" height="26" /> Onehop
        </a>
        <nav className="places" aria-label="Main">
          <a href="#/" {...(isReadModels ? {} : { "aria-current": place.page === "model" ? "page" : "true" })}>
            Model
          </a>
          <a href="#/read-models" {...(isReadModels ? { "aria-current": "page" as const } : {})}>
            Read models
          </a>
          <a href="/graphiql">Playground</a>
        </nav>
      </div>
    </header>
  );
}

function WithModel({ place, onKey, onForget }: { place: Place; onKey: (key: string) => void; onForget: () => void }) {
  const read = useRead(BrowseModelDocument, {});
  const address = addressOf(place);
  useArrival(address);
  usePageTitle(titleOf(place));
  if (read.state === "loading") {
    return <SkeletonLines lines={8} />;
  }
  if (read.state === "failed") {
    return needsKey(read.error) ? <KeyNeeded isRefused onKey={onKey} /> : <FailedRead {...read} />;
  }
  return (
    <>
      <Shown key={address} place={place} model={read.data.model} />
      <footer className="browse-footer">
        <p>Only reads: nothing is changed here. Passwords, tokens and other secrets are not shown.</p>
        <button type="button" className="quiet" onClick={onForget}>
          Forget the operator key in this tab
        </button>
      </footer>
    </>
  );
}

function Shown({ place, model }: { place: Place; model: Model }) {
  const type = "type" in place ? model.types.find(({ name }) => name === place.type) : undefined;
  if (place.page === "model") {
    return <ModelView model={model} />;
  }
  if (place.page === "read-models") {
    return <ReadModelsView />;
  }
  if (place.page === "type" && type !== undefined) {
    return <TypeView model={model} type={type} />;
  }
  if (place.page === "item" && type !== undefined) {
    return <ItemView model={model} type={type} id={place.id} partitionKey={place.partitionKey} />;
  }
  if (place.page === "list") {
    return <ListView model={model} list={place.list} owner={place.owner} />;
  }
  return (
    <Notice title="Page not found" heading="h1">
      <p>The model has no type or list of this name.</p>
      <a className="button" href="#/">
        Show the model
      </a>
    </Notice>
  );
}

/** An opened page begins at its top, and has the focus of the keyboard and the screen reader. */
function useArrival(address: string): void {
  const shown = useRef(address);
  useEffect(() => {
    if (shown.current !== address) {
      shown.current = address;
      scrollTo(0, 0);
      document.querySelector<HTMLElement>("#page")?.focus({ preventScroll: true });
    }
  }, [address]);
}

function titleOf(place: Place): string {
  switch (place.page) {
    case "type":
    case "item":
      return `${place.type} · Browse`;
    case "list":
      return `${place.list} · Browse`;
    case "read-models":
      return "Read models · Browse";
    default:
      return "Browse";
  }
}
