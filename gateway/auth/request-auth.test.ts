/** Requests against keys: the table of docs/api-keys.md, row by row. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SignedRequest } from "../http/caller.js";
import { requireScope } from "../http/require-scope.js";
import type { NewSecret } from "./key-admin.js";
import { LiveKey } from "./key-table.js";
import { IpList } from "./ip-list.js";
import { SigningSecret } from "./signing-secret.js";
import { askerOf, BODY, withHeaders } from "./test/asker.js";
import { type AuthHarness, signed, signedBy, startAuth, WISH } from "./test/auth-harness.js";

let harness: AuthHarness;
let key: NewSecret;

beforeEach(async () => {
  harness = await startAuth();
  key = await harness.keys.create(WISH);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const { now, get, post, ask, details } = askerOf(() => ({ harness, key }));

/** A key of this id and secret, as the vectors have it. */
function plant(keyId: string, secret: string): void {
  const anyAddress = IpList.parse([]);
  if (typeof anyAddress === "number") return;
  const live = new LiveKey(
    { keyId, ownerId: "ow_1", scopes: ["read"], ips: anyAddress },
    new SigningSecret(Buffer.from(secret)),
  );
  harness.keys.table.add(keyId, live);
}

describe("the vectors of the design", () => {
  const VECTORS = [
    ["POST", "/api/trade/position/close", BODY, "bab7425e1b5e87e9aca37b50e5341469f7126cd9b9a3f1244ae5675d6e668715"],
    [
      ...["GET", "/api/trading/venuetwo/orders/12345/status?symbol=BTC", ""],
      "b66eecd5e9cc7d39b3320952ae34f317cf37cdd38dce1d33dd95266f4fc76225",
    ],
  ] as const;

  it.each(VECTORS)(
    "%s %s is accepted with its signature, and with no other byte",
    (method, target, body, signature) => {
      plant("pk_vector", "sk_test_8Jx2");
      const request = signed(
        { keyId: "pk_vector", secret: "other", timestamp: "1790000000000", method, target, body },
        { signature },
      );
      expect(ask(request)).toBe("ok");
      for (const wrong of [
        { ...request, method: method === "GET" ? "POST" : "PUT" },
        { ...request, target: `${target}x` },
        { ...request, target: target.toUpperCase() },
        { ...request, body: Buffer.from(`${body} `) },
        { ...request, body: Buffer.from(`{${body}`) },
        withHeaders(request, { timestamp: "1790000000001" }),
        withHeaders(request, { recvWindow: "5000" }),
        withHeaders(request, { signature: signature.replace(/^./, "0") }),
      ])
        expect(ask(wrong)).toMatch(/^(AUTH_BAD_SIGNATURE|AMBIGUOUS_REQUEST)$/);
    },
  );

  it("hold for a secret that is longer than a block, whose digest is the key of the HMAC", () => {
    const secret = "x".repeat(65);
    plant("pk_long", secret);
    expect(ask(signed({ keyId: "pk_long", secret, timestamp: now() }))).toBe("ok");
  });
});

describe("a signed request", () => {
  it("names its caller by owner, key and scopes", () => {
    const verdict = harness.auth.authenticate(get());
    expect(verdict.ok && [verdict.caller?.ownerId, verdict.caller?.keyId, [...(verdict.caller?.scopes ?? [])]]).toEqual(
      [key.key.ownerId, key.key.keyId, ["read", "trade"]],
    );
  });

  it("signs a target and a body beyond ASCII and beyond a frame by their bytes", () => {
    expect(ask(get({ target: "/api/wallets/größe?x=%F0%9F" }))).toBe("ok");
    expect(ask(post({ body: `{"label":"${"é".repeat(40_000)}"}` }))).toBe("ok");
    expect(ask(post({ target: "/api/x", body: "  \r\n\t{}" }))).toBe("ok");
  });

  it.each(["apiKey", "timestamp", "signature"] as const)(
    "without its %s is refused by the name of the header",
    (header) => {
      const names = { apiKey: "X-API-KEY", timestamp: "X-API-TIMESTAMP", signature: "X-API-SIGNATURE" };
      for (const value of [null, ""]) {
        const request = withHeaders(get(), { [header]: value });
        expect([ask(request), details(request)["header"]]).toEqual(["AUTH_MISSING_HEADER", names[header]]);
      }
    },
  );

  it("without any header is refused: a key is needed", () => {
    const none = { apiKey: null, timestamp: null, recvWindow: null, signature: null, secret: null };
    expect(details(withHeaders(get(), none))["header"]).toBe("X-API-KEY");
  });

  it("of a key that does not exist is refused, whatever its id looks like", () => {
    for (const apiKey of [
      "pk_0000000000000000000000",
      "x",
      "__proto__",
      "constructor",
      "pk_".repeat(20_000),
      `${key.key.keyId} `,
    ])
      expect(ask(withHeaders(get(), { apiKey }))).toBe("AUTH_UNKNOWN_KEY");
  });

  it("of a revoked key is refused as that, in the turn in which it is revoked", async () => {
    const revoked = harness.keys.revoke(key.key.keyId);
    expect(ask(get())).toBe("KEY_REVOKED");
    await revoked;
    expect(ask(get())).toBe("KEY_REVOKED");
  });

  it.each([
    "",
    "0",
    "-1",
    "+1790000000000",
    " 1790000000000",
    "1790000000000 ",
    "1.79e12",
    "0x1a0c5",
    "01790000000000",
    "17900000000000000",
    "NaN",
    "１７９0000000000",
    "1790000000000\n",
  ])("with the timestamp %j is refused", (timestamp) => {
    const { keyId } = key.key;
    expect(ask(signed({ keyId, secret: key.secret, timestamp }))).toBe(
      timestamp === "" ? "AUTH_MISSING_HEADER" : "AUTH_TIMESTAMP_OUT_OF_WINDOW",
    );
  });

  it("is accepted from the beginning of its window to a second ahead of now, and not a millisecond beyond", () => {
    const at = (offsetMs: number, recvWindow?: string): string =>
      ask(signedBy(key, now() + offsetMs, recvWindow === undefined ? {} : { recvWindow }));
    expect([at(-5_001), at(-5_000), at(1_000), at(1_001)]).toEqual([
      ...["AUTH_TIMESTAMP_OUT_OF_WINDOW", "ok", "ok", "AUTH_TIMESTAMP_OUT_OF_WINDOW"],
    ]);
    expect([at(-1_001, "1000"), at(-1_000, "1000"), at(-60_000, "60000"), at(-60_001, "60000")]).toEqual([
      ...["AUTH_TIMESTAMP_OUT_OF_WINDOW", "ok", "ok", "AUTH_TIMESTAMP_OUT_OF_WINDOW"],
    ]);
  });

  it.each(["999", "60001", "0", "-5000", "05000", "5e3", "5000 ", "5000.0", "100000000000000000000"])(
    "with the window %j is refused",
    (recvWindow) => {
      expect(ask(get({ recvWindow }))).toBe("AUTH_TIMESTAMP_OUT_OF_WINDOW");
      expect(details(get({ recvWindow }))["problem"]).toContain("X-API-RECV-WINDOW");
    },
  );

  it("whose window was widened or taken away in flight is refused", () => {
    const request = signedBy(key, now() - 4_000, { recvWindow: "5000" });
    expect(ask(withHeaders(request, { recvWindow: "60000" }))).toBe("AUTH_BAD_SIGNATURE");
    expect(ask(withHeaders(request, { recvWindow: null }))).toBe("AUTH_BAD_SIGNATURE");
    expect(ask(withHeaders(get(), { recvWindow: "60000" }))).toBe("AUTH_BAD_SIGNATURE");
  });

  it.each([
    (hex: string) => hex.toUpperCase(),
    (hex: string) => hex.slice(1),
    (hex: string) => `${hex}0`,
    (hex: string) => ` ${hex.slice(1)}`,
    (hex: string) => `0x${hex}`,
    (hex: string) => `${hex.slice(0, 63)}ā`,
    (hex: string) => Buffer.from(hex, "hex").toString("base64"),
    (hex: string) => "0".repeat(hex.length),
  ])("with its signature in another form (%#) is refused", (change) => {
    const request = get();
    expect(ask(withHeaders(request, { signature: change(request.headers.signature ?? "") }))).toBe(
      "AUTH_BAD_SIGNATURE",
    );
  });

  it("with a wrong signature gets the time and the digest of the signed bytes, and nothing of them", () => {
    const request = withHeaders(post(), { signature: "0".repeat(64) });
    const prehash = `${now()}POST/api/trade/position/close${BODY}`;
    expect(details(request)).toEqual({
      serverTime: now(),
      prehashSha256: createHash("sha256").update(prehash).digest("hex"),
    });
  });

  it("that is refused always says what time it is here", () => {
    for (const request of [
      withHeaders(get(), { apiKey: null }),
      withHeaders(get(), { apiKey: "pk_x" }),
      withHeaders(get(), { timestamp: "1" }),
      withHeaders(get(), { signature: "0".repeat(64) }),
      withHeaders(get(), { secret: "sk_x" }),
    ])
      expect(details(request)["serverTime"]).toBe(now());
  });

  it("could not be split into target and body in another way", () => {
    // The target of one cancel, with its end moved into the body: all orders of the account.
    const one = signedBy(key, now(), { method: "DELETE", target: "/api/trading/venueone/orders/7?symbol=BTC" });
    const moved = { ...one, target: "/api/trading/venueone/orders", body: Buffer.from("/7?symbol=BTC") };
    expect([ask(moved), ask(one)]).toEqual(["AMBIGUOUS_REQUEST", "ok"]);
    const whole = post();
    expect(ask({ ...whole, target: whole.target + BODY, body: Buffer.alloc(0) })).toBe("AMBIGUOUS_REQUEST");
    expect(ask(get({ target: "/api/x?y={}" }))).toBe("AMBIGUOUS_REQUEST");
    expect(ask(get({ target: "api/limits" }))).toBe("AMBIGUOUS_REQUEST");
    expect(ask(get({ target: "/api/limits " }))).toBe("AMBIGUOUS_REQUEST");
    expect(ask(get({ target: "" }))).toBe("AMBIGUOUS_REQUEST");
  });

  it("keeps nothing of its body or of the key in the buffer in which it is checked", () => {
    const frames: Buffer[] = [];
    const spied = vi.spyOn(SigningSecret.prototype, "isSignature");
    harness.auth.authenticate(post());
    for (const [frame] of spied.mock.calls) frames.push(frame);
    expect(frames).toHaveLength(1);
    expect(frames[0]?.every((byte) => byte === 0)).toBe(true);
  });

  it("that meets a bug of ours is refused, not let through", () => {
    vi.spyOn(SigningSecret.prototype, "isSignature").mockImplementation(() => {
      throw new Error("planted");
    });
    expect(ask(get())).toBe("INTERNAL");
  });
});

describe("digests per outcome", () => {
  function hmacs(request: SignedRequest): number {
    const spied = vi.spyOn(SigningSecret.prototype, "hmacHex");
    spied.mockClear();
    harness.auth.authenticate(request);
    return spied.mock.calls.length;
  }
  const wrong = { signature: "0".repeat(64) };

  it("are the same for an unknown key, a revoked one, and a wrong signature of a known one", async () => {
    const other = await harness.keys.create(WISH);
    await harness.keys.revoke(other.key.keyId);
    expect([
      hmacs(get()),
      hmacs(withHeaders(get(), wrong)),
      hmacs(withHeaders(get(), { apiKey: "pk_x", ...wrong })),
      hmacs(withHeaders(get(), { apiKey: other.key.keyId, ...wrong })),
    ]).toEqual([1, 1, 1, 1]);
  });

  it("are two while a former secret lives, whichever of the two signed", async () => {
    const rotated = await harness.keys.rotate(key.key.keyId, 60_000);
    expect([hmacs(signedBy(rotated, now())), hmacs(get()), hmacs(withHeaders(get(), wrong))]).toEqual([2, 2, 2]);
    harness.clock.advance(60_001);
    expect([hmacs(signedBy(rotated, now())), hmacs(withHeaders(get(), wrong))]).toEqual([1, 1]);
  });

  it("are none where the timestamp is outside the window already", () => {
    expect(hmacs(withHeaders(get(), { timestamp: "1" }))).toBe(0);
  });
});

describe("a rotated key", () => {
  it("works with both secrets until the overlap is over, then with the new one alone", async () => {
    const rotated = await harness.keys.rotate(key.key.keyId, 60_000);
    expect(rotated.secret).not.toBe(key.secret);
    expect([ask(get()), ask(signedBy(rotated, now()))]).toEqual(["ok", "ok"]);
    harness.clock.advance(60_000);
    expect(ask(get())).toBe("ok");
    harness.clock.advance(1);
    expect([ask(get()), ask(signedBy(rotated, now()))]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });

  it("without an overlap works with the new secret alone", async () => {
    const rotated = await harness.keys.rotate(key.key.keyId, 0);
    expect([ask(get()), ask(signedBy(rotated, now()))]).toEqual(["AUTH_BAD_SIGNATURE", "ok"]);
  });
});

describe("a list of addresses", () => {
  it("lets its addresses through, and refuses another one only after the signature is right", async () => {
    key = await harness.keys.create({ ...WISH, ips: ["192.0.2.0/24", "2001:db8::/32"] });
    const from = (address: string): SignedRequest => ({ ...get(), address });
    expect([ask(from("192.0.2.9")), ask(from("::ffff:192.0.2.9")), ask(from("2001:db8::1"))]).toEqual([
      "ok",
      "ok",
      "ok",
    ]);
    expect([ask(from("198.51.100.1")), ask(from("")), ask(from("nonsense"))]).toEqual(
      new Array(3).fill("IP_NOT_ALLOWED"),
    );
    expect(ask(withHeaders(from("198.51.100.1"), { signature: "0".repeat(64) }))).toBe("AUTH_BAD_SIGNATURE");
  });

  it("reports a refusal once a minute for each key", async () => {
    key = await harness.keys.create({ ...WISH, ips: ["192.0.2.0/24"] });
    const tries = (): void => {
      for (let times = 0; times < 100; times++) ask({ ...get(), address: "198.51.100.1" });
    };
    tries();
    expect(harness.foreign).toEqual([`${key.key.keyId} 198.51.100.1`]);
    harness.clock.advance(60_000);
    tries();
    expect(harness.foreign).toHaveLength(2);
  });

  it("refuses a write without using it up", async () => {
    key = await harness.keys.create({ ...WISH, ips: ["192.0.2.0/24"] });
    const request = post();
    expect([ask({ ...request, address: "198.51.100.1" }), ask(request)]).toEqual(["IP_NOT_ALLOWED", "ok"]);
  });
});

describe("a scope", () => {
  it("that the key lacks is named; none implies another", async () => {
    const { auth, keys } = harness;
    const operator = await keys.create({ ...WISH, scopes: ["admin"] });
    const verdict = auth.authenticate(signedBy(operator, now()));
    const caller = verdict.ok ? verdict.caller : null;
    expect(caller).not.toBeNull();
    if (caller === null) return;
    requireScope(caller, "admin");
    for (const scope of ["read", "trade", "transfer", "sign"] as const)
      expect(() => requireScope(caller, scope)).toThrow(
        expect.objectContaining({ code: "SCOPE_MISSING", context: { scope } }),
      );
  });
});
