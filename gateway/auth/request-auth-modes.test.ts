/** The secret as a header, and the modes without a signature. */
import { beforeEach, describe, expect, it } from "vitest";
import type { SignedRequest } from "../http/caller.js";
import type { NewSecret } from "./key-admin.js";
import { askerOf, withHeaders } from "./test/asker.js";
import { type AuthHarness, startAuth, WISH } from "./test/auth-harness.js";

let harness: AuthHarness;
let key: NewSecret;

beforeEach(async () => {
  harness = await startAuth();
  key = await harness.keys.create(WISH);
});

const { get, post, ask, details } = askerOf(() => ({ harness, key }));

describe("X-API-SECRET", () => {
  it("must match where it is sent, makes the request deprecated, and replaces no signature", () => {
    const accepted = harness.auth.authenticate(withHeaders(get(), { secret: key.secret }));
    expect(accepted.ok && accepted.deprecated).toBe(true);
    expect(ask(withHeaders(get(), { secret: `${key.secret}x` }))).toBe("AUTH_BAD_SIGNATURE");
    expect(details(withHeaders(get(), { secret: "sk_x" }))["header"]).toBe("X-API-SECRET");
    expect(ask(withHeaders(get(), { secret: key.secret, signature: null }))).toBe("AUTH_MISSING_HEADER");
    expect(ask(withHeaders(get(), { secret: key.secret, signature: "0".repeat(64) }))).toBe("AUTH_BAD_SIGNATURE");
    const plain = harness.auth.authenticate(get());
    expect(plain.ok && plain.deprecated).toBe(false);
  });

  it("of a wrong write uses nothing up", () => {
    const request = post();
    expect([ask(withHeaders(request, { secret: "sk_x" })), ask(request)]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });
});

describe("mode secret", () => {
  beforeEach(async () => {
    harness = await startAuth({ mode: "secret" });
    key = await harness.keys.create(WISH);
  });
  const bare = (secret: string | null): SignedRequest =>
    withHeaders(post(), { timestamp: null, signature: null, recvWindow: null, secret });

  it("takes key and secret, and verifies a signature that is there", () => {
    expect([ask(bare(key.secret)), ask(bare(key.secret)), ask(bare("sk_x")), ask(bare(null))]).toEqual([
      ...["ok", "ok", "AUTH_BAD_SIGNATURE", "AUTH_MISSING_HEADER"],
    ]);
    expect(details(bare(null))["header"]).toBe("X-API-SECRET");
    const wrong = withHeaders(post(), { secret: key.secret, signature: "0".repeat(64) });
    expect([ask(wrong), ask(post()), ask(post())]).toEqual(["AUTH_BAD_SIGNATURE", "ok", "AUTH_REPLAY"]);
  });

  it("takes the former secret until the overlap is over", async () => {
    const rotated = await harness.keys.rotate(key.key.keyId, 1_000);
    expect([ask(bare(key.secret)), ask(bare(rotated.secret))]).toEqual(["ok", "ok"]);
    harness.clock.advance(1_001);
    expect([ask(bare(key.secret)), ask(bare(rotated.secret))]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });
});

describe("mode public", () => {
  beforeEach(async () => {
    harness = await startAuth({ mode: "public" });
    key = await harness.keys.create(WISH);
  });

  it("needs no key, and verifies one that is shown in any of its headers", () => {
    const none = { apiKey: null, timestamp: null, recvWindow: null, signature: null, secret: null };
    expect(harness.auth.authenticate(withHeaders(get(), none))).toEqual({ ok: true, caller: null, deprecated: false });
    expect(ask(get())).toBe("ok");
    expect(ask(withHeaders(get(), { signature: "0".repeat(64) }))).toBe("AUTH_BAD_SIGNATURE");
    for (const shown of ["apiKey", "timestamp", "recvWindow", "signature", "secret"] as const)
      expect(ask(withHeaders(get(), { ...none, [shown]: "x" }))).toBe("AUTH_MISSING_HEADER");
    expect(ask(withHeaders(get(), { ...none, apiKey: key.key.keyId, secret: key.secret }))).toBe("AUTH_MISSING_HEADER");
  });
});
