/** What went wrong, in words for whoever asked. */
import type { CombinedError } from "@urql/core";

interface Extensions {
  code?: string;
  field?: string;
}

/** `errors[0].extensions.code`; undefined where nothing came back. */
export function codeOf(error: CombinedError | undefined): string | undefined {
  return (error?.graphQLErrors[0]?.extensions as Extensions | undefined)?.code;
}

/** The input field that the refusal is about. */
export function fieldOf(error: CombinedError | undefined): string | undefined {
  return (error?.graphQLErrors[0]?.extensions as Extensions | undefined)?.field;
}

/** The server's own words, which say what is wrong; or that there were none. */
export function messageOf(error: CombinedError): string {
  if (error.networkError !== undefined) {
    return "There was no answer. Nothing that you typed is lost.";
  }
  return sentence(error.graphQLErrors[0]?.message ?? error.message);
}

function sentence(text: string): string {
  const opened = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(opened) ? opened : `${opened}.`;
}
