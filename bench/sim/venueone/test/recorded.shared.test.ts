/** Every recorded pair of the shared collection: the posted request is understood, the answer has its shape or text. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeExchange } from "../wire/actions.js";
import { readJson } from "../wire/json.js";
import { BARE, ITEM, perItem, REFUSED } from "../wire/texts.js";
import { type Bench, startBench } from "./kit.js";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "../../../../../shared/fixtures/venueone");
/** Deployment, staking, vaults and orders over time are not served here. */
const OUTSIDE = ["delegatorHistory", "perpDeployAuctionStatus", "userTwapSliceFills", "userVaultEquities"];
const OUTSIDE_ACTIONS = /perpDeploy|twap/;
/** Another dex does not exist here. */
const asksOtherDex = (body: Readonly<Record<string, unknown>>): boolean => "dex" in body && body.dex !== "";

interface Pair {
  readonly request: { readonly body: Readonly<Record<string, unknown>> };
  readonly response: { readonly status: number; readonly body: unknown };
}

const files = existsSync(FOLDER) ? readdirSync(FOLDER) : [];

function load(file: string): unknown {
  return JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as unknown;
}

function isPair(value: unknown): value is Pair {
  return typeof value === "object" && value !== null && "request" in value && "response" in value;
}

const pairs = files.flatMap((file): [string, Pair][] => {
  const content = load(file);
  return isPair(content) ? [[file, content]] : [];
});
const infoPairs = pairs.filter(
  ([file, { request }]) =>
    file.startsWith("rest_info_") && !OUTSIDE.includes(String(request.body.type)) && !asksOtherDex(request.body),
);
const exchangePairs = pairs.filter(([file]) => file.startsWith("rest_exchange_") && !OUTSIDE_ACTIONS.test(file));

/** Error texts with their figures blanked, as the recordings and our tables both give them. */
function blank(text: string): string {
  return text
    .replace(/0x[0-9a-f]{40}/g, "ADDRESS")
    .replace(/\d+(\.\d+)?/g, "N")
    .replace(/ asset=N$/, "");
}

const ANY_ADDRESS = `0x${"a".repeat(40)}`;
const KNOWN_TEXTS = new Set(
  [
    ...Object.values({ ...REFUSED, ...ITEM, ...BARE }).flatMap((text) => (typeof text === "string" ? [text] : [])),
    REFUSED.unknownSigner(ANY_ADDRESS),
    REFUSED.mustDeposit(ANY_ADDRESS),
    REFUSED.nonceDuplicate(1),
    REFUSED.addressBudget(2, 1, "3.50"),
    REFUSED.scheduleVolume("1", "2.50"),
    perItem(ITEM.minimumValue, 173),
  ].map(blank),
);

function errorTexts(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(errorTexts);
  if (typeof value !== "object" || value === null) return [];
  const record = value as Readonly<Record<string, unknown>>;
  const own = record.status === "err" ? record.response : record.error;
  return [...(typeof own === "string" ? [own] : []), ...Object.values(record).flatMap(errorTexts)];
}

let bench: Bench;
beforeAll(async () => {
  bench = await startBench({ symbols: ["BTC", "HYPE", "kPEPE"] });
});
afterAll(() => bench.stop());

describe.skipIf(!existsSync(FOLDER))("recorded requests and replies (needs ../shared)", () => {
  it.each(infoPairs)("%s is answered with the recorded status and kind", async (_file, { request, response }) => {
    const reply = await bench.post("/info", JSON.stringify(request.body));
    expect(reply.status).toBe(response.status);
    expect(Array.isArray(reply.json)).toBe(Array.isArray(response.body));
    expect(typeof reply.json).toBe(typeof response.body);
  });

  it.each(exchangePairs)("%s is typed", (_file, { request }) => {
    const body = { ...request.body, nonce: 1, signature: { r: "0x1", s: "0x2", v: 27 } };
    const node = readJson(JSON.stringify(body))?.node;
    expect(node === undefined ? null : decodeExchange(node)).not.toBeNull();
  });

  it("every recorded refusal of a trading action is one of our texts", () => {
    const texts = files
      .filter((file) => /^rest_(exchange|bytex_exchange)/.test(file) && !OUTSIDE_ACTIONS.test(file))
      .flatMap((file) => errorTexts(load(file)));
    expect(texts.length).toBeGreaterThan(12);
    for (const text of texts) expect.soft([...KNOWN_TEXTS]).toContain(blank(text));
  });
});
