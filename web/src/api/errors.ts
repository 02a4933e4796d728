/** Error messages for users. */
import type { CombinedError } from "@urql/core";

interface Extensions {
  code?: string;
  field?: string;
  fields?: { field: string; message: string }[];
}

function extensionsOf(error: CombinedError | undefined): Extensions | undefined {
  return error?.graphQLErrors[0]?.extensions;
}

/** `errors[0].extensions.code`; undefined where nothing came back. */
export function codeOf(error: CombinedError | undefined): string | undefined {
  return extensionsOf(error)?.code;
}

/** The first input field that the refusal is about. */
export function fieldOf(error: CombinedError | undefined): string | undefined {
  return extensionsOf(error)?.field;
}

/** The problem with one input field; undefined where the refusal is not about it. */
export function messageAt(error: CombinedError | undefined, field: string): string | undefined {
  const extensions = extensionsOf(error);
  const message = extensions?.fields?.find((invalid) => invalid.field === field)?.message;
  if (message !== undefined) {
    return sentence(message);
  }
  return error !== undefined && extensions?.field === field ? messageOf(error) : undefined;
}

/** The server's own words; without a response, an advice. */
export function messageOf(error: CombinedError): string {
  if (error.networkError !== undefined) {
    return "We could not reach the server. Your text is still here; try again.";
  }
  return sentence(error.graphQLErrors[0]?.message ?? error.message);
}

function sentence(text: string): string {
  const opened = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(opened) ? opened : `${opened}.`;
}
