/** The REST client against the real server in each mode of keys. */
import { afterEach, describe, expect, it } from "vitest";
import { createApiClient } from "../../client/api/api-client.js";
import { type Harness, startHarness } from "./harness.js";
import { ALICE, createTestAuth } from "./test-keys.js";

const KEYS = { apiKey: ALICE.keyId, secret: ALICE.secret };

let running: Harness | null = null;
afterEach(async () => {
  await running?.stop();
  running = null;
});

describe("the REST client", () => {
  it.each([
    ["secret", "secret", "ok"],
    ["signed", "secret", "ok"],
    ["signed", "signed", "ok"],
    // The secret never replaces the signature there.
    ["secret", "signed", "AUTH_MISSING_HEADER"],
  ] as const)("in mode %s is answered by a service in mode %s: %s", async (mode, serviceMode, expected) => {
    running = await startHarness({ auth: createTestAuth({ mode: serviceMode }) });
    const api = createApiClient({ baseUrl: running.server.url, keys: KEYS, mode });
    const read = await api.call("limits");
    const write = await api.call("streamTicket", {});
    expect([read, write].map((result) => (result.ok ? "ok" : result.code))).toEqual([expected, expected]);
  });
});
