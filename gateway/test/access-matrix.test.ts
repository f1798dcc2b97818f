/**
 * Every operation of the table × what a caller shows of a key, over a running server in signed mode: exactly 401, 403 or
 * an answer of the route. The matrix is made from the table, so an operation that is added is in it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Operation, type Scope, SCOPES } from "../../schemas/operation.js";
import { OPERATIONS } from "../../schemas/operations.js";
import type { Reply, RequestOptions } from "./client.js";
import { createFakeDesk } from "./fake-desk.js";
import { createFakeMoneyDesk } from "./fake-money-desk.js";
import { tradingWith } from "./fake-trading.js";
import { type Harness, startHarness } from "./harness.js";
import {
  ADMIN,
  ALICE_READS,
  ALICE_TRADES,
  createTestAuth,
  LOCAL_ONLY,
  ONLY_ADMIN,
  REVOKED,
  SCOPELESS,
  signed,
  type TestKey,
} from "./test-keys.js";
import { TestWallets } from "./test-wallets.js";

const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const PARAMETERS: Readonly<Record<string, string>> = {
  symbol: "BTC",
  exchange: "venueone",
  walletAddress: ADDRESS,
  walletId: WALLET,
  walletIdOrAddress: WALLET,
  orderId: "12345",
  routeId: "rt_none",
  switchId: "dm_none",
  transferId: "7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f",
};
const AUTH_CODES = [
  "AUTH_MISSING_HEADER",
  "AUTH_UNKNOWN_KEY",
  "AUTH_BAD_SIGNATURE",
  "AUTH_TIMESTAMP_OUT_OF_WINDOW",
  "AUTH_REPLAY",
  "KEY_REVOKED",
  "SCOPE_MISSING",
  "IP_NOT_ALLOWED",
];

const operations = Object.values<Operation>(OPERATIONS);
const desk = createFakeDesk();
const auth = createTestAuth();
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({
    auth,
    trading: tradingWith(desk),
    wallets: { provider: new TestWallets(), appendAct: async () => {} },
    registrars: new Map(),
    money: createFakeMoneyDesk(),
  });
});
afterAll(async () => {
  await harness.stop();
});

interface Shown {
  readonly status: number;
  readonly code: unknown;
}

function targetOf({ path }: Operation): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = PARAMETERS[name];
    if (value === undefined) throw new Error(`no sample for ${name}`);
    return value;
  });
}

let lastMs = 0;
/** Two equal requests of one millisecond would be one. */
function freshTimestamp(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

async function ask(operation: Operation, by: TestKey | null, secret = by?.secret ?? ""): Promise<Shown> {
  const { method } = operation;
  const target = targetOf(operation);
  const body = method === "POST" || method === "PATCH" ? "{}" : undefined;
  const signing = { method, target, timestamp: freshTimestamp(), ...(body === undefined ? {} : { body }) };
  const options: RequestOptions = {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(by === null ? {} : signed({ ...by, secret }, signing)),
    },
    ...(body === undefined ? {} : { body }),
  };
  return shownOf(await harness.client.send(target, options));
}

function shownOf(reply: Reply): Shown {
  const { body } = reply;
  const code = body !== null && typeof body === "object" && !Array.isArray(body) ? (body["code"] ?? null) : null;
  return { status: reply.status, code };
}

const withScope = (scope: Scope): TestKey =>
  scope === "read" ? ALICE_READS : scope === "trade" ? ALICE_TRADES : ONLY_ADMIN;
const isAnswered = ({ code }: Shown) => code !== "INTERNAL" && !AUTH_CODES.includes(String(code));

describe.each(operations.map((operation) => ({ operation, name: `${operation.method} ${operation.path}` })))(
  "in signed mode $name",
  ({ operation }) => {
    const { scope } = operation.access;

    it("asks for a key, unless it is open", async () => {
      const shown = await ask(operation, null);
      if (scope === "open") expect([shown, isAnswered(shown)]).toEqual([shown, true]);
      else expect(shown).toEqual({ status: 401, code: "AUTH_MISSING_HEADER" });
    });

    it("refuses a wrong signature, an unknown key, a revoked one and one of another address, open or not", async () => {
      const calls = desk.calls.length;
      expect(await ask(operation, ADMIN, "sk_wrong")).toEqual({ status: 401, code: "AUTH_BAD_SIGNATURE" });
      expect(await ask(operation, { ...ADMIN, keyId: "pk_no" })).toEqual({ status: 401, code: "AUTH_UNKNOWN_KEY" });
      expect(await ask(operation, REVOKED)).toEqual({ status: 401, code: "KEY_REVOKED" });
      expect(await ask(operation, LOCAL_ONLY)).toEqual({ status: 403, code: "IP_NOT_ALLOWED" });
      expect(desk.calls).toHaveLength(calls);
    });

    it("refuses a key without its scope, whatever other scopes that has", async () => {
      if (scope === "open") {
        const shown = await ask(operation, SCOPELESS);
        expect([shown, isAnswered(shown)]).toEqual([shown, true]);
        return;
      }
      const calls = desk.calls.length;
      for (const other of new Set([SCOPELESS, ...SCOPES.filter((one) => one !== scope).map(withScope)]))
        if (!other.scopes.includes(scope))
          expect([other.keyId, await ask(operation, other)]).toEqual([
            other.keyId,
            { status: 403, code: "SCOPE_MISSING" },
          ]);
      expect(desk.calls).toHaveLength(calls);
    });

    it("answers a key with its scope", async () => {
      const shown = await ask(operation, ADMIN);
      expect([shown, isAnswered(shown)]).toEqual([shown, true]);
    });
  },
);
