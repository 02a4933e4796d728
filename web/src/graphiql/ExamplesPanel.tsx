import { useGraphiQL, useGraphiQLActions, type GraphiQLPlugin } from "@graphiql/react";
import { Kind, parse } from "graphql";
import { readAccessToken } from "./access-token.js";
import { examples, variablesText, type Example } from "./examples.js";
import { readSample } from "./sample.js";

/** The sidebar's list of examples. */
export const examplesPlugin: GraphiQLPlugin = {
  title: "Examples",
  icon: ExamplesIcon,
  content: ExamplesPanel,
};

const commands = examples.filter(({ request }) => request.startsWith("C"));
const queries = examples
  .filter(({ request }) => request.startsWith("Q"))
  .toSorted((a, b) => a.request.localeCompare(b.request));
const webStore = examples.filter(({ request }) => request.startsWith("W"));

function ExamplesPanel() {
  const openExample = useOpenExample();
  return (
    <div className="examples">
      <h2>Examples</h2>
      <p>Each example opens in its own tab, with variables from the live data.</p>
      <ExampleList title="Queries" listed={queries} onOpen={openExample} />
      <ExampleList title="Commands" listed={commands} onOpen={openExample} />
      <ExampleList title="Web store" listed={webStore} onOpen={openExample} />
      <p>All commands except signing up need an access token: run C1 and use the token that it returns.</p>
    </div>
  );
}

function ExampleList({
  title,
  listed,
  onOpen,
}: {
  title: string;
  listed: Example[];
  onOpen: (example: Example) => Promise<void>;
}) {
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {listed.map((example) => (
          <li key={example.request}>
            <button type="button" onClick={() => void onOpen(example)}>
              <b>{example.request}</b> {example.title}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Goes to the tab that holds the example, or opens one; in both the variables are read anew. */
function useOpenExample(): (example: Example) => Promise<void> {
  const actions = useGraphiQLActions();
  const tabs = useGraphiQL((state) => state.tabs);
  const activeTabIndex = useGraphiQL((state) => state.activeTabIndex);
  const queryEditor = useGraphiQL((state) => state.queryEditor);
  const variableEditor = useGraphiQL((state) => state.variableEditor);

  return async (example) => {
    const sample = await readSample(readAccessToken());
    const tabIndex = tabs.findIndex(({ query }) => query === example.document);
    if (tabIndex === -1) {
      actions.addTab();
      queryEditor?.setValue(example.document);
    } else if (tabIndex !== activeTabIndex) {
      actions.changeTab(tabIndex);
    }
    variableEditor?.setValue(variablesText(example, sample));
    // The editor looks for operations a moment after a change; a quick run must not miss them.
    actions.setOperationFacts(operationFacts(example.document));
  };
}

function operationFacts(document: string) {
  const documentAST = parse(document);
  const operations = documentAST.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const operationName = operations[0]?.name?.value;
  return { documentAST, operations, ...(operationName === undefined ? {} : { operationName }) };
}

function ExamplesIcon() {
  return (
    <svg
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M3 5h1M3 10h1M3 15h1M7.5 5H17M7.5 10H17M7.5 15H17" />
    </svg>
  );
}
