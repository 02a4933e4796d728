/**
 * The session of one kind of account, in every tab of the browser. The access token is in this tab's memory
 * alone, and renewed by the session cookie when the page opens, before it expires and when the server refuses
 * it. A session that has ended stays until its account has signed in again or gone on without, so that
 * nothing that was typed is lost.
 */
import { deleteSession, renewSession, type Renewal } from "./renewal.js";
import {
  isSignOutPending,
  setSignOutPending,
  storedProfile,
  storeProfile,
  type AccountKind,
} from "./stored-session.js";

/** A token is renewed so long before it expires, in milliseconds: requests take time, and clocks differ. */
const RENEWED_BEFORE_MS = 30_000;

/** The signed-in account, under the name of the kind, and whether the account has to sign in again. */
export type SessionOf<Name extends string, Profile> = Readonly<Record<Name, Profile>> & {
  readonly hasEnded: boolean;
};

interface Token {
  text: string;
  /** When it should be renewed, by this machine's clock (Unix ms). */
  renewAt: number;
}

export class AccountSession<Name extends string, Profile extends { id: string }> {
  readonly #kind: AccountKind<Name, Profile>;
  readonly #listeners = new Set<() => void>();
  #session: SessionOf<Name, Profile> | null;
  #token: Token | null = null;
  #signOut: Promise<void> = Promise.resolve();

  constructor(kind: AccountKind<Name, Profile>) {
    this.#kind = kind;
    this.#session = this.#sessionOf(storedProfile(kind));
    this.#signOutIfPending();
    addEventListener("online", () => {
      this.#signOutIfPending();
    });
    // Another tab signed in or out.
    addEventListener("storage", ({ key }) => {
      if (key === kind.sessionKey || key === null) {
        this.#session = this.#sessionOf(storedProfile(kind));
        this.#token = null;
        this.#notifyListeners();
      }
    });
  }

  readonly current = (): SessionOf<Name, Profile> | null => this.#session;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /**
   * The token of the next request; null for an anonymous one. Rejects when the server does not say whether
   * there is one.
   */
  readonly accessToken = async (): Promise<string | null> => {
    if (this.#session === null || this.#session.hasEnded) {
      return null;
    }
    return this.#token !== null && Date.now() < this.#token.renewAt ? this.#token.text : this.#renewed();
  };

  /** Another token in place of a refused one; null once the session has ended. */
  readonly accessTokenAfter = async (refused: string): Promise<string | null> => {
    if (this.#token?.text === refused) {
      this.#token = null;
    }
    return this.accessToken();
  };

  /**
   * Settles once no sign-out is on its way to the server, and never rejects. A sign-in is sent after that:
   * the answer to a sign-out removes any session cookie.
   */
  readonly signOutSettled = (): Promise<void> => this.#signOut;

  /** A request was refused for want of a session: finds out whether it has ended. */
  readonly refused = (): void => {
    this.#token = null;
    // A server that cannot be reached leaves the session as it is.
    this.accessToken().catch(() => undefined);
  };

  /** Stores the session of an account that has signed in. */
  readonly start = (profile: Profile, accessToken: string, expiresAt: string): void => {
    this.#token = { text: accessToken, renewAt: Date.parse(expiresAt) - RENEWED_BEFORE_MS };
    setSignOutPending(this.#kind, false);
    this.#replace(this.#sessionOf(profile));
  };

  /** Signs out, in this browser at once and on the server. */
  readonly end = (): void => {
    const wasSignedIn = this.#session?.hasEnded === false;
    this.#token = null;
    this.#replace(null);
    if (wasSignedIn) {
      setSignOutPending(this.#kind, true);
      this.#signOutIfPending();
    }
  };

  /** The signed-in account is shown in another way now. */
  readonly change = (changes: Partial<Profile>): void => {
    if (this.#session !== null) {
      const profile = { ...this.#session[this.#kind.name], ...changes };
      this.#replace({ ...this.#session, [this.#kind.name]: profile });
    }
  };

  async #renewed(): Promise<string | null> {
    const { name, endpoint } = this.#kind;
    const asked = this.#session;
    const renewal = await renewSession<Renewal & Record<Name, unknown>>(endpoint);
    if (this.#session?.[name].id !== asked?.[name].id) {
      // An account signed in or out meanwhile, here or in another tab.
      return this.#token?.text ?? null;
    }
    const profile = renewal === null ? null : this.#kind.parse(renewal[name]);
    if (renewal === null || profile === null) {
      this.#token = null;
      if (this.#session !== null) {
        this.#session = { ...this.#session, hasEnded: true };
        this.#notifyListeners();
      }
      return null;
    }
    const renewAt = Date.now() + renewal.expiresIn * 1000 - RENEWED_BEFORE_MS;
    this.#token = { text: renewal.accessToken, renewAt };
    if (JSON.stringify(this.#session?.[name]) !== JSON.stringify(profile)) {
      this.#replace(this.#sessionOf(profile));
    }
    return renewal.accessToken;
  }

  /** Until the server has heard of it, the next page tries again, and so does this one when it is online. */
  #signOutIfPending(): void {
    this.#signOut = this.#signOut.then(async () => {
      // Another account may have signed in meanwhile, whose session this must not end.
      if (isSignOutPending(this.#kind)) {
        await deleteSession(this.#kind.endpoint).then(
          () => {
            setSignOutPending(this.#kind, false);
          },
          () => undefined,
        );
      }
    });
  }

  #replace(next: SessionOf<Name, Profile> | null): void {
    this.#session = next;
    storeProfile(this.#kind, next === null ? null : next[this.#kind.name]);
    this.#notifyListeners();
  }

  #sessionOf(profile: Profile | null): SessionOf<Name, Profile> | null {
    return profile === null ? null : ({ [this.#kind.name]: profile, hasEnded: false } as SessionOf<Name, Profile>);
  }

  #notifyListeners(): void {
    this.#listeners.forEach((listener) => {
      listener();
    });
  }
}
