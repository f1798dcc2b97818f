/** Writes: accepted once, also over restarts. */
import { beforeEach, describe, expect, it } from "vitest";
import type { NewSecret } from "./key-admin.js";
import { askerOf, withHeaders } from "./test/asker.js";
import { type AuthHarness, outcome, signedBy, startAuth, WISH } from "./test/auth-harness.js";

let harness: AuthHarness;
let key: NewSecret;

beforeEach(async () => {
  harness = await startAuth();
  key = await harness.keys.create(WISH);
});

const { now, get, post, ask, details } = askerOf(() => ({ harness, key }));

describe("a write", () => {
  it.each(["POST", "PATCH", "DELETE", "PUT", "OPTIONS", "get"])("by %s is accepted once", (method) => {
    const request = signedBy(key, now(), { method });
    expect([ask(request), ask(request)]).toEqual(["ok", "AUTH_REPLAY"]);
  });

  it("a millisecond later is another one; a read may be repeated", () => {
    const read = get();
    expect([ask(post()), ask(read), ask(read), ask(withHeaders(get({ method: "HEAD" }), {}))]).toEqual([
      "ok",
      "ok",
      "ok",
      "ok",
    ]);
    harness.clock.advance(1);
    expect(ask(post())).toBe("ok");
  });

  it("stays refused until its window is over, and then for its time", () => {
    const request = post({ recvWindow: "10000" });
    expect(ask(request)).toBe("ok");
    harness.clock.advance(10_000);
    expect(ask(request)).toBe("AUTH_REPLAY");
    harness.clock.advance(1);
    expect(ask(request)).toBe("AUTH_TIMESTAMP_OUT_OF_WINDOW");
  });

  it("stays refused when the clock is set back after it was forgotten", () => {
    const request = post();
    expect(ask(request)).toBe("ok");
    harness.clock.advance(3_600_000);
    expect(ask(post({ target: "/api/other" }))).toBe("ok");
    harness.clock.stepWall(-3_600_000);
    expect(ask(request)).toBe("AUTH_TIMESTAMP_OUT_OF_WINDOW");
    // A read does no harm.
    expect(ask(get())).toBe("ok");
  });

  it("with a wrong signature uses nothing up", () => {
    const request = post();
    expect([ask(withHeaders(request, { signature: "0".repeat(64) })), ask(request)]).toEqual([
      "AUTH_BAD_SIGNATURE",
      "ok",
    ]);
  });

  it("waits for the mark after a pause, and for nothing while writes go on", async () => {
    const settles = (): boolean => {
      const verdict = harness.auth.authenticate(post({ target: `/api/x${now()}` }));
      return verdict.ok && verdict.settled !== undefined;
    };
    expect(settles()).toBe(true);
    await harness.clock.advanceAsync(1);
    const waits: boolean[] = [];
    for (let round = 0; round < 40; round++) {
      waits.push(settles());
      await harness.clock.advanceAsync(250);
    }
    expect(waits).not.toContain(true);
    await harness.clock.advanceAsync(10_000);
    expect(settles()).toBe(true);
  });

  it("of a frame of the stream is accepted once too, as a GET", () => {
    const frame = get({ target: "/ws" });
    expect([outcome(harness.auth.authenticateOnce(frame)), outcome(harness.auth.authenticateOnce(frame))]).toEqual([
      "ok",
      "AUTH_REPLAY",
    ]);
  });
});

describe("after a restart", () => {
  async function restart(options: { clean: boolean; seed?: number }): Promise<void> {
    if (options.clean) {
      await harness.keys.stop();
      await harness.mark.stop();
    }
    harness = await startAuth({ clock: harness.clock, store: harness.store, seed: options.seed ?? 99 });
  }

  it("that was clean a write is refused again, and a new one is accepted at once", async () => {
    const request = post();
    expect(ask(request)).toBe("ok");
    await restart({ clean: true });
    expect(ask(request)).toBe("AUTH_TIMESTAMP_OUT_OF_WINDOW");
    harness.clock.advance(1);
    expect(ask(post())).toBe("ok");
  });

  it("that followed a crash writes are refused for three seconds after it, and reads never", async () => {
    const request = post();
    await (harness.auth.authenticate(request) as { settled?: Promise<void> }).settled;
    await restart({ clean: false });
    expect([ask(request), ask(get())]).toEqual(["AUTH_TIMESTAMP_OUT_OF_WINDOW", "ok"]);
    expect(details(request)).toMatchObject({ reason: "BEFORE_START", retryAfterMs: 3_001 });
    harness.clock.advance(3_000);
    expect([ask(post()), ask(request)]).toEqual(["AUTH_TIMESTAMP_OUT_OF_WINDOW", "AUTH_TIMESTAMP_OUT_OF_WINDOW"]);
    harness.clock.advance(1);
    expect(ask(post())).toBe("ok");
  });

  it("with the clock set back an hour every write is refused; a rotated secret writes at once", async () => {
    const request = post();
    expect(ask(request)).toBe("ok");
    await restart({ clean: true });
    harness.clock.stepWall(-3_600_000);
    expect(ask(post())).toBe("AUTH_TIMESTAMP_OUT_OF_WINDOW");
    const rotated = await harness.keys.rotate(key.key.keyId, 60_000);
    expect(ask(post())).toBe("AUTH_TIMESTAMP_OUT_OF_WINDOW");
    expect(ask(signedBy(rotated, now(), { method: "POST" }))).toBe("ok");
  });

  it("refuses no write of a key that was made since: no process before can have accepted one", async () => {
    expect(ask(post())).toBe("ok");
    await restart({ clean: false });
    const fresh = await harness.keys.create(WISH);
    expect(ask(post())).toBe("AUTH_TIMESTAMP_OUT_OF_WINDOW");
    expect(ask(signedBy(fresh, now(), { method: "POST" }))).toBe("ok");
  });
});
