/** When the page wants a key, takes one, and forgets it. */
import { describe, expect, it } from "vitest";
import { createApiClient } from "../api/api-client.js";
import { json, KEYS, plainMac, refusal } from "../test/api-service.js";
import { createApiTime } from "../test/api-time.js";
import { Session, type SignInState } from "./session.js";

const OTHER = { apiKey: "pk_other", secret: "sk_other" } as const;

/** A service in signed mode, as far as the page sees it. */
function setUp(mode: "public" | "signed" = "signed") {
  const time = createApiTime();
  const states: SignInState[] = [];
  const known = new Set<string>([KEYS.apiKey]);
  const shown: (string | null)[] = [];
  const api = createApiClient({
    baseUrl: "http://page.test",
    clock: time,
    importSecret: plainMac,
    fetch: async (url, { headers }) => {
      const { pathname } = new URL(url);
      const key = headers["x-api-key"] ?? null;
      shown.push(key);
      if (key !== null && !known.has(key)) return refusal(401, "AUTH_UNKNOWN_KEY");
      const isOpen = pathname === "/api/limits" || pathname === "/api/time";
      if (mode === "signed" && key === null && !isOpen) return refusal(401, "AUTH_MISSING_HEADER");
      return json(200, { success: true, data: { serverTime: time.trueMs() } });
    },
  });
  const session = new Session(api, (state) => states.push(state));
  return { time, session, states, known, shown, api };
}

describe("the page's session", () => {
  it("wants no key of a service without keys", async () => {
    const { time, session, states } = setUp("public");
    await time.settle(session.call("status"));
    expect([session.state, states]).toEqual(["open", []]);
  });

  it("wants a key once the service asks for one, and says so once", async () => {
    const { time, session, states } = setUp();
    await time.settle(session.call("status"));
    await time.settle(session.call("status"));
    session.want();
    session.noteRefusal("AUTH_REQUIRED", "first");
    expect([session.state, states]).toEqual(["wanted", ["wanted"]]);
  });

  it("signs with a key that the service takes", async () => {
    const { time, session, states, shown } = setUp();
    session.want();
    expect(await time.settle(session.signIn(KEYS))).toBe("");
    expect([session.state, session.apiKey, states]).toEqual(["in", KEYS.apiKey, ["wanted", "checking", "in"]]);
    await time.settle(session.call("status"));
    expect(shown.at(-1)).toBe(KEYS.apiKey);
  });

  it("forgets a key that the service does not take", async () => {
    const { time, session, shown } = setUp();
    session.want();
    expect(await time.settle(session.signIn(OTHER))).toBe("refused: AUTH_UNKNOWN_KEY");
    expect([session.state, session.apiKey]).toEqual(["wanted", null]);
    await time.settle(session.call("status"));
    expect(shown.at(-1)).toBeNull();
  });

  it("forgets a key that is revoked later, and says why", async () => {
    const { time, session, known } = setUp();
    await time.settle(session.signIn(KEYS));
    known.clear();
    await time.settle(session.call("status"));
    expect([session.state, session.apiKey, session.reason]).toEqual(["wanted", null, "refused: AUTH_UNKNOWN_KEY"]);
  });

  it("asks again about a key whose connection was ended, and about none where there is none", async () => {
    const { time, session, known, shown } = setUp();
    await time.settle(session.recheck());
    expect(shown).toEqual([]);
    await time.settle(session.signIn(KEYS));
    await time.settle(session.recheck());
    expect(session.state).toBe("in");
    known.clear();
    await time.settle(session.recheck());
    expect(session.state).toBe("wanted");
  });

  it("keeps a key though a call that began before it is refused for want of one", async () => {
    const { time, session } = setUp();
    const early = session.call("status");
    await time.settle(session.signIn(KEYS));
    await time.settle(early);
    expect([session.state, session.apiKey]).toEqual(["in", KEYS.apiKey]);
  });

  it("forgets the key when a person signs out, also while it is being checked", async () => {
    const { time, session, shown } = setUp();
    const signingIn = session.signIn(KEYS);
    session.signOut();
    await time.settle(signingIn);
    expect([session.state, session.apiKey]).toEqual(["wanted", null]);
    await time.settle(session.call("status"));
    expect(shown.at(-1)).toBeNull();
  });
});
