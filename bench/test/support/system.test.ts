/** Waits of tests of whole processes: each ends, and says what did not come. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Reply } from "../../../gateway/test/client.js";
import { onceServed } from "./custody-bench.js";
import { found, within } from "./system.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const BEHIND_MS = 3_600_000;
const reply = (status: number, code: string) =>
  ({ status, text: `{"code":"${code}"}`, body: { code } }) as unknown as Reply;

describe("a wait", () => {
  it("for a value ends with what did not come, and what was seen last", async () => {
    let looks = 0;
    const look = async () => {
      looks++;
      return null;
    };
    const wait = expect(found(() => `the value, after ${looks} looks`, look)).rejects.toThrow(
      /^not within \d+ ms: the value, after \d+ looks$/,
    );
    await vi.advanceTimersByTimeAsync(BEHIND_MS);
    await wait;
    expect(looks).toBeGreaterThan(100);
  });

  it("for a promise ends where it does not come, and with its value where it does", async () => {
    const wait = expect(within("a word", new Promise(() => {}))).rejects.toThrow(/^not within .*: a word$/);
    await vi.advanceTimersByTimeAsync(BEHIND_MS);
    await wait;
    expect(await within("a word", Promise.resolve("said"))).toBe("said");
    await expect(within("a word", Promise.reject(new Error("not said")))).rejects.toThrow("not said");
  });

  it("for a request to be served ends with the refusal that did not pass, and with the first that is another", async () => {
    const wait = expect(onceServed(async () => reply(503, "SIGNER_UNAVAILABLE"))).rejects.toThrow(
      /^not within .*: a request is served: 503 {"code":"SIGNER_UNAVAILABLE"}$/,
    );
    await vi.advanceTimersByTimeAsync(BEHIND_MS);
    await wait;
    const replies = [reply(503, "STORE_UNAVAILABLE"), reply(404, "NOT_FOUND"), reply(200, "")];
    const served = onceServed(async () => replies.shift() ?? reply(500, "INTERNAL"));
    await vi.advanceTimersByTimeAsync(BEHIND_MS);
    expect((await served).status).toBe(404);
  });
});
