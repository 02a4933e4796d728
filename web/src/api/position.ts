/**
 * Read your writes: how far this browser tab knows the write side to be. The server says it with each
 * mutation; queries send it along, and the server waits a moment for its read models to get there. Mutations
 * send it, too: the new position covers the one before.
 */
const STORAGE_KEY = "onehop:position";

/** The position of all writes that are not reached, across a reload; undefined without such writes. */
export function lastPosition(): string | undefined {
  return sessionStorage.getItem(STORAGE_KEY) ?? undefined;
}

/** Takes the position out of a mutation's response. */
export function rememberPosition(extensions: Record<string, unknown> | undefined): void {
  const position = extensions?.position;
  if (typeof position === "string") {
    sessionStorage.setItem(STORAGE_KEY, position);
  }
}

/** Drops a position that the read models have reached, unless something was written since. */
export function forgetPosition(reached: string): void {
  if (lastPosition() === reached) {
    sessionStorage.removeItem(STORAGE_KEY);
  }
}

/**
 * The request to send again where a response refuses its position, without it: the server's data may have
 * been restored from a backup. Undefined for any other response.
 */
export async function bodyWithoutRefusedPosition(body: unknown, response: Response): Promise<string | undefined> {
  if (response.status !== 400 || typeof body !== "string") {
    return undefined;
  }
  const { errors } = (await response
    .clone()
    .json()
    .catch(() => ({}))) as Refusal;
  if (!errors?.some(({ extensions }) => extensions?.field === "extensions.position")) {
    return undefined;
  }
  const request = JSON.parse(body) as { extensions?: { position?: string } };
  const { position, ...extensions } = request.extensions ?? {};
  if (position !== undefined) {
    forgetPosition(position);
  }
  return JSON.stringify({ ...request, extensions });
}

interface Refusal {
  errors?: { extensions?: { field?: string } }[];
}
