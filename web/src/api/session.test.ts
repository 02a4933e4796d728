import { beforeEach, describe, expect, test, vi } from "vitest";

const ada = { id: "u1", username: "ada" };

/** The requests to the server, by method, and its answers. */
let sent: string[];
let answers: (() => Response | Promise<Response>)[];
const addListener = window.addEventListener.bind(window);
/** Aborted when the next page opens: the former one hears nothing any more. */
let page = new AbortController();

/** The page as it opens: the module begins from the stored session. */
async function opened() {
  page.abort();
  page = new AbortController();
  const { signal } = page;
  vi.stubGlobal("addEventListener", (type: string, listener: EventListener) => {
    addListener(type, listener, { signal });
  });
  vi.resetModules();
  return import("./session.js");
}

function renewal(accessToken: string, user = ada, expiresIn = 3600): () => Response {
  return () => Response.json({ accessToken, expiresIn, user });
}

function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}

const ended = (): Response => new Response(null, { status: 204 });

beforeEach(() => {
  localStorage.clear();
  sent = [];
  answers = [];
  vi.stubGlobal("fetch", (url: string, { method }: { method: string }) => {
    sent.push(`${method} ${url}`);
    const answer = answers.shift();
    return answer === undefined ? Promise.reject(new TypeError("offline")) : Promise.resolve(answer());
  });
});

function signedInBefore(): void {
  localStorage.setItem("onehop:session", JSON.stringify({ user: ada }));
}

describe("the session", () => {
  test("of an anonymous visitor sends no request", async () => {
    const { accessToken, currentSession } = await opened();
    expect(currentSession()).toBeNull();
    expect(await accessToken()).toBeNull();
    expect(sent).toEqual([]);
  });

  test("is renewed when the page opens, once for all who ask", async () => {
    signedInBefore();
    answers = [renewal("first")];
    const { accessToken } = await opened();
    expect(await Promise.all([accessToken(), accessToken()])).toEqual(["first", "first"]);
    expect(await accessToken()).toBe("first");
    expect(sent).toEqual(["POST /session"]);
  });

  test("is renewed before its token expires", async () => {
    signedInBefore();
    answers = [renewal("brief", ada, 30), renewal("next")];
    const { accessToken } = await opened();
    expect(await accessToken()).toBe("brief");
    expect(await accessToken()).toBe("next");
  });

  test("that was just started is renewed before its token expires", async () => {
    const { accessToken, startSession } = await opened();
    startSession({ user: ada, accessToken: "brief", expiresAt: new Date(Date.now() + 20_000).toISOString() });
    answers = [renewal("next")];
    expect(await accessToken()).toBe("next");
  });

  test("is renewed when the server refuses the token, unless it was already", async () => {
    const { accessToken, accessTokenAfter, startSession } = await opened();
    startSession({ user: ada, accessToken: "first", expiresAt: inAnHour() });
    answers = [renewal("second")];
    expect(await accessToken()).toBe("first");
    expect(await accessTokenAfter("first")).toBe("second");
    expect(await accessTokenAfter("first")).toBe("second");
    expect(sent).toEqual(["POST /session"]);
  });

  test("that has ended asks its user to sign in again", async () => {
    signedInBefore();
    answers = [ended];
    const { accessToken, currentSession, startSession } = await opened();
    expect(await accessToken()).toBeNull();
    expect(currentSession()).toEqual({ user: ada, hasEnded: true });
    startSession({ user: ada, accessToken: "again", expiresAt: inAnHour() });
    expect(await accessToken()).toBe("again");
  });

  test("is as it was when the server cannot be reached", async () => {
    signedInBefore();
    const { accessToken, currentSession } = await opened();
    await expect(accessToken()).rejects.toThrow("offline");
    expect(currentSession()).toEqual({ user: ada, hasEnded: false });
  });

  test("leaves no token in the browser's storage", async () => {
    const { startSession } = await opened();
    startSession({ user: ada, accessToken: "secret", expiresAt: inAnHour() });
    expect(JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])).not.toContain("secret");
  });

  test("removes the token that an older page stored", async () => {
    localStorage.setItem("onehop:session", JSON.stringify({ user: ada, accessToken: "secret" }));
    const { currentSession } = await opened();
    expect(currentSession()?.user).toEqual(ada);
    expect(localStorage.getItem("onehop:session")).toBe(JSON.stringify({ user: ada }));
  });

  test("ends on the server, too, and that is tried again", async () => {
    const { startSession, endSession, currentSession } = await opened();
    startSession({ user: ada, accessToken: "first", expiresAt: inAnHour() });
    endSession();
    expect(currentSession()).toBeNull();
    await vi.waitFor(() => {
      expect(sent).toEqual(["DELETE /session"]);
    });
    answers = [ended];
    await opened();
    await vi.waitFor(() => {
      expect(localStorage).toHaveLength(0);
    });
    expect(sent).toEqual(["DELETE /session", "DELETE /session"]);
  });

  test("is started once a sign-out is no longer on its way to the server", async () => {
    const { startSession, endSession, signOutSettled } = await opened();
    await signOutSettled();
    startSession({ user: ada, accessToken: "first", expiresAt: inAnHour() });
    let answer: (response: Response) => void = () => undefined;
    answers = [
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    ];
    endSession();
    let isSettled = false;
    const settled = signOutSettled().then(() => {
      isSettled = true;
    });
    await vi.waitFor(() => {
      expect(sent).toEqual(["DELETE /session"]);
    });
    expect(isSettled).toBe(false);
    answer(ended());
    await settled;
    expect(localStorage).toHaveLength(0);
  });

  test("that has not ended on the server ends there once the browser is online again", async () => {
    const { startSession, endSession, signOutSettled } = await opened();
    startSession({ user: ada, accessToken: "first", expiresAt: inAnHour() });
    endSession();
    await signOutSettled();
    answers = [ended];
    dispatchEvent(new Event("online"));
    await signOutSettled();
    expect(localStorage).toHaveLength(0);
    dispatchEvent(new Event("online"));
    await signOutSettled();
    expect(sent).toEqual(["DELETE /session", "DELETE /session"]);
  });

  test("is not ended by a sign-out of the one before that had not reached the server", async () => {
    const { startSession, endSession, signOutSettled, currentSession } = await opened();
    startSession({ user: ada, accessToken: "first", expiresAt: inAnHour() });
    endSession();
    await signOutSettled();
    startSession({ user: ada, accessToken: "second", expiresAt: inAnHour() });
    dispatchEvent(new Event("online"));
    await signOutSettled();
    expect(sent).toEqual(["DELETE /session"]);
    expect(currentSession()).toEqual({ user: ada, hasEnded: false });
  });

  test("of another tab's user takes the place of this one's", async () => {
    signedInBefore();
    answers = [renewal("hers", { id: "u2", username: "bob" })];
    const { accessToken, currentSession } = await opened();
    expect(await accessToken()).toBe("hers");
    expect(currentSession()?.user.username).toBe("bob");
  });
});
