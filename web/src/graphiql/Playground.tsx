import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { GraphiQL } from "graphiql";
import { useMemo, useState } from "react";
import { requestChargeOf } from "../api/request.js";
import { AccessTokenBar, type LastRequest } from "./AccessTokenBar.js";
import { issuedAccessToken, readAccessToken, storeAccessToken } from "./access-token.js";
import { examples, variablesText, type Sample } from "./examples.js";
import { examplesPlugin } from "./ExamplesPanel.js";
import { createFetcher } from "./fetcher.js";

const plugins = [examplesPlugin, HISTORY_PLUGIN];

/** Tabs, like the token, live as long as the browser tab: a new visit opens the examples on live data. */
const storage = sessionStorage;
const hasTabs = storage.getItem("graphiql:tabState") !== null;

const hasRoomForExamples = matchMedia("(min-width: 60rem)").matches;

export function Playground({ sample }: { sample: Sample }) {
  const [accessToken, setAccessToken] = useState(() => readAccessToken());
  const [issuedToken, setIssuedToken] = useState<string | null>(null);
  const [lastRequest, setLastRequest] = useState<LastRequest | null>(null);

  const fetcher = useMemo(
    () =>
      createFetcher({
        accessToken: readAccessToken,
        onResponse(response, operationName) {
          setLastRequest({ operationName, requestCharge: requestChargeOf(response) });
          setIssuedToken((known) => issuedAccessToken(response.data) ?? known);
        },
      }),
    [],
  );
  const defaultTabs = useMemo(
    () => examples.map((example) => ({ query: example.document, variables: variablesText(example, sample) })),
    [sample],
  );

  return (
    <>
      <AccessTokenBar
        accessToken={accessToken}
        issuedToken={issuedToken}
        lastRequest={lastRequest}
        onChange={(text) => {
          setAccessToken(storeAccessToken(text));
          setIssuedToken(null);
        }}
      />
      <main className="playground-editor">
        <GraphiQL
          fetcher={fetcher}
          plugins={plugins}
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
