/** Cancel on disconnect through the real gateway: resting orders on four local venues, a socket that is cut. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import { credentialsOf } from "../support/local-pair.js";
import { type SpecSystem, startSpecSystem, WALLET_ID } from "../support/spec-system.js";
import { pause } from "../support/system.js";

const LOOK_EVERY_MS = 50;
const VENUES = ["venueone", "venuetwo", "venuethree", "venuefour"] as const;

let system: SpecSystem;
beforeAll(async () => {
  system = await startSpecSystem(41);
});
afterAll(() => system?.stop());

/** Returns the credentials by venue. */
function credentials(): Record<string, Record<string, unknown>> {
  const { apiKeyPrivateKey, accountIndex } = system.key;
  return {
    ...(credentialsOf(system.alice) as Record<string, Record<string, unknown>>),
    venuethree: { apiKeyPrivateKey, accountIndex },
    venuefour: { ...system.venuefourBlock },
  };
}

const header = () => ({ "x-venue-credentials": Buffer.from(JSON.stringify(credentials())).toString("base64url") });

/** Far below the market. */
async function restingOrder(venue: (typeof VENUES)[number]): Promise<void> {
  const { key } = system;
  const path =
    venue === "venuethree"
      ? `/api/trading/venuethree/orders?apiKeyPrivateKey=${key.apiKeyPrivateKey}&apiKeyIndex=${key.apiKeyIndex}&accountIndex=${key.accountIndex}`
      : `/api/trading/${venue}/orders`;
  const reply = await system.client.send(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-wallet-id": WALLET_ID,
      ...(venue === "venuefour" ? header() : {}),
    },
    body: JSON.stringify({
      userId: WALLET_ID,
      symbol: "BTC",
      side: "BUY",
      type: "LIMIT",
      quantity: "0.01",
      price: "60000",
    }),
  });
  expect([venue, reply.status, reply.text.slice(0, 300)]).toEqual([venue, 200, expect.any(String)]);
}

async function openCount(venue: string): Promise<number> {
  const reply = await system.client.send(`/api/trading/${venue}/orders/open?symbol=BTC`, { headers: header() });
  const { data } = reply.body as { readonly data?: { readonly orders?: readonly unknown[] } };
  return data?.orders?.length ?? -1;
}

async function openCounts(): Promise<number[]> {
  return Promise.all(VENUES.map(openCount));
}

/** Polls until each venue shows so many; the test's own time limit ends it. */
async function untilEachHas(wanted: number): Promise<void> {
  while ((await openCounts()).some((count) => count !== wanted)) await pause(LOOK_EVERY_MS);
}

it("cancel on disconnect leaves resting orders while the socket lives, and cancels them on every venue when it is cut", async () => {
  await system.freshBooks();
  for (const venue of VENUES) await restingOrder(venue);
  await untilEachHas(1);

  const bystander = await StreamClient.open(system.port);
  const client = await StreamClient.open(system.port);
  const answer = await client.ask({ op: "cancelOnDisconnect", credentials: credentials(), timeoutMs: 600_000 });
  const rows = answer as unknown as { readonly switches: readonly { readonly exchange: string }[] };
  expect([answer.type, rows.switches.map(({ exchange }) => exchange)]).toEqual(["cancelOnDisconnect", [...VENUES]]);
  bystander.socket.terminate();
  expect(await openCounts()).toEqual([1, 1, 1, 1]);

  client.socket.terminate();
  await untilEachHas(0);
  const secrets = Object.values(credentials()).flatMap((block) =>
    ["privateKey", "apiSecret", "apiKeyPrivateKey"].flatMap((name) =>
      typeof block[name] === "string" ? [block[name]] : [],
    ),
  );
  expect(secrets.length).toBe(4);
  expect(secrets.filter((secret) => system.logLines.join("\n").includes(secret))).toEqual([]);
});

it("cancel on disconnect refuses what is wrong with a precise error, and arms nothing", async () => {
  const client = await StreamClient.open(system.port);
  const wishes: readonly (readonly [Record<string, unknown>, string, string])[] = [
    [{}, "MISSING_PARAMETERS", "credentials"],
    [{ credentials: credentials(), timeoutMs: 10 }, "INVALID_PARAMETERS", "timeoutMs"],
    [{ credentials: credentials(), timeoutMs: 10_000, graceMs: 5_001 }, "INVALID_PARAMETERS", "graceMs"],
    [{ credentials: credentials(), exchanges: ["venuefive"] }, "INVALID_PARAMETERS", "exchanges"],
    [{ credentials: { venueone: { privateKey: "nonsense" } } }, "MISSING_CREDENTIALS", "venueone"],
    [{ credentials: credentials(), enabled: "yes" }, "INVALID_PARAMETERS", "enabled"],
  ];
  for (const [wish, code, about] of wishes) {
    const answer = await client.ask({ op: "cancelOnDisconnect", ...wish });
    expect([answer.type, answer["code"], JSON.stringify(answer)]).toEqual([
      "error",
      code,
      expect.stringContaining(about),
    ]);
  }
  const ended = await client.ask({ op: "cancelOnDisconnect", enabled: false });
  expect(ended).toMatchObject({ type: "cancelOnDisconnect", switches: [] });
  client.socket.terminate();
});
