import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { GraphiQL } from "graphiql";
import { useMemo, useState } from "react";
import { requestChargeOf } from "../api/request.js";
import { AccessTokenBar, type LastRequest } from "./AccessTokenBar.js";
import { issuedAccessToken, keepAccessToken, readAccessToken } from "./access-token.js";
import { examples, variablesText, type Sample } from "./examples.js";
import { examplesPlugin } from "./ExamplesPanel.js";
import { createFetcher } from "./fetcher.js";
import type { Introspection, SchemaAccess } from "./introspection.js";

const plugins = [examplesPlugin, HISTORY_PLUGIN];

/** Tabs live as long as the browser tab: a new visit opens the examples on live data. */
const storage = sessionStorage;
const hasTabs = storage.getItem("graphiql:tabState") !== null;

/** The notice above the editor: the server's restrictions. */
const NOTICES: Record<SchemaAccess, string | null> = {
  available: null,
  disabled: "This server has introspection disabled: your documents run, without documentation and completion.",
  "trusted-only":
    "This server runs trusted documents only: the examples run, with any variables. " +
    "It refuses other documents, and has introspection disabled.",
};

const hasRoomForExamples = matchMedia("(min-width: 60rem)").matches;

export function Playground({ sample, introspection }: { sample: Sample; introspection: Introspection }) {
  const [accessToken, setAccessToken] = useState(() => readAccessToken());
  const [issuedToken, setIssuedToken] = useState<string | null>(null);
  const [lastRequest, setLastRequest] = useState<LastRequest | null>(null);

  const fetcher = useMemo(
    () =>
      createFetcher({
        accessToken: readAccessToken,
        introspected: introspection.response,
        onResponse(response, operationName) {
          setLastRequest({ operationName, requestCharge: requestChargeOf(response) });
          setIssuedToken((known) => issuedAccessToken(response.data) ?? known);
        },
      }),
    [introspection],
  );
  const defaultTabs = useMemo(
    () => examples.map((example) => ({ query: example.document, variables: variablesText(example, sample) })),
    [sample],
  );

  const notice = NOTICES[introspection.access];

  return (
    <>
      <AccessTokenBar
        accessToken={accessToken}
        issuedToken={issuedToken}
        lastRequest={lastRequest}
        onChange={(text) => {
          setAccessToken(keepAccessToken(text));
          setIssuedToken(null);
        }}
      />
      {notice !== null && <p className="playground-notice">{notice}</p>}
      <main className="playground-editor">
        <GraphiQL
          fetcher={fetcher}
          plugins={plugins}
          // Null keeps GraphiQL from asking for a schema that it would not get.
          {...(notice === null ? {} : { schema: null })}
          {...(hasRoomForExamples ? { visiblePlugin: examplesPlugin } : {})}
          storage={storage}
          defaultTabs={defaultTabs}
          // Default tabs fill every editor but the first tab's variables.
          {...(hasTabs ? {} : { initialVariables: variablesText(examples[0], sample) })}
          defaultEditorToolsVisibility="variables"
        >
          <GraphiQL.Logo>
            <span />
          </GraphiQL.Logo>
        </GraphiQL>
      </main>
    </>
  );
}
