/** Users of the blog, as the browser knows their sessions: the pages' and the playground's. */
import type { AccountKind } from "./stored-session.js";

export interface User {
  id: string;
  username: string;
}

export const users: AccountKind<"user", User> = {
  name: "user",
  endpoint: "/session",
  sessionKey: "onehop:session",
  signOutKey: "onehop:sign-out",
  parse: (value) => {
    const { id, username } = (value ?? {}) as Partial<User>;
    return typeof id === "string" && typeof username === "string" ? { id, username } : null;
  },
};
